"""What a ranking loses where hard negatives stand at its top. Pure but for reading."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.analysis.logs.figures import Section, changes_of
from repoeval_bench.core.errors import ResultError
from repoeval_bench.runs.log import Negative, read_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from repoeval_bench.analysis.logs.judged_log import JudgedLog
    from repoeval_bench.core.run import Qrels


def insert_negatives(ranking: Sequence[str], negatives: Sequence[str]) -> list[str]:
    """The ranking with `negatives` at ranks 1..n; one that was retrieved already moves there, the rest keep order."""
    moved = set(negatives)
    return [*negatives, *(chunk_id for chunk_id in ranking if chunk_id not in moved)]


def read_negatives(path: Path, qrels: Qrels) -> tuple[dict[str, list[str]], int]:
    """(query_id -> its negatives in the file's order, how many rows are of queries that the run does not score).

    A broken row, one that stands twice, and a chunk that is relevant are a ResultError with file:line.
    """
    found: dict[str, list[str]] = {}
    strange = 0
    for number, row in read_rows(path, Negative):
        if row.query_id not in qrels:
            strange += 1
            continue
        held = found.setdefault(row.query_id, [])
        if row.chunk_id in held:
            raise ResultError(f"{path}:{number}: {row.chunk_id!r} stands twice for {row.query_id!r}; keep one row")
        if row.chunk_id in qrels[row.query_id]:
            raise ResultError(
                f"{path}:{number}: {row.chunk_id!r} is relevant to {row.query_id!r}, no negative; take the row out"
            )
        held.append(row.chunk_id)
    if not found:
        raise ResultError(f"{path} names no negative of the run's queries; give rows with query_id and chunk_id")
    return found, strange


def negatives_section(log: JudgedLog, n: int, negatives: Mapping[str, Sequence[str]] | None = None) -> Section:
    """Every measure as it is, with n negatives at ranks 1..n, and the paired change.

    Without `negatives` they are chunks that nobody retrieved: then only the shift counts, which n hard negatives at
    the top of any corpus would bring. A query that has fewer than n of its own gets those.
    """
    unnamed = [f"\0negative {i}" for i in range(n)]
    chosen = {q: unnamed if negatives is None else list(negatives.get(q, ()))[:n] for q in log.query_ids}
    before = log.scores(log.ranked, log.measures)
    after = log.scores(lambda query_id: insert_negatives(log.ranked(query_id), chosen[query_id]), log.measures)
    figures = changes_of(before, after, log.clusters)
    short = sum(len(each) < n for each in chosen.values())
    notes = (
        (f"queries with fewer than {n} negatives in the file, which got those: {short} of {len(log)}",) if short else ()
    )
    title = f"{n} hard negative{'s' if n > 1 else ''} at the top"
    return Section(f"hard-negatives-{n}", title, tuple(figures), ("as it is", f"with {n}"), notes)
