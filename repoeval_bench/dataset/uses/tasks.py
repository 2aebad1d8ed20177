"""What the tasks of a benchmark use, repository by repository."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.dataset.uses.resolver import Resolver

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from repoeval_bench.core.benchmark import Task
    from repoeval_bench.core.source import SourceFile
    from repoeval_bench.dataset.uses.table import Uses


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskUses:
    """What tasks use, and what did not resolve: `without` is reason -> names, of `names` in all.

    `unread` are the tasks whose file no resolver can read; they use nothing here.
    """

    uses: Uses
    names: int
    without: Mapping[str, int]
    unread: tuple[str, ...]


def resolve_tasks(
    tasks: Iterable[Task], files: Iterable[SourceFile], *, jedi: bool = True, environment: str | None = None
) -> TaskUses:
    """What tasks of one repository use of its files; see `Resolver`."""
    uses: Uses = {}
    without: Counter[str] = Counter()
    names, unread = 0, []
    with Resolver(files, jedi=jedi, environment=environment) as resolver:
        for task in tasks:
            found = resolver.uses(task.path, task.body)
            uses[task.task_id] = found.used if found else ()
            if found is None:
                unread.append(task.task_id)
                continue
            names += found.names
            without.update(found.without)
    return TaskUses(uses=uses, names=names, without=dict(without), unread=tuple(unread))
