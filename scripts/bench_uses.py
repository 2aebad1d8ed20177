"""What protocol `uses` takes on RepoEval: resolving names from nothing and by the index, a comparison, proxies.

python scripts/bench_uses.py --source SOURCE
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from _bench import Row, print_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

CORES = 2
"""Processor time is held against bars in seconds on so many cores."""

_BUDGETS = (1500, 3000, 6000, 12_000)
_CHUNKERS = ("-c", "fixed", "-c", "ast", "-c", "recursive", "--baseline", "fixed", "--retriever", "bm25")
_LOAD = (
    "import sys; from repoeval_bench import load_benchmark as load; assert load(sys.argv[1]).tasks[0].uses is not None"
)


def spent(*words: str | Path) -> tuple[float, float]:
    """(seconds, seconds of processor time) of a Python process with those that it waits for."""
    line = [sys.executable, *map(str, words)]
    started = time.perf_counter()
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"error: {' '.join(line)} failed; run it by hand to see why")
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime


def rows(source: str) -> Iterator[Row]:
    """Every figure with its bar."""
    with tempfile.TemporaryDirectory() as name:
        build = Path(__file__).parent / "build_uses.py"
        _, resolved = spent(build, "--source", source, "--output", name)
        bar = CORES * 180
        yield Row(
            "resolving RepoEval's tasks from nothing, processor time", f"{resolved:.0f} s", f"< {bar} s", resolved < bar
        )
        _, indexed = spent("-c", _LOAD, source)
        yield Row("loading them with the index", f"{indexed:.1f} s", "< 5 s", indexed < 5)
        yield Row("from nothing, over with the index", f"{resolved / indexed:.0f}x")

        def compare(protocol: str, out: str, *more: str) -> float:
            words = (
                "compare",
                *_CHUNKERS,
                "--protocol",
                protocol,
                "--source",
                source,
                "--out",
                Path(name) / out,
                *more,
            )
            return spent("-m", "repoeval_bench", *words)[0]

        usual = compare("uses", "usual")
        yield Row("compare under uses by BM25, three chunkers", f"{usual:.1f} s", "< 10 s", usual < 10)
        proxies = ("identifier_recall", "ngram_bits")
        asked = {each: [f"-m{each}@{budget}" for budget in _BUDGETS] for each in proxies}
        plain = compare("context", "plain", "-m", "line_rprec")
        for each, measures in asked.items():
            # Of one chunker's 455 tasks; the comparison scores three.
            extra = (compare("context", each, "-m", "line_rprec", *measures) - plain) / 3
            what = f"{each} at {len(_BUDGETS)} budgets, all tasks, ceilings too"
            yield Row(what, f"{extra:.1f} s", "< 20 s", extra < 20)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", default="auto", help="where the RepoEval data is: a folder or a URL")
    print_rows("Protocol uses", rows(parser.parse_args().source))
