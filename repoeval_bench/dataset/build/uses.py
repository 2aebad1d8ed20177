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
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from repoeval_bench.core.benchmark import Task

MOST_CODE = 20_000_000
"""Bytes of a repository's files above which its names are not resolved: all of them are held in memory for it."""

REASONS = ("builtin", "third party", "dynamic", "unresolved")
"""Why a name leads to no definition, as a pack counts them."""


def resolve_levels(
    levels: Mapping[str, Sequence[Task]],
    tree: Path,
    repositories: Iterable[str],
    notify: Callable[[str], None],
    *,
    jedi: bool,
    scip: Path | None = None,
) -> dict[str, TaskUses]:
    """Level -> what its tasks use of the repositories in the folder `tree`; a line names each that is too large.

    `scip` is the index file of the one repository that there is then.
    """
    found = {level: TaskUses() for level in levels}
    total = sum(map(len, levels.values()))
    with progress(desc="resolve names", unit="tasks", total=total) as bar:
        for repo in repositories:
            if (size := _bytes_of(tree / repo)) > MOST_CODE:
                notify(
                    f"note: {repo} has {size / 1e6:.0f} MB of code; names are resolved up to {MOST_CODE / 1e6:.0f} MB, "
                    "so its tasks use nothing under protocol uses"
                )
                for level, tasks in levels.items():
                    found[level].pass_over(task for task in tasks if task.repo == repo)
                continue
            files = read_tree(tree / repo, repo, ENDINGS).files
            with Resolver(files, jedi=jedi and any(file.path.endswith(".py") for file in files), scip=scip) as resolver:
                for level, tasks in levels.items():
                    for task in tasks:
                        if task.repo == repo:
                            found[level].add([task], resolver)
                            bar.update()
    return found


def _bytes_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def counts(found: TaskUses) -> PackUses:
    """The counts that the manifest keeps of a level."""
    return PackUses(
        tasks=sum(map(bool, found.uses.values())),
        unread=len(found.unread),
        names=found.names,
        resolved={tier: found.resolved[tier] for tier in TIERS},
        without={reason: found.without[reason] for reason in REASONS},
    )
