"""The table of a history's questions in a pack: one JSON row for each commit that asks, with three golds."""

import json
from collections.abc import Iterable
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from repoeval_bench.core.benchmark import AskedCommit, Task
from repoeval_bench.core.spans import Gold, LineSpan, Place
from repoeval_bench.core.validation import Count, Line
from repoeval_bench.dataset.repoeval import read_rows

LEVEL = "commits"
"""The level of tasks that are questions of a history."""
TABLE = "commits.jsonl"
"""The name of the table, in a pack's folder of tasks."""

# Fields that a row and a task's `AskedCommit` share.
_FACTS = {"commit", "date", "subject", "author", "file", "age_days", "lines_changed", "is_insertion"}

_Ends = tuple[Line, Line]


class _Row(BaseModel):
    """A question: the window's repository, the path in its tree, and spans of lines (0-based, half-open) by gold."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task_id: str
    repo: str
    path: str
    query: str
    lines: Annotated[list[_Ends], Field(min_length=1)]
    exact: Annotated[list[_Ends], Field(min_length=1)]
    definitions: list[_Ends]
    commit: str
    date: str
    subject: str
    author: Annotated[int, Field(ge=1)]
    file: str
    age_days: Count
    lines_changed: Count
    is_insertion: bool

    def task(self) -> Task:
        facts, exact = self.model_dump(include=_FACTS), self._gold(self.exact)
        change = AskedCommit(**facts, exact=exact, definitions=self._gold(self.definitions))
        return Task.asking(self.task_id, self.query, self._gold(self.lines), LEVEL, change=change)

    def _gold(self, spans: Iterable[_Ends]) -> Gold:
        return tuple(Place(f"{self.repo}/{self.path}", LineSpan(start, end)) for start, end in spans)


def dump_commits(tasks: Iterable[Task]) -> bytes:
    """The table of these questions; `parse_commits` gives the same tasks back."""
    rows = []
    for task in tasks:
        change = task.change
        assert change is not None
        row = _Row(
            task_id=task.task_id,
            repo=task.repo,
            path=task.path,
            query=task.prompt,
            lines=_ends(task.places),
            exact=_ends(change.exact),
            definitions=_ends(change.definitions),
            **{name: getattr(change, name) for name in _FACTS},
        )
        rows.append(json.dumps(row.model_dump()) + "\n")
    return "".join(rows).encode()


def parse_commits(raw: bytes, name: str) -> tuple[Task, ...]:
    """The questions of a table, in its order; a DatasetError lists each bad row."""
    return tuple(row.task() for row in read_rows(raw, name, _Row))


def _ends(gold: Gold) -> list[_Ends]:
    return [(location.lines.start, location.lines.end) for location in gold]
