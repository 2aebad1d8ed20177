"""The top k of several runs as one file to be judged, and what comes back from the judge. Pure but for reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from repoeval_bench.core.errors import ResultError
from repoeval_bench.runs.log import Judgement, read_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from repoeval_bench.runs.log import LogRow

Grades = dict[str, dict[str, int]]
"""query_id -> chunk_id -> 2, 1 or 0."""


def pool(
    logs: Sequence[Mapping[str, LogRow]],
    depth: int,
    query_ids: Sequence[str],
    *,
    leave_out: Callable[[str, str], bool] = lambda _query_id, _chunk_id: False,
    texts: Mapping[str, str] | None = None,
) -> Iterator[dict[str, Any]]:
    """Rows of a file to be judged: each chunk among the first `depth` of any log, once a query, `grade` still null.

    Queries stand in the order of `query_ids`, chunks by id: which run found one, and how high, would sway a judge.
    `leave_out` says of (query id, chunk id) whether it need not be judged; `texts` are chunks' texts where known.
    """
    for query_id in query_ids:
        rows = [row for log in logs if (row := log.get(query_id)) is not None]
        found = {each.chunk_id: each for row in reversed(rows) for each in row.topk[:depth]}
        query = next((row.query for row in rows if row.query is not None), None)
        for chunk_id, each in sorted(found.items()):
            if leave_out(query_id, chunk_id):
                continue
            known = {
                "file": each.file, "start_line": each.start_line, "end_line": each.end_line, "query": query,
                "text": (texts or {}).get(chunk_id),
            }  # fmt: skip
            shown = {name: value for name, value in known.items() if value is not None}
            yield {"query_id": query_id, "chunk_id": chunk_id, "grade": None, **shown}


def read_judgements(path: Path) -> tuple[Grades, int]:
    """(grades, how many rows still have none) of a judged pool.

    A broken row and a chunk that is judged twice are a ResultError with file:line; so is a file without a grade.
    """
    grades: Grades = {}
    seen: set[tuple[str, str]] = set()
    for number, row in read_rows(path, Judgement):
        if (row.query_id, row.chunk_id) in seen:
            raise ResultError(
                f"{path}:{number}: {row.chunk_id!r} is judged twice for {row.query_id!r}; keep one row of it"
            )
        seen.add((row.query_id, row.chunk_id))
        if row.grade is not None:
            grades.setdefault(row.query_id, {})[row.chunk_id] = row.grade
    if not grades:
        raise ResultError(f"{path} holds no grade; write 2, 1 or 0 as the grade of each row")
    return grades, len(seen) - sum(map(len, grades.values()))
