"""Intervals of shares and of quantiles over clustered queries, where a bootstrap claims too much."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.analysis.robust_errors import robust_error
from repoeval_bench.analysis.statistics import Sample

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import HalfOpen, Interval
    from repoeval_bench.analysis.sign_flips import FloatArray

_TAIL = 0.025


def effective_size(sample: Sample) -> float | None:
    """Return how many independent yes/no answers carry as much as these clustered ones (Korn & Graubard 1998).

    Their number over the design effect (at least 1: clusters are never taken to carry more), times (t of n - 1 / t of
    the robust error's degrees of freedom)^2. Where all answers are equal the spread is not known, and each cluster
    counts once. None for one cluster.
    """
    from scipy.special import stdtrit

    if sample.n_clusters < 2:
        return None
    n, p, error = float(sample.counts.sum()), float(sample.mean()[0]), robust_error(sample)
    if not 1e-12 < p < 1 - 1e-12:
        return float(sample.n_clusters)
    design_effect = max(1.0, float(error.error[0]) ** 2 * (n - 1) / (p * (1 - p)))
    quantiles = stdtrit(np.array([n - 1, error.df]), 1 - _TAIL)
    return float(n / design_effect * (quantiles[0] / quantiles[1]) ** 2)


def share_interval(answers: FloatArray | Sequence[float], clusters: Sequence[Hashable]) -> Interval:
    """95 % interval of the share of ones among 0/1 answers: Clopper-Pearson at the effective size.

    For independent answers it is Clopper & Pearson's (1934). None for one cluster.
    """
    from scipy.special import betaincinv

    sample = Sample.micro(np.asarray(answers, dtype=np.float64), clusters)
    size = effective_size(sample)
    if size is None:
        return None
    ones = size * float(sample.mean()[0])
    zeros = size - ones
    low = 0.0 if ones < 1e-9 else float(betaincinv(ones, zeros + 1, _TAIL))
    high = 1.0 if zeros < 1e-9 else float(betaincinv(ones + 1, zeros, 1 - _TAIL))
    return low, high


def quantile_interval(values: FloatArray | Sequence[float], clusters: Sequence[Hashable], q: float) -> HalfOpen:
    """95 % interval of the q-quantile from order statistics, at the effective size (Woodruff 1952 for clusters).

    An end is None where there are too few values to set it: the largest of 20 is below the true p90 in one sample of
    eight. None in place of both for one cluster.
    """
    from scipy.special import bdtr

    ordered = np.sort(np.asarray(values, dtype=np.float64))
    below = np.asarray(values, dtype=np.float64) <= np.quantile(ordered, q)
    size = effective_size(Sample.micro(below.astype(np.float64), clusters))
    if size is None:
        return None
    n = len(ordered)
    m = max(1, int(size + 1e-6))
    chances = bdtr(np.arange(m + 1), m, q)
    lowest = int(np.searchsorted(chances, _TAIL, side="right"))
    highest = int(np.searchsorted(chances, 1 - _TAIL, side="left")) + 1
    low = float(ordered[(lowest - 1) * n // m]) if lowest >= 1 else None
    high = float(ordered[-(-highest * n // m) - 1]) if highest <= m else None
    return low, high
