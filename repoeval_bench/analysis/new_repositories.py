"""A difference as a statement about new repositories: repositories vary, not only their files.

"On these repositories" flips signs by file within the repositories at hand. "On new repositories" takes each
repository's mean difference as one observation, whatever the number of its tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.analysis.records import NewRepositories, RepositoryEffect
from repoeval_bench.analysis.robust_errors import robust_error
from repoeval_bench.analysis.sign_flips import flip_signs
from repoeval_bench.analysis.special import special
from repoeval_bench.analysis.statistics import Sample, bounded

LEVEL = 0.95

_DRAWN = 250
"""Quantiles that stand for a distribution: so many variances, and so many deviations for each of them."""


def new_repositories(
    differences: NDArray[np.float64],
    files: Sequence[Hashable],
    repositories: Sequence[str],
    rng: Callable[[], np.random.Generator],
) -> list[NewRepositories]:
    """Judge each column of paired differences, float64 (n_queries, n_columns), each query with its file and repository.

    `rng` makes the generator of each test.
    """
    rows_of: dict[str, list[int]] = {}
    for row, name in enumerate(repositories):
        rows_of.setdefault(name, []).append(row)
    effects, errors = [], []
    for name, rows in rows_of.items():
        sample = Sample.micro(differences[rows], [files[row] for row in rows])
        cis = bounded(flip_signs(*sample.parts(), rng()), sample.n_clusters)
        effects.append(
            [
                RepositoryEffect(
                    repository=name, difference=mean, ci=ci, n_queries=len(rows), n_files=sample.n_clusters
                )
                for mean, ci in zip(sample.mean().tolist(), cis, strict=True)
            ]
        )
        errors.append(robust_error(sample).error)
    means = np.array([[effect.difference for effect in of_repository] for of_repository in effects])
    weights = np.full(len(means), 1 / len(means))
    flipped = flip_signs(means * weights[:, None], weights, rng())
    records = []
    for i, ci in enumerate(bounded(flipped, len(means))):
        deviation, prediction, two_level = _between(means[:, i], np.array(errors)[:, i])
        records.append(
            NewRepositories(
                difference=float(means[:, i].mean()),
                ci=ci,
                p=float(flipped.p[i]),
                deviation=deviation,
                prediction=prediction,
                two_level=two_level,
                repositories=tuple(of_repository[i] for of_repository in effects),
            )
        )
    return records


def _between(
    means: NDArray[np.float64], errors: NDArray[np.float64]
) -> tuple[float | None, tuple[float, float] | None, tuple[float, float] | None]:
    """Return (deviation, prediction, two-level interval) from repositories' means and errors; None for fewer than 3."""
    n = len(means)
    if n < 3:
        return None, None, None
    spread = float(means.var(ddof=1))
    known = errors[~np.isnan(errors)]
    # A repository of one file does not show its own error, so the others' is used.
    within = float((known**2).mean()) if known.size else 0.0
    middle = float(means.mean())
    half = float(special().stdtrit(n - 1, (1 + LEVEL) / 2)) * sqrt(max(spread, within) / n)
    # A prediction for one repository is never narrower than the interval of the mean.
    ahead = max(half, half_prediction(spread, within, n))
    return sqrt(max(0.0, spread - within)), (middle - ahead, middle + ahead), (middle - half, middle + half)


def half_prediction(spread: float, within: float, n: int) -> float:
    """Return half the width of the 95 % prediction interval for the true difference of a new repository.

    `spread` is the variance of the `n` repositories' means, `within` the part of it that comes from their files. As the
    spread of few repositories is uncertain, it is replaced by the quantiles of (n - 1) `spread` / chi-squared, and the
    interval holds 95 % over all of them (Nagashima et al. 2019). Without variance within repositories it is the
    interval of Student's t.
    """
    left = (np.arange(_DRAWN) + 0.5) / _DRAWN
    both = (n - 1) * spread / special().chdtri(n - 1, 1 - left)
    deviations = np.sqrt(np.maximum(0.0, both - within) + both / n)
    drawn = np.sort(np.multiply.outer(deviations, special().ndtri((1 + left) / 2)).ravel())
    return float(drawn[ceil(LEVEL * drawn.size) - 1])
