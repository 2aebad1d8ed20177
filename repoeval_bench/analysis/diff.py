"""Two runs query by query: whose score of a measure changed, and why."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from repoeval_bench.analysis.comparable import check_comparable, headline_measure, run_names, shared_measures
from repoeval_bench.metrics import measure_of
from repoeval_bench.runs.query_scores import SAME
from repoeval_bench.runs.view import RunView

Why = Literal["other chunks", "other order", "other judgements"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One run's value for a query, with its relevant chunks, how many of them are `hits`, and the first hit's rank.

    `top`, `hits` and `first_hit` are up to the measure's cutoff, or over the whole ranking where it has none.
    """

    value: float
    relevant: int
    hits: int
    first_hit: int | None
    top: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A query whose score changed.

    `why` is `other chunks` if the top k has others, and `other order` if it has the same in another order. It is `other
    judgements` if only the relevant chunks differ. `shared` counts the chunks that both retrieved.
    """

    query_id: str
    change: float
    why: Why
    shared: int
    baseline: Side
    treatment: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """The queries, of `n_queries`, whose score of a measure changed from baseline to treatment; largest change first.

    `baseline` and `treatment` are the names of the runs.
    """

    baseline: str
    treatment: str
    measure: str
    n_queries: int
    changes: tuple[Change, ...]


def diff(baseline: RunView, treatment: RunView, measure: str | None = None) -> Diff:
    """Return the queries whose score differs between two runs, and why, as `repoeval_bench.diff` promises."""
    runs = baseline, treatment
    check_comparable([runs])
    (name,) = shared_measures(runs, [measure or headline_measure(runs)])
    query_ids = baseline.scores.query_ids
    changes = [
        Change(
            query_id=query_id,
            change=after.value - before.value,
            why=_why(before, after),
            shared=len(set(before.top) & set(after.top)),
            baseline=before,
            treatment=after,
        )
        for query_id, before, after in zip(query_ids, *(_sides(run, name, query_ids) for run in runs), strict=True)
        if abs(after.value - before.value) >= SAME
    ]
    changes.sort(key=lambda change: (-abs(change.change), change.query_id))
    names = run_names(runs)
    return Diff(baseline=names[0], treatment=names[1], measure=name, n_queries=len(query_ids), changes=tuple(changes))


def _sides(run: RunView, measure: str, query_ids: Sequence[str]) -> Iterator[Side]:
    values, rankings, qrels, known = run.scores.by_query(measure), run.ranked_ids(), run.qrels(), measure_of(measure)
    # The whole ranking, where there is no cutoff or it counts characters.
    k = known.k if known and known.definition.unit == "rank" else None
    for query_id in query_ids:
        top, gains = tuple(rankings.get(query_id, ())[:k]), qrels.get(query_id, {})
        hits = [rank for rank, chunk_id in enumerate(top, start=1) if chunk_id in gains]
        yield Side(
            value=values[query_id], relevant=len(gains), hits=len(hits), first_hit=hits[0] if hits else None, top=top
        )


def _why(before: Side, after: Side) -> Why:
    if before.top == after.top:
        return "other judgements"
    return "other order" if set(before.top) == set(after.top) else "other chunks"
