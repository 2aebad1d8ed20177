"""Write data/index from the full data: python scripts/build_index.py --source FOLDER."""

from __future__ import annotations

import argparse
from pathlib import Path

from repoeval_bench.dataset.build import build_index

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", required=True, type=Path, help="folder with datasets.zip and function_level.zip")
    parser.add_argument("--output", type=Path, default=Path(__file__).resolve().parents[1] / "data" / "index")
    arguments = parser.parse_args()
    for path in build_index(arguments.source, arguments.output):
        print(f"{path}: {path.stat().st_size} bytes")
