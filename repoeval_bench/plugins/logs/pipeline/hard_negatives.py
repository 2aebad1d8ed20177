"""Measure what hard negatives at the top of a ranking cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.run import Qrels
from repoeval_bench.core.words import count
from repoeval_bench.plugins.logs.figures import Section, changes_of
from repoeval_bench.plugins.logs.judged_log import JudgedLog
from repoeval_bench.plugins.logs.records import LogError, Negative, read_rows

if TYPE_CHECKING:
    from repoeval_bench.runs.view import RunView


@dataclass(frozen=True, slots=True)
class HardNegatives:
    """A section for each number of negatives."""

    run: str
    sections: tuple[Section, ...]


NUMBERS = (1, 3, 5)
"""The usual numbers of negatives."""


def hard_negatives(run: RunView, numbers: Sequence[int] = NUMBERS, negatives: Path | None = None) -> HardNegatives:
    """Measure the loss by n hard negatives at ranks 1..n of every ranking, for each n of `numbers`.

    `negatives` is a JSONL file with query_id and chunk_id, hardest first; see `negatives_section` for the default. A
    run without a measure of ranks is a UsageError, a broken file a LogError.
    """
    log = JudgedLog.read(run)
    if not log.measures:
        raise UsageError(f"{run.run_id} has no measure of ranks alone; score it with ndcg@10 or the like")
    named = read_negatives(negatives, log.qrels) if negatives else None
    return HardNegatives(run.run_id, tuple(negatives_section(log, n, named) for n in dict.fromkeys(numbers)))


def read_negatives(path: Path, qrels: Qrels) -> dict[str, list[str]]:
    """Return query_id -> its negatives in the file's order, for the queries of the run.

    A broken row and a chunk that is relevant are a LogError with file:line.
    """
    results: dict[str, list[str]] = {}
    for number, row in read_rows(path, Negative):
        if row.chunk_id in qrels.get(row.query_id, ()):
            raise LogError(
                f"{path}:{number}: {row.chunk_id!r} is relevant to {row.query_id!r}, not a negative; take the row out"
            )
        if row.query_id in qrels:
            results.setdefault(row.query_id, []).append(row.chunk_id)
    if not results:
        raise LogError(f"{path} has no negative of the run's queries; give rows with query_id and chunk_id")
    return results


def negatives_section(log: JudgedLog, n: int, negatives: Mapping[str, list[str]] | None = None) -> Section:
    """Score every measure as it is and with n negatives at ranks 1..n, with the paired change.

    A negative that was retrieved moves there, and the other chunks keep their order.
    Without `negatives`, n placeholders push the results down: the loss by n hard negatives of any corpus. A query that
    has fewer than n negatives gets those it has.
    """
    placeholders = [f"\0negative {i}" for i in range(n)] if negatives is None else []
    inserted = {q: placeholders if negatives is None else negatives.get(q, [])[:n] for q in log.query_ids}
    before = log.scores(log.ranked, log.measures)
    after = log.scores(lambda q: dict.fromkeys([*inserted[q], *log.ranked(q)]), log.measures)
    figures = changes_of(before, after, log.clusters)
    short = sum(len(of_query) < n for of_query in inserted.values())
    notes = (
        (f"queries with fewer than {n} negatives in the file, which got those: {short} of {len(log)}",) if short else ()
    )
    title = f"{count(n, 'hard negative')} at the top"
    return Section(f"hard-negatives-{n}", title, figures=tuple(figures), stages=("as it is", f"with {n}"), notes=notes)
