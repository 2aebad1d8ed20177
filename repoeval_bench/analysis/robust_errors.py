"""Standard errors over unequal clusters, with the degrees of freedom that they really have.

CR2 errors (Bell & McCaffrey 2002) of a mean whose queries are independent in the working model. A cluster's residual is
divided by sqrt(1 - its share of its group's queries). The degrees of freedom are Satterthwaite's of that estimate: with
42, 35, 22, … queries a file they are far fewer than the files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from repoeval_bench.analysis.sign_flips import FloatArray
    from repoeval_bench.analysis.statistics import Sample


@dataclass(frozen=True, slots=True, eq=False)
class RobustError:
    """`error` is float64 (n_columns,), NaN where a group has one cluster; `df` its degrees of freedom."""

    error: FloatArray
    df: float


def robust_error(sample: Sample) -> RobustError:
    """The CR2 standard error of each column's mean over groups."""
    traces = squares = 0.0
    for _, counts in sample.members():
        if len(counts) < 2:
            return RobustError(np.full(sample.sums.shape[1], np.nan), 0.0)
        share = counts / counts.sum()
        raised = 1 / (1 - share)
        traces += 1 / counts.sum()
        both = (raised * share**2).sum() ** 2 - (raised**2 * share**4).sum()
        squares += ((share**2).sum() + both) / counts.sum() ** 2
    return RobustError(np.sqrt(np.diag(robust_covariance(sample))), float(traces**2 / squares))


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
