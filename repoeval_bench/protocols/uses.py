"""Gold `uses`: the definitions that the lines to be written use and the prompt does not show.

Definitions that the prompt shows whole are left out, and then tasks that use no other. Callers count both.
"""

from collections.abc import Mapping
from dataclasses import replace

from repoeval_bench.core.benchmark import Benchmark, Task
from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.run import Fact
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import Gold, Place, join, without
from repoeval_bench.core.uses import UsedDefinition
from repoeval_bench.dataset.assembly import with_tasks

FACTS = {
    "definitions": "used definitions that the prompt does not show",
    "definition_files": "files that these definitions are in",
    "definition_distance": "of the farthest used definition: 0 in the task's file, 1 in its folder, 1 more per folder",
}
"""Facts of a task under gold `uses`."""


def gold_lines(task: Task, used: UsedDefinition) -> Gold:
    """Return a definition's gold lines without those that the prompt shows or that are to be written."""
    return without(join((used.location,)), Place(task.file, task.context_span))


def used_of(task: Task) -> tuple[tuple[UsedDefinition, Gold], ...]:
    """Return each used definition with its gold lines, in the order of `Task.uses`; those without any are left out."""
    return tuple((used, gold) for used in task.uses or () if (gold := gold_lines(task, used)))


def definitions_of(task: Task) -> tuple[Gold, ...]:
    """Return the gold lines of each used definition, as `used_of` has them."""
    return tuple(gold for _, gold in used_of(task))


def with_used(benchmark: Benchmark) -> Benchmark:
    """Keep the tasks that use an unshown definition, each with only these definitions.

    `unscored` counts the other tasks. The used definitions are part of the fingerprint. Raises a DatasetError if they
    are not known.
    """
    if any(task.uses is None for task in benchmark.tasks):
        raise DatasetError(
            f"gold=uses: the definitions that tasks use are not known for {benchmark.name}; choose another "
            "protocol, the function level of RepoEval, or a pack made by `data build --resolve names`"
        )
    files = benchmark.by_name
    tasks = []
    for task in benchmark.tasks:
        unshown = tuple(used for used in task.uses or () if _has_text(files, gold_lines(task, used)))
        if unshown:
            tasks.append(replace(task, uses=unshown))
    unscored = benchmark.unscored + len(benchmark.tasks) - len(tasks)
    return with_tasks(benchmark, tasks, of_definitions=True, unscored=unscored)


def uses_facts(task: Task) -> dict[str, Fact]:
    """Return the facts of a task under gold `uses`; see `FACTS`."""
    files = {used.definition.file for used in task.uses or ()}
    return {
        "definitions": len(task.uses or ()),
        "definition_files": len(files),
        "definition_distance": max((distance(task.file, file) for file in files), default=None),
    }


def distance(file: str, other: str) -> int:
    """Return the distance of two files: 0 for the same, 1 in one folder, and 1 more for each folder up or down."""
    if file == other:
        return 0
    here, there = file.split("/")[:-1], other.split("/")[:-1]
    shared = next((i for i, (a, b) in enumerate(zip(here, there, strict=False)) if a != b), min(len(here), len(there)))
    return 1 + len(here) - shared + len(there) - shared


def _has_text(files: Mapping[str, SourceFile], gold: Gold) -> bool:
    return any(files[location.file].line_text(location.lines).strip() for location in gold)
