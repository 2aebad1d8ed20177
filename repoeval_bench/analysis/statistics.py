"""Statistics over clusters. Queries of one file resemble each other, so files are resampled, never queries.

Everything works on sums per cluster, with one column per measure, so that all measures of all pairs share their
draws: a measure's numbers do not depend on which others are asked for. scipy does what scipy does; what is written
here is the clustering. Where every cluster is one query, results are those of `scipy.stats.bootstrap` and
`permutation_test`, to the digit for the former.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from repoeval_bench.analysis.resampling import drawn, times_drawn

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

DRAWS = 10_000
LEVEL = 0.95
ALPHA = 0.05
POWER = 0.8
SEED = 20_240_601
"""Of every interval and test: a command that is repeated gives the same numbers."""

_ROWS = 1024
"""Draws that are worked on at once: arrays in the processor's cache are three times as fast as fresh memory."""

_DIGITS = 12
"""Resampled means are compared at so many digits: a sum's rounding error must not break a tie."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Values summed per cluster; the mean is that over groups of the ratio (sum / count) within each group.

    `sums` is float64 (n_clusters, n_columns), `counts` float64 (n_clusters,), `groups` int64 (n_clusters,) from 0.
    One group: the mean over queries (micro). A group per repository: the mean over repositories (macro), and
    clusters are resampled within their repository.
    """

    sums: FloatArray
    counts: FloatArray
    groups: NDArray[np.int64]

    @classmethod
    def micro(cls, values: FloatArray, clusters: Sequence[Hashable]) -> Self:
        """Mean over queries; `values` is (n_queries, n_columns) or (n_queries,), `clusters` names each query's."""
        sums, counts = cluster_sums(values, clusters)
        return cls(sums, counts, np.zeros(len(counts), dtype=np.int64))

    @classmethod
    def macro(cls, values: FloatArray, clusters: Sequence[Hashable], groups: Sequence[Hashable]) -> Self:
        """Mean over the groups' means; a cluster that is in two groups counts as one in each."""
        pairs = list(zip(groups, clusters, strict=True))
        sums, counts = cluster_sums(values, pairs)
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
        """(sums, counts) of each group's clusters."""
        for group in range(self.n_groups):
            inside = self.groups == group
            yield self.sums[inside], self.counts[inside]

    def mean(self) -> FloatArray:
        """The mean of each column, float64 (n_columns,)."""
        means = np.array([s.sum(axis=0) / n.sum() for s, n in self.members()])
        return np.asarray(means.mean(axis=0), dtype=np.float64)

    def parts(self) -> tuple[FloatArray, FloatArray]:
        """What each cluster adds to the mean, (n_clusters, n_columns), and its weight in it, (n_clusters,)."""
        whole = np.bincount(self.groups, self.counts)[self.groups] * self.n_groups
        return self.sums / whole[:, None], self.counts / whole

    def standard_error(self) -> FloatArray:
        """Cluster-robust standard error of the mean (linearised ratio, G/(G-1)); NaN where a group has one cluster.

        A group of one cluster says nothing about its spread, which is not certainty.
        """
        variance = np.zeros(self.sums.shape[1])
        for s, n in self.members():
            rest = s - n[:, None] * (s.sum(axis=0) / n.sum())
            g = len(n)
            variance += np.full_like(variance, np.nan) if g < 2 else g / (g - 1) * (rest**2).sum(axis=0) / n.sum() ** 2
        return np.sqrt(variance) / self.n_groups

    @property
    def degrees_of_freedom(self) -> int:
        """Clusters less groups."""
        return self.n_clusters - self.n_groups


def cluster_sums(values: FloatArray | Sequence[float], clusters: Sequence[Hashable]) -> tuple[FloatArray, FloatArray]:
    """Sums (n_clusters, n_columns) and numbers (n_clusters,) of the values of each cluster, float64.

    Clusters are in the order of their first appearance; values without columns are one column.
    """
    table = np.asarray(values, dtype=np.float64)
    table = table.reshape(len(table), -1)
    order = {cluster: i for i, cluster in enumerate(dict.fromkeys(clusters))}
    index = np.array([order[cluster] for cluster in clusters], dtype=np.int64)
    sums = np.zeros((len(order), table.shape[1]))
    for column in range(table.shape[1]):
        sums[:, column] = np.bincount(index, table[:, column], minlength=len(order))
    return sums, np.bincount(index, minlength=len(order)).astype(np.float64)


def bca_intervals(sample: Sample, rng: np.random.Generator, draws: int = DRAWS) -> list[tuple[float, float] | None]:
    """95 % interval of each column's mean, clusters resampled with replacement within their group.

    Bias-corrected and accelerated (Efron 1987; over groups Davison & Hinkley 1997, 5.3), the acceleration from
    leaving out one cluster at a time. Where draws all fall to one side, so that BCa is undefined, percentiles are
    taken. None where no group has two clusters: one cluster says nothing about the spread between clusters.
    """
    from scipy.special import ndtr, ndtri

    if np.bincount(sample.groups).max() < 2:
        return [None] * sample.sums.shape[1]
    point = np.round(sample.mean(), _DIGITS)
    means = np.round(resampled_means(sample, rng, draws), _DIGITS)
    below = ((means < point).mean(axis=0) + (means <= point).mean(axis=0)) / 2
    bias, acceleration = ndtri(below), _acceleration(sample)
    ordered = np.sort(means.T, axis=1)
    found: list[tuple[float, float] | None] = []
    for column in range(len(point)):
        ends = []
        for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2):
            shifted = bias[column] + ndtri(tail)
            level = ndtr(bias[column] + shifted / (1 - acceleration[column] * shifted))
            ends.append(level if np.isfinite(bias[column]) and np.isfinite(level) else tail)
        low, high = np.quantile(ordered[column], ends)
        found.append((float(low), float(high)))
    return found


def mean_intervals(
    values: FloatArray, clusters: Sequence[Hashable], groups: Sequence[Hashable], over: str, draws: int = DRAWS
) -> tuple[list[float], list[tuple[float, float] | None]]:
    """Mean of each column of values (n_queries, n_columns) and its interval, as `bca_intervals` has it.

    `over` is `micro`, the mean over queries, or `macro`, that over `groups` (repositories), which names each query's.
    """
    sample = Sample.micro(values, clusters) if over == "micro" else Sample.macro(values, clusters, groups)
    return sample.mean().tolist(), bca_intervals(sample, np.random.default_rng(SEED), draws)


def resampled_means(sample: Sample, rng: np.random.Generator, draws: int) -> FloatArray:
    """Means of resampled clusters, float64 (draws, n_columns)."""
    total = np.zeros((draws, sample.sums.shape[1]))
    for s, n in sample.members():
        g = len(n)
        both = np.column_stack([s, n])
        start = 0
        for index in drawn(rng, g, np.uint32, draws, g):
            for rows in _parts(index):
                # How often each cluster is drawn is all that its sum needs: a product of matrices does the rest.
                resampled = times_drawn(rows) @ both
                total[start : start + len(rows)] += resampled[:, :-1] / resampled[:, -1:]
                start += len(rows)
    return total / sample.n_groups


def _parts(block: NDArray[Any]) -> list[NDArray[Any]]:
    """Rows of a block, as many at once as are worked on in the processor's cache."""
    return np.split(block, range(_ROWS, len(block), _ROWS))


def _acceleration(sample: Sample) -> FloatArray:
    cubes = np.zeros(sample.sums.shape[1])
    squares = np.zeros(sample.sums.shape[1])
    for s, n in sample.members():
        g = len(n)
        if g < 2:
            continue
        without = (s.sum(axis=0) - s) / (n.sum() - n)[:, None] / sample.n_groups
        influence = (g - 1) * (without.mean(axis=0) - without)
        cubes += (influence**3).sum(axis=0) / g**3
        squares += (influence**2).sum(axis=0) / g**2
    # Below that there is rounding error alone, and a ratio of two such sums would be any number.
    return np.divide(cubes, 6 * squares**1.5, out=np.zeros_like(cubes), where=squares > 1e-24)


def sign_flip_p(sample: Sample, rng: np.random.Generator, draws: int = DRAWS) -> FloatArray:
    """Two-sided p of "no difference", float64 (n_columns,): each cluster's differences keep or flip sign as one.

    Exact where a column has so few clusters with a difference that 2^n is at most `draws`; else drawn, the observed
    signs counted among the draws. 1.0 where fewer than two clusters differ: one flip shows nothing.
    """
    (p,) = sign_flip_ps([sample], rng, draws)
    return p


def sign_flip_ps(samples: Sequence[Sample], rng: np.random.Generator, draws: int = DRAWS) -> list[FloatArray]:
    """`sign_flip_p` of several means over the same clusters in the same order, from one set of draws.

    Each is what it would be alone with this generator; drawing the signs once saves what it costs.
    """
    widths = np.cumsum([sample.sums.shape[1] for sample in samples])
    p = _flip(np.column_stack([sample.parts()[0] for sample in samples]), rng, draws, sides=2)
    return np.split(p, widths[:-1])


def equivalence_p(sample: Sample, margin: float, rng: np.random.Generator, draws: int = DRAWS) -> FloatArray:
    """The larger p of two one-sided sign-flip tests of |mean| >= margin, float64 (n_columns,).

    Each tests the differences moved by the margin (Schuirmann 1987); a small p says "equal within the margin".
    """
    parts, weights = sample.parts()
    moved = margin * weights[:, None]
    state = rng.bit_generator.state
    above = _flip(parts + moved, rng, draws, sides=1)
    rng.bit_generator.state = state
    return np.maximum(above, _flip(moved - parts, rng, draws, sides=1))


def _flip(parts: FloatArray, rng: np.random.Generator, draws: int, sides: int) -> FloatArray:
    p = np.ones(parts.shape[1])
    differing = (np.abs(parts) > 1e-15).sum(axis=0)
    few = differing <= np.log2(draws)
    for column in np.flatnonzero(few & (differing >= 2)):
        values = parts[np.abs(parts[:, column]) > 1e-15, column]
        signs = 1.0 - 2.0 * ((np.arange(2 ** len(values))[:, None] >> np.arange(len(values))) & 1)
        p[column] = _as_extreme(signs @ values[:, None], values[:, None], sides)[0] / len(signs)
    many = np.flatnonzero(~few)
    if many.size:
        chosen = parts[:, many]
        extreme = np.zeros(len(many))
        observed = chosen.sum(axis=0)
        for flipped in drawn(rng, 2, np.int8, draws - 1, len(parts)):
            for rows in _parts(flipped):
                # What is flipped is missing from the sum, and once more on the other side.
                extreme += _as_extreme(observed - 2 * (rows.astype(np.float64) @ chosen), chosen, sides)
        p[many] = (extreme + 1) / draws
    return p


def _as_extreme(totals: FloatArray, parts: FloatArray, sides: int) -> FloatArray:
    observed = parts.sum(axis=0)
    # The same sum in another order differs in its last bits; it is as extreme all the same.
    slack = 1e-12 * np.abs(parts).sum(axis=0)
    if sides == 2:
        return np.asarray((np.abs(totals) >= np.abs(observed) - slack).sum(axis=0), dtype=np.float64)
    return np.asarray((totals >= observed - slack).sum(axis=0), dtype=np.float64)


def minimum_detectable(sample: Sample, tests: int = 1) -> list[float | None]:
    """The true difference that one such test would show with 80 % power, for each column.

    (t quantile of 1 - alpha / (2 tests) + that of 0.8) standard errors, alpha = 0.05. `tests` is the size of the
    family: what passes at alpha / tests passes Holm with any others. None where the error is unknown or 0.
    """
    from scipy.special import stdtrit

    if sample.degrees_of_freedom < 1:
        return [None] * sample.sums.shape[1]
    df = sample.degrees_of_freedom
    times = float(stdtrit(df, 1 - ALPHA / (2 * tests)) + stdtrit(df, POWER))
    return [times * float(error) if error > 0 else None for error in sample.standard_error()]


def beside(sample: Sample) -> list[tuple[float, float]]:
    """(p of Student's t, p of Wilcoxon's signed ranks) on the cluster means, for each column; they decide nothing.

    1.0 where a test is undefined: fewer than two clusters, or no cluster differs.
    """
    from scipy.special import stdtr

    found = []
    for means in (sample.sums / sample.counts[:, None]).T:
        moved = np.round(means, _DIGITS)
        if len(moved) < 2 or not moved.any():
            found.append((1.0, 1.0))
            continue
        if np.ptp(moved) == 0:
            t_p = 0.0
        else:
            t = moved.mean() / (moved.std(ddof=1) / sqrt(len(moved)))
            t_p = 2 * float(stdtr(len(moved) - 1, -abs(t)))
        found.append((t_p, _wilcoxon_p(moved)))
    return found


def _wilcoxon_p(values: FloatArray) -> float:
    """P of Wilcoxon's signed ranks, two-sided, zeros left out, as `scipy.stats.wilcoxon` has it.

    From 51 values on that is the normal approximation with its correction for ties, and scipy.stats, which takes half
    a second to be imported, is not needed.
    """
    if len(values) <= 50:
        from scipy.stats import wilcoxon

        return float(wilcoxon(values).pvalue)
    from scipy.special import ndtr

    moved = values[values != 0]
    n = len(moved)
    _, group, sizes = np.unique(np.abs(moved), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[group]
    above = float(ranks[moved > 0].sum())
    smaller = min(above, n * (n + 1) / 2 - above)
    variance = (n * (n + 1) * (2 * n + 1) - float((sizes**3 - sizes).sum()) / 2) / 24
    return 2 * float(ndtr((smaller - n * (n + 1) / 4) / sqrt(variance)))


def effect_sizes(values: FloatArray) -> list[float | None]:
    """Cohen's d of paired differences (n_queries, n_columns): their mean over their standard deviation.

    0.0 where all are 0; None where the deviation is unknown (one query) or 0 beside a difference.
    """
    found: list[float | None] = []
    for column in values.T:
        if not column.any():
            found.append(0.0)
            continue
        deviation = float(column.std(ddof=1)) if len(column) > 1 else 0.0
        found.append(float(column.mean()) / deviation if deviation > 1e-12 else None)
    return found


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment (1979), in the order given; controls the family-wise error rate."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for step, i in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - step) * p_values[i]))
        adjusted[i] = running
    return adjusted
