"""What the tasks of a benchmark use, repository by repository."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from repoeval_bench.dataset.uses.resolver import Resolver

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from repoeval_bench.core.benchmark import Task
    from repoeval_bench.core.source import SourceFile
    from repoeval_bench.core.uses import Tier
    from repoeval_bench.dataset.uses.table import Uses


@dataclass(slots=True)
class TaskUses:
    """What tasks use, and how many of their names resolved by which tier, or did not for which reason, of all.

    `unread` are the tasks whose file no resolver can read; they use nothing here.
    """

    uses: Uses = field(default_factory=dict)
    names: int = 0
    resolved: Counter[Tier] = field(default_factory=Counter)
    without: Counter[str] = field(default_factory=Counter)
    unread: list[str] = field(default_factory=list)

    def add(self, tasks: Iterable[Task], resolver: Resolver) -> None:
        """Resolve the names of tasks of the resolver's repository."""
        for task in tasks:
            found = resolver.uses(task.path, task.body)
            self.uses[task.task_id] = found.used if found else ()
            if found is None:
                self.unread.append(task.task_id)
                continue
            self.names += found.names
            self.resolved.update(found.resolved)
            self.without.update(found.without)

    def pass_over(self, tasks: Iterable[Task]) -> None:
        """Take these tasks for unread."""
        for task in tasks:
            self.uses[task.task_id] = ()
            self.unread.append(task.task_id)


def resolve_tasks(
    tasks: Iterable[Task],
    files: Iterable[SourceFile],
    *,
    jedi: bool = True,
    environment: str | None = None,
    scip: Path | None = None,
) -> TaskUses:
    """What tasks of one repository use of its files; see `Resolver`."""
    found = TaskUses()
    with Resolver(files, jedi=jedi, environment=environment, scip=scip) as resolver:
        found.add(tasks, resolver)
    return found
