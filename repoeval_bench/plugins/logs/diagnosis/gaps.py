"""Gaps between segments that noise does not explain: each segment against the other queries, files kept together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.analysis.segments import Segment, segment_names, split
from repoeval_bench.analysis.statistics import LEVEL, holm

if TYPE_CHECKING:
    from repoeval_bench.analysis.sign_flips import FloatArray
    from repoeval_bench.runs.query_scores import QueryScores

LEAST = 5
"""Nothing is tested with fewer clusters than this on one side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A segment's mean against that of all other queries: difference with 95 % interval, p and p adjusted by Holm."""

    by: str
    name: str
    n_queries: int
    n_clusters: int
    mean: float
    rest: float
    difference: float
    ci: tuple[float, float]
    p: float
    p_adjusted: float


def find_gaps(scores: QueryScores, measure: str) -> tuple[list[Gap], int]:
    """Return the gaps of the segments that can be tested, sorted by p, and how many have too few clusters on a side.

    Segments are those of `segments`, except the clusters themselves. The test is Student's t of a difference of two
    ratios with a cluster-robust error (Liang & Zeger 1986). Clusters that reach into both sides count in both. The
    degrees of freedom are the number of clusters of the smaller side, less one.
    """
    values = scores.values[measure]
    numbers = {cluster: i for i, cluster in enumerate(dict.fromkeys(scores.clusters))}
    clusters = np.array([numbers[cluster] for cluster in scores.clusters], dtype=np.int64)
    gaps: list[Gap] = []
    untested = 0
    for segment, other in _tested(scores):
        inside = np.zeros(len(scores), dtype=bool)
        inside[segment.positions] = True
        gap = _gap(values, inside, clusters, segment, other)
        if gap is None:
            untested += 1
        else:
            gaps.append(gap)
    adjusted = holm([gap.p for gap in gaps])
    whole = [replace(gap, p_adjusted=p) for gap, p in zip(gaps, adjusted, strict=True)]
    return sorted(whole, key=lambda gap: (gap.p, gap.by, gap.name)), untested


def _tested(scores: QueryScores) -> Iterator[tuple[Segment, Segment | None]]:
    """Yield (segment, None), or for two segments (one, the other): each is the other's rest, so one test is enough."""
    for by in segment_names(scores):
        if by != scores.clustered_by:
            match split(scores, by):
                case [_]:
                    continue
                case [first, second]:
                    yield first, second
                case segments:
                    yield from ((segment, None) for segment in segments)


def _gap(
    values: FloatArray, inside: NDArray[np.bool_], clusters: NDArray[np.int64], segment: Segment, other: Segment | None
) -> Gap | None:
    """Return the gap of a segment, or of `other` if its mean is lower; None with too few clusters to test."""
    from scipy.special import stdtr, stdtrit

    error, fewest = _error(values, inside, clusters)
    if fewest < LEAST:
        return None
    if other is not None and values[inside].mean() > values[~inside].mean():
        inside, segment = ~inside, other
    mean, rest = float(values[inside].mean()), float(values[~inside].mean())
    difference, df = mean - rest, fewest - 1
    # Without spread within the sides a difference is certain, and so is equality.
    t = abs(difference) / error if error > 0 else (np.inf if abs(difference) > 1e-12 else 0.0)
    half = float(stdtrit(df, (1 + LEVEL) / 2)) * error
    return Gap(
        by=segment.by,
        name=segment.name,
        n_queries=int(inside.sum()),
        n_clusters=len(np.unique(clusters[inside])),
        mean=mean,
        rest=rest,
        difference=difference,
        ci=(difference - half, difference + half),
        p=float(2 * stdtr(df, -t)),
        p_adjusted=1.0,
    )


def _error(values: FloatArray, inside: NDArray[np.bool_], clusters: NDArray[np.int64]) -> tuple[float, int]:
    """Return the standard error of the difference of the two means, and the number of clusters of the smaller side."""
    influence = np.where(inside, values - values[inside].mean(), -(values - values[~inside].mean()))
    influence /= np.where(inside, inside.sum(), (~inside).sum())
    per_cluster = np.bincount(clusters, influence)
    fewest = min(len(np.unique(clusters[inside])), len(np.unique(clusters[~inside])))
    if fewest < 2:
        return 0.0, fewest
    return float(np.sqrt(fewest / (fewest - 1) * (per_cluster**2).sum())), fewest
