"""All benchmarks in one run: `make bench SOURCE=…`. Ratios are measured side by side; other figures are this machine's.

python scripts/bench.py [PART …] [--source SOURCE] [--quick]

A part that fails is named, and the others go on. `--quick` runs the parts that need no data, at small sizes, to check
that they run; its figures say nothing.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import bench_cache
import bench_chunkers
import bench_cluster
import bench_compare
import bench_embedding
import bench_eval
import bench_metrics
import bench_packs
import bench_search
from _bench import print_rows

from repoeval_bench.embedding.precision import choose_precision

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from _bench import Row


def machine() -> str:
    """Return the processor's model, cores, memory, system and Python, in one line."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        lines = info.read_text("utf-8", errors="replace").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    precision = choose_precision("auto", "cpu")
    return (
        f"{model} ({precision}), {os.cpu_count()} cores, {gib:.0f} GiB, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}"
    )


def in_list(rows: Callable[[], Iterable[Row]]) -> list[Row]:
    """Return the rows as a list, which can be sent to another process."""
    return list(rows())


def main() -> None:
    """Print every table, then how many bars were missed; exit 1 if a part failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help="only these, such as compare or chunkers")
    parser.add_argument("--source", default="auto", help="where the RepoEval data is: auto, a folder, a URL")
    parser.add_argument(
        "--quick", action="store_true", help="parts without data, at small sizes; the figures say nothing"
    )
    options = parser.parse_args()
    source = options.source
    print(machine(), flush=True)
    sections: dict[str, tuple[str, Callable[[], Iterable[Row]]]] = {
        "eval": ("The whole job, on all available tasks", partial(bench_eval.rows, source)),
        "embedding": ("Embedding", partial(bench_embedding.rows, source)),
        "search": ("Search", bench_search.rows),
        "cache": (bench_cache.TITLE, bench_cache.rows),
        "metrics": ("Metrics", bench_metrics.rows),
        "compare": ("Compare, 100,000 flips", bench_compare.rows),
        "chunkers": ("Chunkers", partial(bench_chunkers.rows, source)),
        "packs": ("Packs", bench_packs.rows),
        "uses": ("Protocol uses", partial(bench_eval.uses_rows, source)),
        "cluster": ("Runs as jobs", partial(bench_cluster.rows, source)),
    }
    if options.quick:
        small = {
            "search": partial(bench_search.rows, 10_000),
            "cache": partial(bench_cache.rows, n=2000),
            "metrics": partial(bench_metrics.rows, large=1000),
            "compare": partial(bench_compare.rows, large=1000),
            "cluster": partial(bench_cluster.rows, most=200, rounds=1),
        }
        sections = {part: (sections[part][0], rows) for part, rows in small.items()}
    if unknown := set(options.parts) - sections.keys():
        parser.error(f"no part {', '.join(sorted(unknown))}; choose from {', '.join(sections)}")
    sections = {part: section for part, section in sections.items() if part in (options.parts or sections)}
    missed, failed, began = 0, [], time.perf_counter()
    for title, rows in sections.values():
        started = time.perf_counter()
        # In a process of its own, because the reported peak of a child begins with its parent's.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            done = pool.submit(in_list, rows)
            if problem := done.exception():
                failed.append(title)
                print(f"\n{title}\n  failed: {type(problem).__name__}: {problem}")
            else:
                missed += print_rows(title, done.result())
        print(f"  took {time.perf_counter() - started:.0f} s", flush=True)
    print(f"\nbars missed: {missed}; took {(time.perf_counter() - began) / 60:.1f} minutes")
    if failed:
        sys.exit(f"parts that failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
