"""Figures with their intervals, and sections of them with words where a log does not support one."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from repoeval_bench.analysis.sign_flips import FloatArray, flip_signs
from repoeval_bench.analysis.statistics import SEED, Sample, holm, intervals
from repoeval_bench.plugins.logs.intervals import quantile_interval, share_interval

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import HalfOpen

Kind = Literal["mean", "share", "change", "milliseconds", "number"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One number: `ci` is its 95 % interval, `n` of how many `of` (queries, chunks) it is made.

    A change also has the means it lies between and `p` (sign-flip test over clusters, Holm-adjusted over its section).
    """

    name: str
    kind: Kind
    value: float
    _: KW_ONLY
    ci: HalfOpen = None
    n: int
    of: str = "queries"
    before: float | None = None
    after: float | None = None
    p: float | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """Figures under one title; `missing` says in one sentence why there are none, `notes` what limits them.

    `stages` are the words for what its changes lie between.
    """

    name: str
    title: str
    _: KW_ONLY
    figures: tuple[Figure, ...] = ()
    stages: tuple[str, str] = ("before", "after")
    notes: tuple[str, ...] = ()
    missing: str = ""


def mean_of(name: str, values: FloatArray, clusters: Sequence[Hashable]) -> Figure:
    """Mean over queries with its interval, signs of clusters flipped."""
    sample = Sample.micro(values, clusters)
    (ci,) = intervals(sample, np.random.default_rng(SEED))
    return Figure(name, "mean", float(sample.mean()[0]), ci=ci, n=len(values))


def share_of(
    name: str, answers: FloatArray | Sequence[float], clusters: Sequence[Hashable], of: str = "queries"
) -> Figure:
    """Share of ones among 0/1 answers, each of a cluster, with its interval."""
    ones = np.asarray(answers, dtype=np.float64)
    return Figure(name, "share", float(ones.mean()), ci=share_interval(ones, clusters), n=len(ones), of=of)


def changes_of(
    before: Mapping[str, FloatArray], after: Mapping[str, FloatArray], clusters: Sequence[Hashable]
) -> list[Figure]:
    """For each measure its change (after - before, paired by query) with interval and Holm-adjusted p."""
    sample = Sample.micro(np.column_stack([after[name] - before[name] for name in before]), clusters)
    ends = intervals(sample, np.random.default_rng(SEED))
    adjusted = holm(flip_signs(*sample.parts(), np.random.default_rng(SEED)).p.tolist())
    changes = []
    for name, mean, ci, p in zip(before, sample.mean(), ends, adjusted, strict=True):
        means = float(before[name].mean()), float(after[name].mean())
        changes.append(
            Figure(name, "change", float(mean), ci=ci, n=len(before[name]), before=means[0], after=means[1], p=p)
        )
    return changes


def quantile_of(name: str, values: FloatArray | Sequence[float], clusters: Sequence[Hashable], q: float) -> Figure:
    """The q-quantile of milliseconds with its interval."""
    value = float(np.quantile(values, q))
    return Figure(name, "milliseconds", value, ci=quantile_interval(values, clusters, q), n=len(values))
