"""Write the top k of several runs as one file to be judged, and read the judge's grades."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.errors import UsageError
from repoeval_bench.plugins.logs.judged_log import resolve_depth
from repoeval_bench.plugins.logs.records import Judgement, LogError, read_rows

if TYPE_CHECKING:
    from repoeval_bench.runs.log import LogRow
    from repoeval_bench.runs.view import RunView

Grades = dict[str, dict[str, int]]
"""query_id -> chunk_id -> 2, 1 or 0."""


def pool(runs: Sequence[RunView], k: int | None = None) -> tuple[int, list[dict[str, Any]]]:
    """Pool the first k chunks of the runs, each chunk once a query, with its text if a run keeps its sources.

    Return k and the rows to be judged, see `records.Judgement`. k is 10 unless given. Queries are in the order of the
    first run, chunks in the order of their ids: a judge who knew which run found a chunk, and how high, could be
    biased. Runs of different data, and a depth that a run does not have, are a UsageError.
    """
    depth = resolve_depth(runs, k)
    first = runs[0].metrics.dataset
    for run in runs:
        if (other := run.metrics.dataset).fingerprint != first.fingerprint:
            raise UsageError(
                f"{runs[0].run_id} and {run.run_id} have different data: {first.label} against {other.label}"
            )
    logs = [{row.query_id: row for row in run.log_rows()} for run in runs]
    return depth, list(pool_rows(logs, depth, runs[0].scores.query_ids, texts=_texts(runs)))


def pool_rows(
    logs: Sequence[Mapping[str, LogRow]],
    depth: int,
    query_ids: Sequence[str],
    *,
    texts: Mapping[str, str] | None = None,
) -> Iterator[dict[str, Any]]:
    """`pool` of bare logs (query_id -> row); `texts` are chunks' texts. A row has what is known, and an empty grade."""
    for query_id in query_ids:
        rows = [row for log in logs if (row := log.get(query_id)) is not None]
        results = {entry.chunk_id: entry for row in reversed(rows) for entry in row.topk[:depth]}
        query = next((row.query for row in rows if row.query is not None), None)
        for chunk_id, entry in sorted(results.items()):
            about = {
                "file": entry.file,
                "start_line": entry.start_line,
                "end_line": entry.end_line,
                "query": query,
                "text": (texts or {}).get(chunk_id),
            }
            known = {name: value for name, value in about.items() if value is not None}
            yield {"query_id": query_id, "chunk_id": chunk_id, "grade": None, **known}


def _texts(runs: Sequence[RunView]) -> Mapping[str, str]:
    """Return chunk_id -> text, from the runs that keep their sources."""
    results: dict[str, str] = {}
    for run in runs:
        if (inspection := run.inspection) is not None:
            for chunks in (*inspection.chunks.values(), *inspection.own.values()):
                results.update({chunk.chunk_id: inspection.sources[chunk.file].slice(chunk.chars) for chunk in chunks})
    return results


def read_judgements(path: Path) -> tuple[Grades, int]:
    """Read a judged pool; return its grades, and how many rows still have none.

    A broken row and a chunk that is judged twice are a LogError with file:line; so is a file without a grade.
    """
    grades: Grades = {}
    seen: set[tuple[str, str]] = set()
    for number, row in read_rows(path, Judgement):
        if (row.query_id, row.chunk_id) in seen:
            raise LogError(f"{path}:{number}: {row.chunk_id!r} is judged twice for {row.query_id!r}; keep one row")
        seen.add((row.query_id, row.chunk_id))
        if row.grade is not None:
            grades.setdefault(row.query_id, {})[row.chunk_id] = row.grade
    if not grades:
        raise LogError(f"{path} has no grade; write 2, 1 or 0 as the grade of each row")
    return grades, len(seen) - sum(map(len, grades.values()))
