"""The ONE sort. Every retriever ranks through `rank`; afterwards position is rank and nothing sorts again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import MetricError

if TYPE_CHECKING:
    from collections.abc import Iterable

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
