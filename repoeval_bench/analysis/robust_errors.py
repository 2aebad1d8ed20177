"""Standard errors over unequal clusters, with the degrees of freedom that they really have.

CR2 errors (Bell & McCaffrey 2002) of a mean whose queries are independent in the working model. A cluster's residual is
divided by sqrt(1 - its share of its group's queries). The degrees of freedom are Satterthwaite's of that estimate: with
42, 35, 22, … queries a file they are far fewer than the files.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.analysis.sign_flips import ALPHA, EXACT_CLUSTERS, FloatArray, fewest_clusters
from repoeval_bench.analysis.special import special

if TYPE_CHECKING:
    from repoeval_bench.analysis.statistics import Sample


POWER = 0.8

_FEW_FLIPS = 8
"""If at most this many flips may be as extreme, quantiles of t promise more power than the sign-flip test has."""

_DATA_SETS = 500
"""Simulated data sets for that power, whose Monte-Carlo error is then 0.018."""


@dataclass(frozen=True, slots=True, eq=False)
class RobustError:
    """`error` is float64 (n_columns,), NaN where a group has one cluster; `df` its degrees of freedom."""

    error: FloatArray
    df: float


def robust_error(sample: Sample) -> RobustError:
    """The CR2 standard error of each column's mean over groups."""
    blocks = [_robust_error(block) for block in sample.blocks()]
    return RobustError(np.concatenate([block.error for block in blocks]), blocks[0].df)


def _robust_error(sample: Sample) -> RobustError:
    variance = np.zeros(sample.sums.shape[1])
    traces = squares = 0.0
    for sums, counts in sample.members():
        n = counts.sum()
        share = counts / n
        if len(counts) < 2:
            return RobustError(np.full_like(variance, np.nan), 0.0)
        residuals = sums - counts[:, None] * (sums.sum(axis=0) / n)
        raised = 1 / (1 - share)
        variance += (residuals**2 * raised[:, None]).sum(axis=0) / n**2
        traces += 1 / n
        both = (raised * share**2).sum() ** 2 - (raised**2 * share**4).sum()
        squares += ((share**2).sum() + both) / n**2
    return RobustError(np.sqrt(variance) / sample.n_groups, float(traces**2 / squares))


def robust_covariance(sample: Sample) -> FloatArray:
    """The CR2 covariance of the columns' means over groups, float64 (n_columns, n_columns); its diagonal is `error`^2.

    NaN where a group has one cluster.
    """
    k = sample.sums.shape[1]
    covariance = np.zeros((k, k))
    for sums, counts in sample.members():
        n = counts.sum()
        if len(counts) < 2:
            return np.full_like(covariance, np.nan)
        residuals = (sums - counts[:, None] * (sums.sum(axis=0) / n)) / np.sqrt(1 - counts / n)[:, None]
        covariance += residuals.T @ residuals / n**2
    return covariance / sample.n_groups**2


def effective_clusters(sample: Sample) -> float:
    """Return how many clusters of equal weight give as much evidence: 1 / the sum of the mean's squared weights."""
    return float(1 / (sample.weights**2).sum())


def minimum_detectable(sample: Sample, tests: int = 1) -> list[float | None]:
    """The true difference that one test finds with 80 % power, for each column.

    (t quantile of 1 - alpha / (2 tests) + that of 0.8) robust errors, alpha = 0.05. `tests` is the size of the family:
    what passes at alpha / tests passes Holm whatever the others are. With few clusters nearly all of them have to
    agree, which takes a larger difference: that one is returned. None if the error is unknown or 0, or if the clusters
    are too few to show any difference in that many tests.
    """
    errors = robust_error(sample)
    if errors.df <= 0 or sample.n_clusters < fewest_clusters(tests):
        return [None] * sample.sums.shape[1]
    times = float(special().stdtrit(errors.df, 1 - ALPHA / (2 * tests)) + special().stdtrit(errors.df, POWER))
    if _extreme_flips(sample.n_clusters, tests) <= _FEW_FLIPS:
        times = max(times, _shown_by_flips(tuple(sample.counts.tolist()), tuple(sample.weights.tolist()), tests))
    return [times * float(error) if error > 0 else None for error in errors.error]


def _extreme_flips(n_clusters: int, tests: int) -> int:
    """Count how many of the 2^(n - 1) flips, mirror images aside, may be as extreme as what passes at alpha / tests."""
    return ceil(ALPHA / tests * 2 ** (n_clusters - 1)) - 1 if n_clusters <= EXACT_CLUSTERS else _FEW_FLIPS + 1


@cache
def _shown_by_flips(counts: tuple[float, ...], weights: tuple[float, ...], tests: int) -> float:
    """The true mean, in standard errors, that the sign-flip test over all flips shows with 80 % power.

    By simulation of clusters of independent normal queries, as the working model of the errors has them.
    """
    n = len(counts)
    share = np.array(weights)[:, None]
    noise = share / np.sqrt(np.array(counts))[:, None] * np.random.default_rng(n).standard_normal((n, _DATA_SETS))
    error = float(np.sqrt((share[:, 0] ** 2 / np.array(counts)).sum()))
    signs = 1 - 2.0 * ((np.arange(2 ** (n - 1))[:, None] >> np.arange(n)) & 1)
    most = _extreme_flips(n, tests)

    def power(times: float) -> float:
        sums = np.abs(signs @ (noise + times * error * share))
        return float(((sums >= sums[0] * (1 - 1e-12)).sum(axis=0) <= most).mean())

    low, high = 0.0, 1.0
    while power(high) < POWER:
        low, high = high, 2 * high
    while high - low > 0.02:
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high
