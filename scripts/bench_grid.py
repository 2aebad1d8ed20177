"""The time of a sensitivity grid of three chunkers with cached vectors.

python scripts/bench_grid.py --source SOURCE [--embedder minilm]

The measured time does not depend on the embedder, so vectors are hashed unless --embedder names a model. A model would
need many minutes to embed fourteen candidates.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from _bench import Row, command, print_rows
from bench_eval import CHUNKERS, fetched

THREE = [part for spec in CHUNKERS for part in ("-c", spec)]
HASHED = "hash:dim=384"


def rows(source: str, embedder: str = HASHED) -> list[Row]:
    """Every figure with its bar."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        home = fetched(folder / "home", source)
        grid = ("lab", "sensitivity", *THREE, "--embedder", embedder, "--source", source)
        command(*grid, home=home)
        first = command(*grid, home=home)
    return [
        Row(
            "grid of three chunkers, dense and BM25, band and matched sizes",
            f"{first.wall:.1f} s",
            "< 15 s",
            first.wall < 15,
        ),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", default="auto")
    parser.add_argument("--embedder", default=HASHED)
    options = parser.parse_args()
    print_rows("Grids, vectors cached", rows(options.source, options.embedder))
