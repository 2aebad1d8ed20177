"""How far the resolvers agree on what tasks use: by name, jedi, and a SCIP index of one repository.

Run it as python scripts/resolver_agreement.py --source PACK_OR_FOLDER --repo NAME [--scip index.scip] [--jedi].
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.uses.tasks import resolve_tasks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from repoeval_bench.core.benchmark import Task
    from repoeval_bench.core.source import SourceFile

Found = set[tuple[str, str, str]]
"""(task, file, name) of each definition."""


def found_by(
    tasks: Iterable[Task], files: Iterable[SourceFile], *, jedi: bool = False, scip: Path | None = None
) -> Found:
    """What one resolver alone finds: by name, unless jedi or an index is asked."""
    wanted = "resolved" if jedi or scip else "imported"
    uses = resolve_tasks(tasks, files, jedi=jedi, scip=scip).uses
    return {
        (task_id, each.definition.file, each.definition.name)
        for task_id, of_task in uses.items()
        for each in of_task
        if each.tier == wanted
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", required=True)
    parser.add_argument("--repo", required=True)
    parser.add_argument("--scip", type=Path)
    parser.add_argument("--jedi", action="store_true")
    arguments = parser.parse_args()
    benchmark = load_benchmark(arguments.source)
    asked = [task for task in benchmark.tasks if task.repo == arguments.repo]
    sources = benchmark.files[arguments.repo]
    results = {"by name": found_by(asked, sources)}
    if arguments.jedi:
        results["jedi"] = found_by(asked, sources, jedi=True)
    if arguments.scip:
        results["scip"] = found_by(asked, sources, scip=arguments.scip)
    for name, held in results.items():
        shared = ", ".join(f"{len(held & other)} also {each}" for each, other in results.items() if each != name)
        print(f"{name}: {len(held)} definitions" + (f", {shared}" if shared else ""))
