"""All benchmarks in one run: `make bench SOURCE=…`. Ratios are taken side by side; figures are this machine's."""

from __future__ import annotations

import argparse
import os
import platform

import bench_cache
import bench_chunkers
import bench_compare
import bench_eval
import bench_metrics
from _bench import print_rows


def main() -> None:
    """Print every table, then how many bars were missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", default="auto", help="where the RepoEval data is: auto, a folder, a URL")
    source = parser.parse_args().source
    print(f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    missed = print_rows("The whole job, ast on every task at hand", bench_eval.rows(source))
    missed += print_rows(bench_cache.title(), bench_cache.rows())
    missed += print_rows("Metrics", bench_metrics.rows())
    missed += print_rows("Compare, 10,000 draws", bench_compare.rows())
    missed += print_rows("Chunkers", bench_chunkers.rows(source))
    print(f"\nbars missed: {missed}")


if __name__ == "__main__":
    main()
