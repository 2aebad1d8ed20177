"""What a section of the page is made of: figures with their intervals, and words where a log does not support one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from repoeval_bench.analysis.logs.intervals import HalfOpen, quantile_interval, share_interval
from repoeval_bench.analysis.statistics import SEED, Sample, bca_intervals, holm, sign_flip_p

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

Kind = Literal["mean", "share", "change", "milliseconds", "number"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One number: `ci` is its 95 % interval, `n` of how many `of` (queries, chunks) it is made.

    A change also has the means it lies between and `p` (sign-flip test over clusters, Holm-adjusted over its section).
    """

    name: str
    kind: Kind
    value: float
    ci: HalfOpen
    n: int
    of: str = "queries"
    before: float | None = None
    after: float | None = None
    p: float | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """Figures under one title; `missing` says in one sentence why there are none, `notes` what to mind.

    `stages` are the words for what its changes lie between.
    """

    name: str
    title: str
    figures: tuple[Figure, ...] = ()
    stages: tuple[str, str] = ("before", "after")
    notes: tuple[str, ...] = ()
    missing: str = ""


def mean_of(name: str, values: FloatArray, clusters: Sequence[Hashable]) -> Figure:
    """Mean over queries with its BCa interval, clusters resampled."""
    sample = Sample.micro(values, clusters)
    (ci,) = bca_intervals(sample, np.random.default_rng(SEED))
    return Figure(name, "mean", float(sample.mean()[0]), ci, len(values))


def share_of(
    name: str, answers: FloatArray | Sequence[float], clusters: Sequence[Hashable], of: str = "queries"
) -> Figure:
    """Share of ones among 0/1 answers, each of a cluster, with its interval."""
    ones = np.asarray(answers, dtype=np.float64)
    return Figure(name, "share", float(ones.mean()), share_interval(ones, clusters), len(ones), of)


def changes_of(
    before: Mapping[str, FloatArray], after: Mapping[str, FloatArray], clusters: Sequence[Hashable]
) -> list[Figure]:
    """For each measure its change (after - before, paired by query) with interval and Holm-adjusted p."""
    names = list(before)
    sample = Sample.micro(np.column_stack([after[name] - before[name] for name in names]), clusters)
    intervals = bca_intervals(sample, np.random.default_rng(SEED))
    adjusted = holm(sign_flip_p(sample, np.random.default_rng(SEED)).tolist())
    return [
        Figure(
            name, "change", float(mean), ci, len(before[name]),
            before=float(before[name].mean()), after=float(after[name].mean()), p=p,
        )
        for name, mean, ci, p in zip(names, sample.mean(), intervals, adjusted, strict=True)
    ]  # fmt: skip


def quantile_of(name: str, values: FloatArray | Sequence[float], clusters: Sequence[Hashable], q: float) -> Figure:
    """The q-quantile of milliseconds with its interval."""
    ci = quantile_interval(values, clusters, q)
    return Figure(name, "milliseconds", float(np.quantile(values, q)), ci, len(values))
