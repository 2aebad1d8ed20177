"""The ONE sort. Every retriever ranks through `rank`; afterwards position is rank and nothing sorts again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.errors import MetricError
from repoeval_bench.core.run import Ranking

DIGITS = 5
"""Scores are rounded to 1e-5 before the sort: a last-bit difference between machines must not reorder."""


def rank(scores: Iterable[tuple[str, float]], k: int) -> Ranking:
    """The k best (chunk_id, score), ordered by (rounded score, chunk_id), both descending: trec_eval's rule.

    A score that is not a finite number is a MetricError.
    """
    rounded = [(round(float(score), DIGITS) + 0.0, chunk_id) for chunk_id, score in scores]
    for score, chunk_id in rounded:
        if not math.isfinite(score):
            raise MetricError(f"the score of {chunk_id!r} is {score}; a ranking needs finite scores")
    rounded.sort(reverse=True)
    return tuple([(chunk_id, score) for score, chunk_id in rounded[:k]])


def rank_column(
    ids: Sequence[str], scores: NDArray[np.float64], k: int, unseen: frozenset[str] = frozenset()
) -> Ranking:
    """`rank` of a column of scores, float64 (n,), beside its ids and without those that are `unseen`.

    Only what can be among the best is looked at one by one, so that a large corpus costs little more than a small one.
    """
    wanted = k + len(unseen)
    near: Sequence[int] = range(len(ids))
    if wanted < len(ids):
        last = np.partition(scores, -wanted)[-wanted]
        # What is rounded apart is at most one step apart; not `>=`, so that a NaN is kept, and refused.
        near = np.flatnonzero(~(scores < last - 2 * 10**-DIGITS)).tolist()
    values = scores.tolist()
    return rank(((ids[at], values[at]) for at in near if ids[at] not in unseen), k)
