"""Statistics over clusters. Queries of one file resemble each other, so signs are flipped by file, never by query.

Everything works on sums per cluster, with one column per measure, so all measures of all pairs share their draws. A
measure's numbers do not depend on which others are requested. Tests and intervals are in `sign_flips`.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Self

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.analysis.records import Interval
from repoeval_bench.analysis.sign_flips import FEWEST_CLUSTERS, Flipped, FloatArray, flip_signs

LEVEL = 0.95
# The seed of every interval and test, so that a repeated command gives the same numbers.
SEED = 20_240_601

INTERVAL_FLIPS = 20_000
"""Flips of an interval beside which no test stands."""


def seeded() -> np.random.Generator:
    """Return a new generator of the seed."""
    # Every part of an answer has its own, so leaving one out does not change another's flips.
    return np.random.default_rng(SEED)


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Values summed per cluster; the mean is that over groups of the ratio (sum / count) within each group.

    `sums` is float64 (n_clusters, n_columns), `counts` float64 (n_clusters,), `groups` int64 (n_clusters,) from 0.
    One group: the mean over queries (micro). A group per repository: the mean over repositories (macro).
    """

    sums: FloatArray
    counts: FloatArray
    groups: NDArray[np.int64]

    @classmethod
    def micro(cls, values: FloatArray, clusters: Sequence[Hashable]) -> Self:
        """Mean over queries; `values` is (n_queries, n_columns) or (n_queries,), `clusters` names each query's."""
        sums, counts = _cluster_sums(values, clusters)
        return cls(sums, counts, np.zeros(len(counts), dtype=np.int64))

    @classmethod
    def of(cls, values: FloatArray, clusters: Sequence[Hashable], groups: Sequence[Hashable], over: str) -> Self:
        """Mean over queries (`micro`), or over the groups' means (`macro`): a cluster in two groups is one in each."""
        if over == "micro":
            return cls.micro(values, clusters)
        pairs = list(zip(groups, clusters, strict=True))
        sums, counts = _cluster_sums(values, pairs)
        names = {group: i for i, group in enumerate(dict.fromkeys(groups))}
        return cls(sums, counts, np.array([names[group] for group, _ in dict.fromkeys(pairs)], dtype=np.int64))

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.counts)

    @property
    def n_groups(self) -> int:
        """Number of groups whose means are averaged."""
        return int(self.groups.max()) + 1

    def members(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield (sums, counts) of each group's clusters."""
        if self.n_groups == 1:
            yield self.sums, self.counts
            return
        for group in range(self.n_groups):
            inside = self.groups == group
            yield self.sums[inside], self.counts[inside]

    def mean(self) -> FloatArray:
        """The mean of each column, float64 (n_columns,)."""
        means = np.array([s.sum(axis=0) / n.sum() for s, n in self.members()])
        return np.asarray(means.mean(axis=0), dtype=np.float64)

    def parts(self) -> tuple[FloatArray, FloatArray]:
        """Return what each cluster adds to the mean, (n_clusters, n_columns), and its weight in it, (n_clusters,)."""
        return self.sums / self._whole()[:, None], self.weights

    @property
    def weights(self) -> FloatArray:
        """The weight of each cluster in the mean, (n_clusters,)."""
        return np.asarray(self.counts / self._whole())

    def _whole(self) -> FloatArray:
        return np.asarray(np.bincount(self.groups, self.counts)[self.groups] * self.n_groups, dtype=np.float64)


def _cluster_sums(values: FloatArray, clusters: Sequence[Hashable]) -> tuple[FloatArray, FloatArray]:
    """Sums (n_clusters, n_columns) and numbers (n_clusters,) of the values of each cluster, by first appearance."""
    table = values.reshape(len(values), -1)
    order = {cluster: i for i, cluster in enumerate(dict.fromkeys(clusters))}
    index = np.array([order[cluster] for cluster in clusters], dtype=np.int64)
    sums = np.zeros((len(order), table.shape[1]))
    for column in range(table.shape[1]):
        sums[:, column] = np.bincount(index, table[:, column], minlength=len(order))
    return sums, np.bincount(index, minlength=len(order)).astype(np.float64)


def bounded(flipped: Flipped, n_clusters: int) -> list[Interval]:
    """The interval of each column; None where an end is infinite, or the clusters are too few."""
    if n_clusters < FEWEST_CLUSTERS:
        return [None] * len(flipped.low)
    ends = zip(flipped.low.tolist(), flipped.high.tolist(), strict=True)
    return [(low, high) if isfinite(low) and isfinite(high) else None for low, high in ends]


def mean_intervals(
    values: FloatArray,
    clusters: Sequence[Hashable],
    groups: Sequence[Hashable],
    over: str,
    *,
    flips: int = INTERVAL_FLIPS,
) -> tuple[list[float], list[Interval]]:
    """Mean of each column of values (n_queries, n_columns), and its 95 % interval: every mean that flips do not reject.

    `over` is `micro`, the mean over queries, or `macro`, that over `groups` (repositories), which names each query's.
    Differences of two runs take `FLIPS`, so that their interval is the one that `compare` prints.
    """
    sample = Sample.of(values, clusters, groups, over)
    flipped = flip_signs(*sample.parts(), seeded(), flips=flips)
    return sample.mean().tolist(), bounded(flipped, sample.n_clusters)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment (1979), in the order given; controls the family-wise error rate."""
    p, order = np.asarray(p_values, dtype=np.float64), np.argsort(p_values, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, np.arange(len(p), 0, -1) * p[order]))
    return [*map(float, adjusted)]


def robust_error(sample: Sample) -> tuple[FloatArray, float]:
    """The CR2 standard error of each column's mean over groups, (n_columns,), and the degrees of freedom.

    Each group has at least two clusters, of any size.
    """
    traces = squares = 0.0
    for _, counts in sample.members():
        # Satterthwaite: twice the squared mean over the variance of the estimate, with Bell and McCaffrey's matrix.
        # With 42, 35, 22, … queries a file they are far fewer than the files.
        share = counts / counts.sum()
        raised = 1 / (1 - share)
        traces += 1 / counts.sum()
        both = (raised * share**2).sum() ** 2 - (raised**2 * share**4).sum()
        squares += ((share**2).sum() + both) / counts.sum() ** 2
    return np.sqrt(np.diag(robust_covariance(sample))), float(traces**2 / squares)


def robust_covariance(sample: Sample) -> FloatArray:
    """The covariance of the columns' means over groups, float64 (n_columns, n_columns); its diagonal is `error`^2.

    It is CR2 (Bell & McCaffrey 2002). NaN where a group has one cluster.
    """
    k = sample.sums.shape[1]
    covariance = np.zeros((k, k))
    for sums, counts in sample.members():
        n = counts.sum()
        if len(counts) < 2:
            return np.full_like(covariance, np.nan)
        # Queries are independent in the working model, so each residual is divided by sqrt(1 - the cluster's share).
        residuals = (sums - counts[:, None] * (sums.sum(axis=0) / n)) / np.sqrt(1 - counts / n)[:, None]
        covariance += residuals.T @ residuals / n**2
    return covariance / sample.n_groups**2


def effective_clusters(sample: Sample) -> float:
    """Return how many clusters of equal weight give as much evidence: 1 / the sum of the mean's squared weights."""
    return float(1 / (sample.weights**2).sum())
