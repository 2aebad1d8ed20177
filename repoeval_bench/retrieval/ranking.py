"""The chunks that a query may see, and the ONE sort: afterwards position is rank, and nothing sorts again."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.errors import MetricError
from repoeval_bench.core.progress import progress
from repoeval_bench.core.run import Query, Ranking, Run
from repoeval_bench.core.source import Chunk

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

# Scores are rounded to 1e-5 before the sort: a last-bit difference between machines must not reorder.
DIGITS = 5

# A score in steps of 1e-5 is surely rounded right within the first of a whole number and below the second.
_NEAR_HALF, _LARGE = 0.499999, 1e9


def rank(scores: Iterable[tuple[str, float]], k: int) -> Ranking:
    """Return the k best (chunk_id, score), ordered by (rounded score, chunk_id), both descending: trec_eval's rule.

    A score that is not a finite number is a MetricError.
    """
    pairs = list(scores)
    values = np.array([float(score) for _, score in pairs], dtype=np.float64)
    return _sorted([chunk_id for chunk_id, _ in pairs], values, k)


def rank_column(ids: Sequence[str], scores: FloatArray, k: int, unseen: frozenset[str] = frozenset()) -> Ranking:
    """Rank a column of scores, float64 (n,), with their ids, as `rank` does, without the `unseen` ids."""
    # Only chunks that can be among the best are sorted, so a large corpus costs little more than a small one.
    n_best = k + len(unseen)
    near = np.arange(len(ids))
    if n_best < len(ids):
        last = np.partition(scores, -n_best)[-n_best]
        # Rounding moves two scores apart by at most one step. `~(<)` rather than `>=` keeps a NaN, to be refused.
        near = np.flatnonzero(~(scores < last - 2 * 10**-DIGITS))
    indexes = near.tolist()
    if unseen:
        indexes = [index for index in indexes if ids[index] not in unseen]
    return _sorted([ids[index] for index in indexes], scores[indexes], k)


def _sorted(ids: Sequence[str], scores: FloatArray, k: int) -> Ranking:
    rounded = _rounded(scores)
    if not np.isfinite(rounded).all():
        chunk_id, score = next(pair for pair in zip(ids, rounded.tolist(), strict=True) if not math.isfinite(pair[1]))
        raise MetricError(f"the score of {chunk_id!r} is {score}; a ranking needs finite scores")
    best = sorted(zip(rounded.tolist(), ids, strict=True), reverse=True)[:k]
    return tuple([(chunk_id, score) for score, chunk_id in best])


def _rounded(scores: FloatArray) -> FloatArray:
    """Round each score as `round` does, and -0 to 0: float64 (n,)."""
    # Near a half step, or for large scores, the product's own rounding could decide: there `round` is called.
    with np.errstate(invalid="ignore", over="ignore"):
        steps = scores * 10**DIGITS
        whole = np.rint(steps)
        sure = (np.abs(steps - whole) < _NEAR_HALF) & (np.abs(whole) < _LARGE)
        rounded: FloatArray = whole / 10**DIGITS + 0.0
    for index in np.flatnonzero(~sure).tolist():
        rounded[index] = round(float(scores[index]), DIGITS) + 0.0
    return rounded


def differing_ranks(one: Ranking, other: Ranking, tolerance: float) -> list[int]:
    """Return the positions, from 0, at which two rankings of one query differ.

    Scores may be off by `tolerance`: those at each rank, and the two scores of each chunk that is in both. A chunk that
    is in one alone may score that much above the other's last.
    """
    # So chunks of nearly equal scores may change places, also across the end of the ranking.
    scores = dict(one), dict(other)
    apart = set()
    for ranking, theirs, their_scores in ((one, other, scores[1]), (other, one, scores[0])):
        last = theirs[-1][1] if theirs else -math.inf
        for index, (chunk_id, score) in enumerate(ranking):
            above = score - last if chunk_id not in their_scores else abs(score - their_scores[chunk_id])
            if index >= len(theirs) or max(above, abs(score - theirs[index][1])) > tolerance:
                apart.add(index)
    return sorted(apart)


Chunks = Mapping[str, Sequence[Chunk]]
"""Repository, or query with chunks of its own, -> chunks."""
Excluded = Mapping[str, frozenset[str]]
"""query_id -> the ids of the chunks that it may not see."""

POOL = ""
"""The pool's name in place of a repository's; no repository has it."""


def pooled(chunks: Chunks, queries: Iterable[Query]) -> tuple[dict[str, tuple[Chunk, ...]], tuple[Query, ...]]:
    """Return the chunks of all repositories as one repository's, and the queries on it."""
    every = tuple(chunk for of_repo in chunks.values() for chunk in of_repo)
    return {POOL: every}, tuple(replace(query, repo=POOL) for query in queries)


def excluded_from(query: Query, excluded: Excluded | None) -> frozenset[str]:
    """Return the ids of the chunks that a query may not see."""
    return (excluded or {}).get(query.query_id, frozenset())


def visible(query: Query, chunks: Chunks, own: Chunks, excluded: Excluded | None) -> list[Chunk]:
    """Return the chunks that a query may see, the repository's first, in their order."""
    unseen = excluded_from(query, excluded)
    seen = [chunk for chunk in chunks.get(query.repo, ()) if chunk.chunk_id not in unseen]
    return [*seen, *own.get(query.query_id, ())]


def rank_each(
    queries: Sequence[Query],
    excluded: Excluded | None,
    tag: str,
    rank_one: Callable[[Query, frozenset[str]], Ranking],
    prepare: Callable[[str, Sequence[Query]], object] | None = None,
) -> Run:
    """Return the run of a retriever that ranks queries one by one, with the time that each took.

    `rank_one` gets a query, and the ids of the chunks that it may not see. `prepare` gets a repository and its queries
    before the first of them, so that one index is in memory at a time.
    """
    rankings: dict[str, Ranking] = {}
    latency: dict[str, float] = {}
    by_repo: dict[str, list[Query]] = {}
    for query in queries:
        by_repo.setdefault(query.repo, []).append(query)
    with progress(desc="retrieve", unit="queries", total=len(queries)) as bar:
        for repo, of_repo in by_repo.items():
            if prepare:
                prepare(repo, of_repo)
            for query in of_repo:
                start = perf_counter()
                rankings[query.query_id] = rank_one(query, excluded_from(query, excluded))
                latency[query.query_id] = (perf_counter() - start) * 1000
                bar.update()
    return Run(tag=tag, rankings=rankings, latency_ms=latency)
