"""Write the definitions that tasks use: data/index/uses-LEVEL.tsv of RepoEval, or uses.tsv.gz of a shipped pack.

    python scripts/build_uses.py --source FOLDER    # RepoEval, every level that the source has; needs jedi
    python scripts/build_uses.py --pack native-8    # an edition's packages, files and tasks stay as they are

The tables have files, lines, names and kinds, and no code.
"""

import argparse
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from time import perf_counter

from _jedi_names import resolve_tasks
from _shipping import pack_table

from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.errors import BenchError, UsageError
from repoeval_bench.core.files import write_atomic
from repoeval_bench.dataset.index import uses_name
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.pack import MANIFEST, TREE, PackUses, dump_manifest, write_plain
from repoeval_bench.dataset.repoeval import FUNCTION, LEVELS, parse_tasks
from repoeval_bench.dataset.shipped import USES, make_edition, shipped_pack, task_set_of_pack
from repoeval_bench.dataset.uses_table import ReadUses, dump_uses
from repoeval_bench.own.packs.pack import resolve_uses


def build_uses(benchmark: Benchmark) -> str:
    """Return the table of a benchmark's tasks; print how surely definitions are known."""
    repos = sorted(benchmark.files, key=lambda repo: -sum(len(file.text) for file in benchmark.files[repo]))
    uses: ReadUses = {}
    with ProcessPoolExecutor(2) as pool:
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


def resolve_pack(name: str) -> None:
    """Resolve by today's rules what the tasks of a shipped pack use; write its table and their counts."""
    facts = shipped_pack(name)
    if facts is None:
        raise UsageError(f"no shipped pack {name!r}")
    with tempfile.TemporaryDirectory() as work:
        pack = make_edition(facts, Path(work) / "pack")
        installed = pack.installed(task_set_of_pack(pack.content))
        tasks = parse_tasks(installed.task_file.read_bytes(), name=name, level=FUNCTION.name)
        sources: dict[str, Path | None] = dict.fromkeys(source.repository for source in pack.content.sources)
        uses = resolve_uses(tasks, pack.root / TREE, sources)
    counted = PackUses(tasks=sum(map(bool, uses.values())), unread=[*uses.values()].count(None))
    level = facts.content.levels[FUNCTION.name].model_copy(update={"uses": counted})
    write_plain(facts.root / USES, pack_table(dump_uses(tasks, uses)))
    content = facts.content.model_copy(update={"levels": {FUNCTION.name: level}})
    write_plain(facts.root / MANIFEST, dump_manifest(content))
    definitions = sum(len(of_task or ()) for of_task in uses.values())
    print(f"{facts.root / USES}: {definitions} definitions of {counted.tasks} tasks")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--source", help="folder with datasets.zip and the trees of some levels")
    what.add_argument("--pack", help="name of a shipped pack")
    parser.add_argument("--output", type=Path, default=Path(__file__).resolve().parents[1] / "data" / "index")
    arguments = parser.parse_args()
    if arguments.pack:
        resolve_pack(arguments.pack)
    for level in LEVELS if arguments.source else ():
        started = perf_counter()
        try:
            benchmark = load_benchmark(arguments.source, level=level)
        except BenchError as error:
            print(f"note: {level} is not at hand: {error}")
            continue
        target = arguments.output / uses_name(level)
        write_atomic(target, build_uses(benchmark))
        print(f"{target}: {target.stat().st_size} bytes, {perf_counter() - started:.0f} s")
