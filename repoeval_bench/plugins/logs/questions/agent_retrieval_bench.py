"""Agent Retrieval Bench: the files that a coding agent has to read next, as JSONL; some questions have no answer.

A sample has `id`, `repo` (`owner/name`), `base_commit`, `task_type`, a `query` of several fields, and `gold`: its files
under `files`, or by task under `related_tests`, `must_context_files`, `context_files` or `root_cause_files`, or
`no_gold`. Its query is asked as upstream's own retrievers ask it, as the JSON of its fields. Each sample is asked of
its commit, so its repository is named `owner__name-COMMIT`, with 12 digits. Read from `baseline.py` and `abstention.py`
of eyuansu62/agent-retrieval-bench.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field

from repoeval_bench.plugins.logs.questions.writing import ForeignQuestion, ForeignRecord, read_foreign

_OF_TASK = {"code2test": ("related_tests",), "comment2context": ("must_context_files", "context_files")}
"""Task -> where its gold is, in the order in which upstream looks."""
_OF_ANY = ("root_cause_files", "related_tests")
"""Where it is otherwise."""


class _File(ForeignRecord):
    path: str


class _Gold(ForeignRecord):
    no_gold: bool = False
    files: tuple[str | _File, ...] = ()
    must_context_files: tuple[str | _File, ...] = ()
    context_files: tuple[str | _File, ...] = ()
    related_tests: tuple[str | _File, ...] = ()
    root_cause_files: tuple[str | _File, ...] = ()


class _Sample(ForeignRecord):
    id: str
    repo: str
    base_commit: str
    gold: _Gold
    task_type: str | None = None
    query: dict[str, Any] = Field(default_factory=dict)


def read_agent_retrieval_bench(path: Path) -> Iterator[ForeignQuestion]:
    """Read the samples of a file, each with the files of its gold; a ResultError names a row of another form."""
    for where, row in read_foreign(path, _Sample):
        question = ForeignQuestion(
            where,
            row.id,
            json.dumps(row.query, ensure_ascii=False, sort_keys=True) if row.query else "",
            repository=f"{row.repo.replace('/', '__')}-{row.base_commit[:12]}",
            category=row.task_type,
            no_answer=row.gold.no_gold,
        )
        keys = () if row.gold.no_gold else ("files", *_OF_TASK.get(row.task_type or "", ()), *_OF_ANY)
        for file in next(filter(None, (getattr(row.gold, key) for key in keys)), ()):
            question.add(file if isinstance(file, str) else file.path)
        yield question
