"""Rankings seen through qrels, as flat arrays: the one form that every rank-based measure is computed from.

Only relevant chunks move a measure of ranks, so what is kept is where they stand, not the whole ranking. Memory
and time then grow with the relevant chunks, whatever the depth of the ranking.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from repoeval_bench.errors import MetricError
from repoeval_bench.types import Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from repoeval_bench.metrics.context import Context

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]

Rankings = Mapping[str, "Sequence[tuple[str, float]] | Mapping[str, float]"]
"""query_id -> (chunk_id, score) pairs in rank order, or chunk_id -> score, which is ranked here."""

Judgements = Mapping[str, Mapping[str, float]]
"""query_id -> chunk_id -> gain; what `types.Qrels` is, read-only."""


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Relevant chunks of all queries, ordered by (query, rank); three arrays of one length.

    `query` is the query's position, `rank` counts from 1, `gain` is above 0.
    """

    query: IntArray
    rank: IntArray
    gain: FloatArray

    @classmethod
    def ordered(cls, query: IntArray, rank: IntArray, gain: FloatArray) -> Self:
        """Entries given in any order."""
        order = np.lexsort((rank, query))
        return cls(query[order], rank[order], gain[order])

    @classmethod
    def ideal(cls, query: IntArray, gain: FloatArray) -> Self:
        """Relevant chunks put into the best order: by gain, descending, ranks counted from 1."""
        order = np.lexsort((-gain, query))
        query = query[order]
        return cls(query, _ordinal(query), gain[order])

    def where(self, keep: NDArray[np.bool_]) -> Entries:
        """The entries that `keep` (bool, one per entry) selects; ranks stay as they are."""
        return Entries(self.query[keep], self.rank[keep], self.gain[keep])

    def upto(self, k: int | None) -> Entries:
        """Those at rank k or better; all where k is None."""
        return self if k is None else self.where(self.rank <= k)

    def at_least(self, rel: float | None) -> Entries:
        """Those whose gain reaches `rel`; all where it is None, for every gain kept here is above 0."""
        return self if rel is None else self.where(self.gain >= rel)

    def ordinal(self) -> IntArray:
        """1 for a query's first entry, 2 for its second, and so on; int64 (n_entries,)."""
        return _ordinal(self.query)


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """A run's rankings against qrels, one position per query of the qrels.

    `hits` are the relevant chunks that were retrieved, at their ranks; `relevant` are all relevant chunks, in the
    best order. `depth` (int64, (n_queries,)) is how many chunks were retrieved. `unjudged` counts the queries of
    the run that the qrels lack (they are not scored), `missing` the queries of the qrels that the run lacks (they
    score 0). `rankings` and `context` serve the measures that look at more than ranks.
    """

    query_ids: tuple[str, ...]
    depth: IntArray
    hits: Entries
    relevant: Entries
    unjudged: int
    missing: int
    rankings: Rankings | None = None
    context: Context | None = None

    @property
    def n_queries(self) -> int:
        """Number of queries of the qrels."""
        return len(self.query_ids)

    def total(self, entries: Entries, weights: FloatArray | None = None) -> FloatArray:
        """Sum of `weights` (one per entry; None counts entries) for each query: float64 (n_queries,)."""
        return np.bincount(entries.query, weights, minlength=self.n_queries).astype(np.float64, copy=False)

    def n_relevant(self, rel: float | None = None) -> FloatArray:
        """Number of chunks whose gain reaches `rel`, per query: float64 (n_queries,)."""
        return self.total(self.relevant.at_least(rel))

    def ranking(self, query_id: str) -> tuple[str, ...]:
        """The chunk ids retrieved for a query, best first; empty where the run lacks it."""
        return () if self.rankings is None else ranked_ids(self.rankings.get(query_id, ()))


def share(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Divide, and give 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def judge(run: Run | Rankings, qrels: Judgements, context: Context | None = None) -> Judged:
    """Look the qrels up in a run.

    Pairs are taken in their order (position is rank); a mapping chunk_id -> score is ranked by (score, chunk_id),
    both descending, which is trec_eval's rule. Every query of the qrels is kept. Duplicate ids in a ranking, NaN
    scores, negative or infinite gains, and qrels without a query are a MetricError.
    """
    rankings: Rankings = run.rankings if isinstance(run, Run) else run
    if not qrels:
        raise MetricError("the qrels hold no query; nothing can be scored")
    depth: list[int] = []
    hit_query: list[int] = []
    hit_rank: list[int] = []
    hit_gain: list[float] = []
    query: list[int] = []
    gain: list[float] = []
    missing = 0
    for i, (query_id, gains) in enumerate(qrels.items()):
        ranking = rankings.get(query_id)
        missing += ranking is None
        positions = _positions(query_id, ranking or ())
        depth.append(len(positions))
        for chunk_id, value in gains.items():
            if 0 < value < math.inf:
                query.append(i)
                gain.append(value)
                rank = positions.get(chunk_id)
                if rank is not None:
                    hit_query.append(i)
                    hit_rank.append(rank)
                    hit_gain.append(value)
            elif value != 0:
                raise MetricError(_bad_gain(query_id, chunk_id, value))
    return Judged(
        query_ids=tuple(qrels),
        depth=np.array(depth, dtype=np.int64),
        hits=Entries.ordered(_ints(hit_query), _ints(hit_rank), np.array(hit_gain, dtype=np.float64)),
        relevant=Entries.ideal(_ints(query), np.array(gain, dtype=np.float64)),
        unjudged=sum(query_id not in qrels for query_id in rankings),
        missing=missing,
        rankings=rankings,
        context=context,
    )


def ranked_ids(ranking: Sequence[tuple[str, float]] | Mapping[str, float]) -> tuple[str, ...]:
    """Chunk ids, best first: pairs as they stand, a mapping by (score, chunk_id) descending."""
    if isinstance(ranking, Mapping):
        return tuple(chunk_id for _, chunk_id in sorted(zip(ranking.values(), ranking, strict=True), reverse=True))
    return tuple(chunk_id for chunk_id, _ in ranking)


def _positions(query_id: str, ranking: Sequence[tuple[str, float]] | Mapping[str, float]) -> dict[str, int]:
    if not ranking:
        return {}
    ids: Sequence[str]
    scores: Sequence[float]
    if isinstance(ranking, Mapping):
        scores, ids = zip(*sorted(zip(ranking.values(), ranking, strict=True), reverse=True), strict=True)
    else:
        ids, scores = zip(*ranking, strict=True)
    # A sum is NaN when a term is; it is also NaN for inf - inf, so the terms have the last word.
    total = sum(scores)
    if total != total and any(score != score for score in scores):  # noqa: PLR0124 - NaN, without a call each
        worst = next(chunk_id for chunk_id, score in zip(ids, scores, strict=True) if math.isnan(score))
        raise MetricError(f"query {query_id!r}: the score of {worst!r} is NaN; a ranking needs numbers")
    positions = dict(zip(ids, range(1, len(ids) + 1), strict=True))
    if len(positions) != len(ids):
        twice = next(chunk_id for i, chunk_id in enumerate(ids, start=1) if positions[chunk_id] != i)
        raise MetricError(f"query {query_id!r}: {twice!r} is ranked twice; keep one, or recall could pass 1")
    return positions


def _bad_gain(query_id: str, chunk_id: str, gain: float) -> str:
    return f"query {query_id!r}: the gain of {chunk_id!r} is {gain}; gains are finite and at least 0 (not relevant)"


def _ints(values: list[int]) -> IntArray:
    return np.array(values, dtype=np.int64)


def _ordinal(query: IntArray) -> IntArray:
    n = len(query)
    position = np.arange(1, n + 1, dtype=np.int64)
    if not n:
        return position
    first = np.empty(n, dtype=np.bool_)
    first[0] = True
    np.not_equal(query[1:], query[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    return position - np.repeat(starts, np.diff(starts, append=n))
