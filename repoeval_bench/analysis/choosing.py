"""Which of several runs to choose: the probability of being best, runs that cannot be told apart, what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Literal

import numpy as np

from repoeval_bench.analysis.robust_errors import POWER, robust_error
from repoeval_bench.analysis.sign_flips import ALPHA, flip_signs
from repoeval_bench.analysis.statistics import DRAWS, Sample, holm, resampled_means

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

_TIE = 12
"""Digits at which two resampled means are the same: a sum's rounding error must not break a tie."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What can be said of k runs, best first.

    `order` are the runs' positions, by mean and then by cost. `probabilities` are, in that order, the shares of
    resamples in which a run has the highest mean (ties are shared out). `alike` are the positions of the runs that the
    test does not tell from the best (Holm over the k - 1 tests), the best among them. `more_clusters` is how many more
    files like these would show the observed difference between the first two with 80 % power: 0 where it is shown,
    None where they do not differ or the error is unknown.
    """

    order: tuple[int, ...]
    probabilities: tuple[float, ...]
    alike: tuple[int, ...]
    more_clusters: int | None


def choose(
    values: NDArray[np.float64],
    clusters: Sequence[Hashable],
    groups: Sequence[Hashable],
    rng: Callable[[], np.random.Generator],
    *,
    over: Literal["micro", "macro"],
    costs: Sequence[float] | None = None,
) -> Choice:
    """Judge runs by one measure, float64 (n_queries, n_runs), clusters resampled within their group.

    `costs` orders runs of one mean, the cheaper first: the tokens that a query reads, say. `rng` makes generators.
    """
    sample = _sample(values, clusters, groups, over)
    means = np.round(sample.mean(), _TIE)
    order = sorted(range(len(means)), key=lambda run: (-means[run], costs[run] if costs else 0.0, run))
    resampled = np.round(resampled_means(sample, rng(), DRAWS), _TIE)
    best = resampled == resampled.max(axis=1, keepdims=True)
    probabilities = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
    first, others = order[0], order[1:]
    against = _sample(values[:, [first]] - values[:, others], clusters, groups, over)
    adjusted = holm(flip_signs(*against.parts(), rng()).p.tolist()) if others else []
    alike = (first, *(run for run, p in zip(others, adjusted, strict=True) if p >= ALPHA))
    return Choice(
        order=tuple(order),
        probabilities=tuple(float(probabilities[run]) for run in order),
        alike=alike,
        more_clusters=_more_clusters(against, adjusted) if others else None,
    )


def _sample(values: NDArray[np.float64], clusters: Sequence[Hashable], groups: Sequence[Hashable], over: str) -> Sample:
    return Sample.micro(values, clusters) if over == "micro" else Sample.macro(values, clusters, groups)


def _more_clusters(against: Sample, adjusted: Sequence[float]) -> int | None:
    """How many more clusters would show the difference between the best and the second run."""
    if adjusted[0] < ALPHA:
        return 0
    from scipy.special import ndtri

    difference, found = float(against.mean()[0]), robust_error(against)
    error = float(found.error[0])
    if found.df <= 0 or not error > 0 or difference == 0:
        return None
    # With more files the t quantiles come near those of the normal distribution.
    wanted = (float(ndtri(1 - ALPHA / 2) + ndtri(POWER)) * error / difference) ** 2
    return max(1, ceil(against.n_clusters * (wanted - 1)))
