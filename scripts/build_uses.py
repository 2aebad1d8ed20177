"""Write data/index/uses-LEVEL.tsv, the definitions that RepoEval's tasks use, for every level that a source has.

Run it as python scripts/build_uses.py --source FOLDER. The tables have files, lines, names and kinds, and no code. It
needs jedi.
"""

import argparse
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from time import perf_counter

from _jedi_names import resolve_tasks

from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.errors import BenchError
from repoeval_bench.core.files import write_atomic
from repoeval_bench.dataset.index import uses_name
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.repoeval import LEVELS
from repoeval_bench.dataset.uses_table import ReadUses, dump_uses


def build_uses(benchmark: Benchmark, workers: int = 2) -> str:
    """Return the table of a benchmark's tasks; print how surely definitions are known."""
    repos = sorted(benchmark.files, key=lambda repo: -sum(len(file.text) for file in benchmark.files[repo]))
    uses: ReadUses = {}
    with ProcessPoolExecutor(workers) as pool:
        jobs = [
            pool.submit(resolve_tasks, [task for task in benchmark.tasks if task.repo == repo], benchmark.files[repo])
            for repo in repos
        ]
        for job in jobs:
            uses |= job.result()
    for task_id in (task_id for task_id, of_task in uses.items() if of_task is None):
        print(f"note: {task_id}: its file cannot be read")
    tiers = Counter(use.tier for of_task in uses.values() for use in of_task or ())
    print(f"{len(uses)} tasks, {sum(map(bool, uses.values()))} of them use a definition: {dict(tiers)}")
    return dump_uses(benchmark.tasks, uses)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", required=True, help="folder with datasets.zip and the trees of some levels")
    parser.add_argument("--output", type=Path, default=Path(__file__).resolve().parents[1] / "data" / "index")
    arguments = parser.parse_args()
    for level in LEVELS:
        started = perf_counter()
        try:
            benchmark = load_benchmark(arguments.source, level=level)
        except BenchError as error:
            print(f"note: {level} is not at hand: {error}")
            continue
        target = arguments.output / uses_name(level)
        write_atomic(target, build_uses(benchmark))
        print(f"{target}: {target.stat().st_size} bytes, {perf_counter() - started:.0f} s")
