"""Means of a run over its queries or repositories, with intervals that resample files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.analysis.statistics import SEED, Sample, bca_intervals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from repoeval_bench.analysis.records import Interval
    from repoeval_bench.runs.query_scores import QueryScores


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The headline mean at each of `at`, and the ends of its clustered 95 % band (None: one cluster); float64 (n,)."""

    at: tuple[int, ...]
    mean: NDArray[np.float64]
    low: NDArray[np.float64] | None
    high: NDArray[np.float64] | None

    def interval(self, i: int) -> Interval:
        """The band at the i-th place."""
        return None if self.low is None or self.high is None else (float(self.low[i]), float(self.high[i]))


def mean_curve(scored: QueryScores, values: NDArray[np.float64], at: tuple[int, ...], headline: str) -> Curve:
    """Mean and band of each column of `values`, float64 (n_queries, len(at)), files resampled."""
    if headline == "macro":
        sample = Sample.macro(values, scored.clusters, scored.repos)
    else:
        sample = Sample.micro(values, scored.clusters)
    ends = [pair for pair in bca_intervals(sample, np.random.default_rng(SEED)) if pair is not None]
    bands = np.array(ends).T if ends else None
    return Curve(at, sample.mean(), None if bands is None else bands[0], None if bands is None else bands[1])
