"""Scoring from arrays of numbers: for runs of millions of results that never were dicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.errors import MetricError
from repoeval_bench.metrics.judged import Entries, FloatArray, IntArray, Judged
from repoeval_bench.metrics.registry import DEFAULT_MEASURES
from repoeval_bench.metrics.scoring import RunScores, score_judged

if TYPE_CHECKING:
    from repoeval_bench.metrics.measure import Measure

NOTHING = -1
"""What fills a row after its last result."""

_BLOCK = 1 << 20
"""Cells compared at a time: memory stays bounded for runs of any size."""


def score_arrays(
    ranked: NDArray[np.integer],
    query: NDArray[np.integer],
    item: NDArray[np.integer],
    gain: NDArray[np.floating],
    measures: Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    query_ids: Sequence[str] | None = None,
) -> RunScores:
    """Score rankings of item numbers; equal to `score_run` on the same run.

    `ranked`: whole numbers (n_queries, depth), each row a ranking, best first, -1 after its end. `query`, `item`,
    `gain`: (n_judged,) each, the row, the item number and the gain of a judgement. `query_ids` names the rows; their
    numbers if not given. Only measures that need nothing but the ranking. An item ranked or judged twice, a gain that
    is negative or not finite, and a row or item out of range are a MetricError.
    """
    return score_judged(judge_arrays(ranked, query, item, gain, query_ids), measures)


def judge_arrays(
    ranked: NDArray[np.integer],
    query: NDArray[np.integer],
    item: NDArray[np.integer],
    gain: NDArray[np.floating],
    query_ids: Sequence[str] | None = None,
) -> Judged:
    """Look judgements up in rankings; arguments and errors as in `score_arrays`."""
    if ranked.ndim != 2 or not len(ranked):
        raise MetricError(f"the rankings have shape {ranked.shape}; give (queries, depth) with at least one query")
    n, depth = ranked.shape
    names = tuple(query_ids) if query_ids is not None else tuple(map(str, range(n)))
    if len(names) != n:
        raise MetricError(f"{len(names)} query ids name {n} rankings; give one for each")
    rows, items = np.asarray(query, dtype=np.int64), np.asarray(item, dtype=np.int64)
    gains = np.asarray(gain, dtype=np.float64)
    _check_judgements(rows, items, gains, n)
    lengths = _lengths(ranked)
    kept = gains > 0
    rows, items, gains = rows[kept], items[kept], gains[kept]
    ranks = np.zeros(len(rows), dtype=np.int64)
    step = max(1, _BLOCK // max(1, depth))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        where, place = np.nonzero(ranked[rows[part]] == items[part, None])
        ranks[start + where] = place + 1
    found = ranks > 0
    return Judged(
        query_ids=names,
        depth=lengths,
        hits=Entries.ordered(rows[found], ranks[found], gains[found]),
        relevant=Entries.ideal(rows, gains),
        unjudged=0,
        missing=0,
    )


def _check_judgements(rows: IntArray, items: IntArray, gains: FloatArray, n: int) -> None:
    if not len(rows) == len(items) == len(gains):
        raise MetricError(
            f"{len(rows)} rows, {len(items)} items and {len(gains)} gains; give one of each per judgement"
        )
    wrong = (rows < 0) | (rows >= n) | (items < 0)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise MetricError(f"judgement {i} names row {rows[i]} and item {items[i]}; rows are 0..{n - 1}, items from 0")
    wrong = ~((gains >= 0) & np.isfinite(gains))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise MetricError(f"judgement {i}: the gain is {gains[i]}; gains are finite, and 0 if not relevant")
    order = np.lexsort((items, rows))
    twice = (np.diff(rows[order]) == 0) & (np.diff(items[order]) == 0)
    if twice.any():
        i = int(order[int(np.argmax(twice))])
        raise MetricError(f"row {rows[i]}: item {items[i]} is judged twice; keep one gain")


def _lengths(ranked: NDArray[np.integer]) -> IntArray:
    """Results per row, int64 (n_queries,), after checking each row: no item twice, nothing after its end."""
    n, depth = ranked.shape
    lengths = np.empty(n, dtype=np.int64)
    step = max(1, _BLOCK // max(1, depth))
    for start in range(0, n, step):
        block = ranked[start : start + step]
        filled = block >= 0
        lengths[start : start + step] = filled.sum(axis=1)
        if (filled[:, 1:] & ~filled[:, :-1]).any() or (block < NOTHING).any():
            raise MetricError("a ranking has a result after its end; item numbers are 0 or more, -1 fills a row's end")
        ordered = np.sort(block, axis=1)
        twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
        if twice.any():
            row, place = (int(i[0]) for i in np.nonzero(twice))
            raise MetricError(f"row {start + row}: item {ordered[row, place]} is ranked twice; keep one")
    return lengths
