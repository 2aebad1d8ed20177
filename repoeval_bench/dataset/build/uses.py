"""What the tasks of a pack use: one resolver a repository, for the tasks of all levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.core.languages import ENDINGS
from repoeval_bench.core.progress import progress
from repoeval_bench.core.uses import TIERS
from repoeval_bench.dataset.pack import PackUses
from repoeval_bench.dataset.trees import read_tree
from repoeval_bench.dataset.uses.resolver import Resolver
from repoeval_bench.dataset.uses.tasks import TaskUses

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from repoeval_bench.core.benchmark import Task

REASONS = ("builtin", "third party", "dynamic", "unresolved")
"""Why a name leads to no definition, as a pack counts them."""


def resolve_levels(
    levels: Mapping[str, Sequence[Task]], tree: Path, repositories: Iterable[str], *, jedi: bool
) -> dict[str, TaskUses]:
    """Level -> what its tasks use of the repositories in the folder `tree`."""
    found = {level: TaskUses() for level in levels}
    total = sum(map(len, levels.values()))
    with progress(desc="resolve names", unit="tasks", total=total) as bar:
        for repo in repositories:
            files = read_tree(tree / repo, repo, ENDINGS).files
            with Resolver(files, jedi=jedi and any(file.path.endswith(".py") for file in files)) as resolver:
                for level, tasks in levels.items():
                    for task in tasks:
                        if task.repo == repo:
                            found[level].add([task], resolver)
                            bar.update()
    return found


def counts(found: TaskUses) -> PackUses:
    """The counts that the manifest keeps of a level."""
    return PackUses(
        tasks=sum(map(bool, found.uses.values())),
        unread=len(found.unread),
        names=found.names,
        resolved={tier: found.resolved[tier] for tier in TIERS},
        without={reason: found.without[reason] for reason in REASONS},
    )
