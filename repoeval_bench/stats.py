"""Statistics over clusters. Queries of one file resemble each other, so files are resampled, never queries.

scipy does what scipy does; what is written here is the clustering.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

DRAWS = 10_000
LEVEL = 0.95


def cluster_sums(
    values: Sequence[float], clusters: Sequence[Hashable]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum and number of the values in each cluster, float64 (n_clusters,) each, in order of first appearance."""
    order = {cluster: i for i, cluster in enumerate(dict.fromkeys(clusters))}
    index = [order[cluster] for cluster in clusters]
    sums = np.bincount(index, weights=np.asarray(values, dtype=np.float64), minlength=len(order))
    counts = np.bincount(index, minlength=len(order))
    return sums.astype(np.float64), counts.astype(np.float64)


def bca_interval(
    sums: NDArray[np.float64], counts: NDArray[np.float64], rng: np.random.Generator, draws: int = DRAWS
) -> tuple[float, float]:
    """95 % interval of the mean over queries, clusters resampled with replacement.

    Bias-corrected and accelerated (Efron 1987), the acceleration from leaving out one cluster at a time. Where
    it is not defined (fewer than two clusters, or all means alike) the interval is the point itself.
    """
    from scipy.stats import bootstrap

    point = float(sums.sum() / counts.sum())
    if len(sums) < 2 or np.ptp(sums / counts) == 0:
        return point, point

    def mean(s: NDArray[np.float64], n: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
        ratio: NDArray[np.float64] = s.sum(axis=axis) / n.sum(axis=axis)
        return ratio

    with warnings.catch_warnings():
        # Warned of where too few clusters leave BCa undefined; the result is checked below.
        warnings.simplefilter("ignore")
        result = bootstrap(
            (sums, counts), mean, paired=True, vectorized=True, n_resamples=draws, batch=1000,
            confidence_level=LEVEL, method="BCa", rng=rng,
        )  # fmt: skip
    low, high = float(result.confidence_interval.low), float(result.confidence_interval.high)
    if not (np.isfinite(low) and np.isfinite(high)):
        low, high = (float(q) for q in np.quantile(result.bootstrap_distribution, [0.025, 0.975]))
    return low, high


def sign_flip_p(sums: NDArray[np.float64], rng: np.random.Generator, draws: int = DRAWS) -> float:
    """Two-sided p of "no difference": each cluster's summed difference keeps or flips its sign as one.

    Exact where 2^n_clusters is at most `draws`; 1.0 where fewer than two clusters differ: one flip shows nothing.
    """
    from scipy.stats import permutation_test

    moved = sums[sums != 0]
    if len(moved) < 2:
        return 1.0

    def total(s: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
        summed: NDArray[np.float64] = s.sum(axis=axis)
        return summed

    result = permutation_test(
        (moved,), total, permutation_type="samples", vectorized=True, n_resamples=draws - 1, batch=1000, rng=rng
    )
    return float(result.pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment (1979), in the order given; controls the family-wise error rate."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for step, i in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - step) * p_values[i]))
        adjusted[i] = running
    return adjusted
