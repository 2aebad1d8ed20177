"""The summary of a data set, repository by repository: counts here and in the whole, and licences."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.dataset import index
from repoeval_bench.dataset.repoeval import FUNCTION

if TYPE_CHECKING:
    from repoeval_bench.dataset.install import InstalledSet

_LICENCES = {
    "Apache License Version 2.0": "Apache-2.0",
    "MIT License": "MIT",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "Attribution-NonCommercial 4.0 International": "CC-BY-NC-4.0",
}
"""Beginning of a licence's text, blanks squeezed -> its SPDX identifier."""

UNKNOWN = "not recognised"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositorySummary:
    """One repository: tasks and source files here, those of the whole benchmark (None: not known), licence."""

    tasks: int
    whole_tasks: int | None
    files: int
    whole_files: int | None
    licence: str


def summarize(benchmark: Benchmark, installed: InstalledSet) -> dict[str, RepositorySummary]:
    """Every repository of the set by name, and at function level also those that are missing from it."""
    tasks = Counter(task.repo for task in benchmark.tasks)
    facts = installed.facts
    known = index.repositories() if facts.official and benchmark.level == FUNCTION.name else {}
    rows = {}
    for repo in sorted({*benchmark.files, *known}):
        fact = known.get(repo)
        rows[repo] = RepositorySummary(
            tasks=tasks[repo],
            whole_tasks=fact.tasks if fact else None,
            files=len(benchmark.files.get(repo, ())),
            whole_files=fact.files if fact else None,
            licence=fact.licence if fact else facts.licences.get(repo) or licence_of(installed.tree / repo),
        )
    return rows


def licence_of(repository: Path) -> str:
    """The licence of a repository's folder, by its LICENSE file; UNKNOWN without one that is recognised."""
    for path in sorted(repository.glob("LICEN[CS]E*")):
        if name := identify_licence(path.read_text(encoding="utf-8", errors="replace")):
            return name
    return UNKNOWN


def identify_licence(text: str) -> str | None:
    """The SPDX identifier of a licence's text, or None."""
    squeezed = " ".join(text.split())
    return next((name for begin, name in _LICENCES.items() if squeezed.startswith(begin)), None)
