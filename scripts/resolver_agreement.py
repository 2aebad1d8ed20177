"""The agreement of resolvers on the definitions that tasks use: by name, jedi, and SCIP indexes of the repositories.

Run it as python scripts/resolver_agreement.py --source PACK_OR_FOLDER [--scip INDEX_OR_FOLDER] [--jedi].
"""

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path

from _jedi_names import resolve_tasks

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.source import SourceFile
from repoeval_bench.dataset.loader import load_benchmark

Uses = set[tuple[str, str, str]]
"""(task, file, name) of each definition."""


def uses_by(
    tasks: Iterable[Task], files: Iterable[SourceFile], *, jedi: bool = False, scip: Path | None = None
) -> Uses:
    """Return the definitions that one resolver alone finds: by name, unless jedi or an index is used."""
    tier = "resolved" if jedi or scip else "imported"
    uses = resolve_tasks(tasks, files, jedi=jedi, scip=scip)
    return {
        (task_id, use.definition.file, use.definition.name)
        for task_id, of_task in uses.items()
        for use in of_task or ()
        if use.tier == tier
    }


def agreement(results: Mapping[str, Uses]) -> list[str]:
    """Return a line for each resolver: how many definitions it finds, and how many of them each other one finds too."""
    lines = []
    for name, own in results.items():
        others = ((other, len(own & uses)) for other, uses in results.items() if other != name)
        shared = ", ".join(f"{both} also {other} ({both / max(1, len(own)):.3f})" for other, both in others)
        lines.append(f"{name}: {len(own)} definitions" + (f", {shared}" if shared else ""))
    return lines


def main() -> None:
    """Run every resolver on every repository, and print how far they agree, all repositories together."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", required=True)
    parser.add_argument("--scip", type=Path, help="an index file, or a folder with REPOSITORY.scip for each")
    parser.add_argument("--jedi", action="store_true")
    arguments = parser.parse_args()
    benchmark = load_benchmark(arguments.source)
    results: dict[str, Uses] = {}
    for repo, files in benchmark.files.items():
        tasks = [task for task in benchmark.tasks if task.repo == repo]
        by_way = {"by name": uses_by(tasks, files)}
        if arguments.jedi:
            by_way["jedi"] = uses_by(tasks, files, jedi=True)
        if arguments.scip:
            index = arguments.scip / f"{repo}.scip" if arguments.scip.is_dir() else arguments.scip
            by_way["scip"] = uses_by(tasks, files, scip=index)
        for name, uses in by_way.items():
            results.setdefault(name, set()).update(uses)
    print("\n".join(agreement(results)))


if __name__ == "__main__":
    main()
