"""The definitions that a benchmark's tasks use: one resolver a repository."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.languages import ENDINGS
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.progress import progress
from repoeval_bench.core.uses import TIERS, Tier
from repoeval_bench.core.words import count
from repoeval_bench.dataset import uses_table
from repoeval_bench.dataset.pack import PackUses
from repoeval_bench.dataset.trees import GO_MODULE, read_tree
from repoeval_bench.own.references.resolver import Resolver
from repoeval_bench.own.references.steps import DEEPEST, MOST

if TYPE_CHECKING:
    from repoeval_bench.dataset.uses_table import Uses


@dataclass(slots=True, kw_only=True)
class TaskUses:
    """Definitions that tasks use, and counts of their names: all, resolved by tier, and not resolved by reason.

    `unread` are the tasks whose file no resolver can read within the limits; they have no uses.
    """

    uses: Uses = field(default_factory=dict)
    names: int = 0
    resolved: Counter[Tier] = field(default_factory=Counter)
    without: Counter[str] = field(default_factory=Counter)
    unread: list[str] = field(default_factory=list)

    def add(self, tasks: Iterable[Task], resolver: Resolver) -> None:
        """Resolve the names of tasks of the resolver's repository."""
        for task in tasks:
            uses = resolver.uses(task.path, task.body)
            self.uses[task.task_id] = uses.used if uses else ()
            if uses is None:
                self.unread.append(task.task_id)
                continue
            self.names += uses.names
            self.resolved.update(uses.resolved)
            self.without.update(uses.without)


GARBAGE = 1_000_000
"""Bytes of code after whose resolution memory is freed."""

REASONS = ("builtin", "third party", "dynamic", "unresolved")
"""Reasons why a name leads to no definition, as a pack counts them."""


def resolve_uses(tasks: Sequence[Task], tree: Path, repositories: Mapping[str, Path | None]) -> TaskUses:
    """Resolve what tasks use of the repositories in the folder `tree`, some of which have a SCIP index.

    A line names each that is too large. DatasetError where an index leads to nothing: it is another code's.
    """
    task_uses = TaskUses()
    garbage = 0
    with progress(desc="resolve names", unit="tasks", total=len(tasks)) as bar:
        for repo, index in repositories.items():
            own = [task for task in tasks if task.repo == repo]
            size = sum(path.stat().st_size for path in (tree / repo).rglob("*") if path.is_file())
            if size > uses_table.MOST_CODE:
                NOTICES.info(
                    f"note: {repo} has {size / 1e6:.0f} MB of code; names are resolved up to "
                    f"{uses_table.MOST_CODE / 1e6:.0f} MB, so its tasks use nothing under protocol uses"
                )
                task_uses.uses |= {task.task_id: () for task in own}
                task_uses.unread += [task.task_id for task in own]
                continue
            before, before_unread = task_uses.resolved["resolved"], len(task_uses.unread)
            with Resolver(read_tree(tree / repo, repo, (*ENDINGS, GO_MODULE)).files, scip=index) as resolver:
                for task in own:
                    task_uses.add([task], resolver)
                    bar.update()
            if unread := task_uses.unread[before_unread:]:
                paths = [*dict.fromkeys(task.path for task in own if task.task_id in unread)]
                NOTICES.info(
                    f"note: protocol uses skips {count(len(unread), 'unread task')} of {repo}: the code is nested more "
                    f"than {DEEPEST:,} deep, or takes more than {MOST:,} steps, in {', '.join(paths[:3])}"
                    + (f" and {len(paths) - 3:,} more" if len(paths) > 3 else "")
                )
            del resolver
            garbage += size
            if garbage > GARBAGE:
                gc.collect()  # a resolver refers to itself, and the next one needs the memory
                garbage = 0
            if index is not None and own and task_uses.resolved["resolved"] == before:
                raise DatasetError(
                    f"{index} leads no name of {repo} to a definition; make the index in that source's own folder"
                )
    return task_uses


def counts(uses: TaskUses) -> PackUses:
    """The counts that the manifest keeps."""
    return PackUses(
        tasks=sum(map(bool, uses.uses.values())),
        unread=len(uses.unread),
        names=uses.names,
        resolved={tier: uses.resolved[tier] for tier in TIERS},
        without={reason: uses.without[reason] for reason in REASONS},
    )
