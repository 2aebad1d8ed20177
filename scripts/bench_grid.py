"""How long a sensitivity grid of three chunkers takes with cached vectors, and a comparison that needs none.

python scripts/bench_grid.py --source SOURCE [--embedder minilm]

Whose vectors they are decides nothing about the time that is measured, so they are made by hashing unless asked
otherwise: those of fourteen arms would take a model many minutes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _bench import Row, print_rows
from bench_eval import CHUNKERS, fetched

THREE = [part for spec in CHUNKERS for part in ("-c", spec)]
HASHED = "hash:dim=384"


def seconds(home: Path, *command: str) -> tuple[float, float]:
    """(wall seconds, seconds of processor time) of a command as a whole process."""
    line = [sys.executable, "-m", "repoeval_bench", *command]
    started = time.perf_counter()
    process = subprocess.Popen(
        line, env=dict(os.environ, REPOEVAL_HOME=str(home)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"error: {' '.join(line)} failed; run it by hand to see why")
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime


def rows(source: str, embedder: str = HASHED) -> list[Row]:
    """Every figure with its bar."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        home = fetched(folder / "home", source)
        grid = ("sensitivity", *THREE, "--embedder", embedder, "--source", source, "--out")
        seconds(home, *grid, str(folder / "filled"))
        wall, busy = seconds(home, *grid, str(folder / "empty"))
        again, _ = seconds(home, *grid, str(folder / "empty"))
        cold, cold_busy = seconds(
            home, "compare", *THREE, "--retriever", "bm25", "--source", source, "--out", str(folder / "bm25")
        )
    return [
        Row(
            "grid of three chunkers, dense and BM25, band and matched sizes",
            f"{wall:.1f} s ({busy:.1f} s CPU)",
            "< 60 s",
            wall < 60,
        ),
        Row("the same with its cells stored", f"{again:.1f} s"),
        Row(
            "compare of three chunkers with BM25, no runs stored",
            f"{cold:.1f} s ({cold_busy:.1f} s CPU)",
            "< 10 s",
            cold < 10,
        ),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", default="auto")
    parser.add_argument("--embedder", default=HASHED)
    options = parser.parse_args()
    print_rows("Grids, vectors cached", rows(options.source, options.embedder))
