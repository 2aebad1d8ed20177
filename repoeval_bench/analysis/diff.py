"""Two runs query by query: whose score of a measure changed, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from repoeval_bench.core.run import Qrels

Why = Literal["other chunks", "other order", "other judgements"]

SAME = 1e-12
"""Differences below are rounding error of a sum, no change."""


@dataclass(frozen=True, slots=True)
class Side:
    """One run's part: the value, how many chunks are relevant, how many of them were retrieved, the first's rank.

    `hits` and `first_hit` look at the measure's cutoff, or at the whole ranking where it has none.
    """

    value: float
    relevant: int
    hits: int
    first_hit: int | None
    top: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A query whose score changed.

    `why`: `other chunks` stand in the top k; the same stand in `other order`; the same stand in the same order, but
    the `other judgements` find other ones relevant. `shared` counts the chunks that both retrieved.
    """

    query_id: str
    change: float
    why: Why
    shared: int
    baseline: Side
    treatment: Side


def changes(
    query_ids: Iterable[str],
    values: tuple[Mapping[str, float], Mapping[str, float]],
    rankings: tuple[Mapping[str, Sequence[str]], Mapping[str, Sequence[str]]],
    qrels: tuple[Qrels, Qrels],
    k: int | None,
) -> Iterator[Change]:
    """The queries whose value differs, in their order; of each pair the baseline stands first.

    `rankings` are chunk ids, best first; `k` is the measure's cutoff in ranks, None for the whole ranking.
    """
    for query_id in query_ids:
        before, after = (
            _side(values[i][query_id], rankings[i][query_id][:k], qrels[i].get(query_id, {})) for i in (0, 1)
        )
        change = after.value - before.value
        if abs(change) <= SAME:
            continue
        shared = len(set(before.top) & set(after.top))
        yield Change(query_id, change, _why(before, after), shared, before, after)


def _side(value: float, top: Sequence[str], gains: Mapping[str, float]) -> Side:
    hits = [rank for rank, chunk_id in enumerate(top, start=1) if chunk_id in gains]
    return Side(value, len(gains), len(hits), hits[0] if hits else None, tuple(top))


def _why(before: Side, after: Side) -> Why:
    if before.top == after.top:
        return "other judgements"
    return "other order" if set(before.top) == set(after.top) else "other chunks"
