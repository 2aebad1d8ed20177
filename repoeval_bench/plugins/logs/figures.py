"""Figures with their intervals, in sections; a section that a log does not support says why."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from repoeval_bench.analysis.sign_flips import FloatArray, flip_signs
from repoeval_bench.analysis.statistics import SEED, Sample, bounded, holm, intervals, robust_error

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Interval


Kind = Literal["mean", "share", "change", "milliseconds"]


@dataclass(frozen=True, slots=True)
class Statistic:
    """One number, made of `n` items that `of` names (queries, chunks); `ci` is its 95 % interval.

    A change also has the means `before` and `after`, and `p` (sign-flip test over clusters, Holm-adjusted over its
    section).
    """

    name: str
    kind: Kind
    value: float
    _: KW_ONLY
    ci: Interval = None
    n: int
    of: str = "queries"
    before: float | None = None
    after: float | None = None
    p: float | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """Figures under one title; `missing` says in one sentence why there are none, `notes` what limits them.

    `stages` names the two means of a change.
    """

    name: str
    title: str
    _: KW_ONLY
    figures: tuple[Statistic, ...] = ()
    stages: tuple[str, str] = ("before", "after")
    notes: tuple[str, ...] = ()
    missing: str = ""


def mean_of(name: str, values: FloatArray, clusters: Sequence[Hashable]) -> Statistic:
    """Return the mean over queries with its interval by sign flips of clusters."""
    sample = Sample.micro(values, clusters)
    (ci,) = intervals(sample, np.random.default_rng(SEED))
    return Statistic(name, "mean", float(sample.mean()[0]), ci=ci, n=len(values))


def share_of(
    name: str, answers: FloatArray | Sequence[float], clusters: Sequence[Hashable], of: str = "queries"
) -> Statistic:
    """Share of ones among 0/1 answers, each of a cluster, with its interval."""
    ones = np.asarray(answers, dtype=np.float64)
    return Statistic(name, "share", float(ones.mean()), ci=share_interval(ones, clusters), n=len(ones), of=of)


def changes_of(
    before: Mapping[str, FloatArray], after: Mapping[str, FloatArray], clusters: Sequence[Hashable]
) -> list[Statistic]:
    """For each measure its change (after - before, paired by query) with interval and Holm-adjusted p."""
    sample = Sample.micro(np.column_stack([after[name] - before[name] for name in before]), clusters)
    flipped = flip_signs(*sample.parts(), np.random.default_rng(SEED))
    ends, adjusted = bounded(flipped, sample.n_clusters), holm(flipped.p.tolist())
    changes = []
    for name, mean, ci, p in zip(before, sample.mean(), ends, adjusted, strict=True):
        means = float(before[name].mean()), float(after[name].mean())
        changes.append(
            Statistic(name, "change", float(mean), ci=ci, n=len(before[name]), before=means[0], after=means[1], p=p)
        )
    return changes


def quantile_of(name: str, values: Sequence[float], q: float) -> Statistic:
    """The q-quantile of milliseconds."""
    return Statistic(name, "milliseconds", float(np.quantile(values, q)), n=len(values))


_TAIL = 0.025


def effective_size(sample: Sample) -> float | None:
    """Return how many independent yes/no answers say as much as these clustered ones (Korn & Graubard 1998).

    It is their number over the design effect, times (t of n - 1 / t of the robust error's degrees of freedom)^2. The
    design effect is at least 1: clustered answers never count for more than independent ones. If all answers are equal,
    their spread is not known, and each cluster counts once. None for one cluster.
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
    """Return the 95 % interval of the share of ones among 0/1 answers: Clopper-Pearson at the effective size.

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
