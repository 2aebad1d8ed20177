"""Gaps between segments that noise does not explain: each segment against the other queries, files kept together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.analysis.segments import segment_names, split
from repoeval_bench.analysis.statistics import LEVEL, holm

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from repoeval_bench.runs.query_scores import QueryScores

    FloatArray = NDArray[np.float64]

LEAST = 5
"""With fewer clusters than that on one side, nothing is tested."""


@dataclass(frozen=True, slots=True)
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


def find_gaps(scored: QueryScores, measure: str) -> tuple[list[Gap], int]:
    """(every segment that could be tested, by p; how many had too few clusters on one side).

    Segments are those of `segments`, clusters left out. The test is Student's t of a difference of two ratios with a
    cluster-robust error, clusters that reach into both counting in both (Liang & Zeger 1986), and as many degrees of
    freedom as the smaller side has clusters, less one.
    """
    from scipy.special import stdtr, stdtrit

    values = scored.values[measure]
    numbers = {cluster: i for i, cluster in enumerate(dict.fromkeys(scored.clusters))}
    clusters = np.array([numbers[cluster] for cluster in scored.clusters], dtype=np.int64)
    found: list[Gap] = []
    untested = 0
    for by in segment_names(scored):
        if by == scored.clustered_by:
            continue
        segments = split(scored, by)
        # Of two segments each is the other's rest: one test says all.
        for segment in segments[:1] if len(segments) == 2 else segments:
            name, inside = segment.name, np.zeros(len(scored), dtype=bool)
            inside[segment.positions] = True
            if inside.all():
                continue
            error, fewest = _error(values, inside, clusters)
            if fewest < LEAST:
                untested += 1
                continue
            if len(segments) == 2 and values[inside].mean() > values[~inside].mean():
                inside, name = ~inside, segments[1].name
            mean, rest = float(values[inside].mean()), float(values[~inside].mean())
            difference = mean - rest
            df = fewest - 1
            # Without any spread within the sides a difference is as clear as can be, and none is none.
            t = abs(difference) / error if error > 0 else (np.inf if abs(difference) > 1e-12 else 0.0)
            half = float(stdtrit(df, (1 + LEVEL) / 2)) * error
            found.append(
                Gap(
                    by, name, int(inside.sum()), len(np.unique(clusters[inside])), mean, rest, difference,
                    (difference - half, difference + half), float(2 * stdtr(df, -t)), 1.0,
                )
            )  # fmt: skip
    adjusted = holm([gap.p for gap in found])
    whole = [
        Gap(
            gap.by, gap.name, gap.n_queries, gap.n_clusters, gap.mean, gap.rest, gap.difference, gap.ci, gap.p,
            adjusted[i],
        )
        for i, gap in enumerate(found)
    ]  # fmt: skip
    return sorted(whole, key=lambda gap: (gap.p, gap.by, gap.name)), untested


def _error(values: FloatArray, inside: NDArray[np.bool_], clusters: NDArray[np.int64]) -> tuple[float, int]:
    """(standard error of the difference of the two means, clusters of the smaller side)."""
    influence = np.where(inside, values - values[inside].mean(), -(values - values[~inside].mean()))
    influence /= np.where(inside, inside.sum(), (~inside).sum())
    per_cluster = np.bincount(clusters, influence)
    fewest = min(len(np.unique(clusters[inside])), len(np.unique(clusters[~inside])))
    if fewest < 2:
        return 0.0, fewest
    return float(np.sqrt(fewest / (fewest - 1) * (per_cluster**2).sum())), fewest
