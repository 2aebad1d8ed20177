"""What a data set holds, repository by repository, as `data info` and `data fetch` show it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.dataset import index
from repoeval_bench.dataset.licences import licence_of

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.dataset.index import Combination
    from repoeval_bench.dataset.install import InstalledSet


@dataclass(frozen=True, slots=True)
class RepositorySummary:
    """One repository: tasks and `.py` files here, those of the whole benchmark (None: not known), licence."""

    tasks: int
    whole_tasks: int | None
    files: int
    whole_files: int | None
    licence: str


def summarize(benchmark: Benchmark, installed: InstalledSet, combination: Combination) -> dict[str, RepositorySummary]:
    """Every repository of the set by name, and at function level also those that are missing from it."""
    tasks = Counter(task.repo for task in benchmark.tasks)
    facts = installed.facts
    known = index.repositories() if facts.official and combination.level == "function" else {}
    rows = {}
    for repo in sorted({*benchmark.files, *known}):
        fact = known.get(repo)
        if fact is not None:
            licence = fact.licence
        else:
            licence = facts.licences.get(repo) or licence_of(installed.tree(combination) / repo)
        rows[repo] = RepositorySummary(
            tasks=tasks[repo],
            whole_tasks=fact.tasks if fact else None,
            files=len(benchmark.files.get(repo, ())),
            whole_files=fact.files if fact else None,
            licence=licence,
        )
    return rows
