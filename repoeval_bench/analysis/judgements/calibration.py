"""A judge's precision corrected for what the judge gets wrong (Rogan & Gladen 1978).

The interval is Lang & Reiczigel's (2014): it knows that sensitivity and specificity are estimates too. The judged
chunks of a file resemble each other, so their number enters as the effective one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.analysis.intervals import effective_size
from repoeval_bench.analysis.statistics import LEVEL, Sample
from repoeval_bench.core.errors import ResultError
from repoeval_bench.runs.log import Calibrated, read_rows

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from pathlib import Path

    from repoeval_bench.analysis.judged_log import JudgedLog
    from repoeval_bench.analysis.records import Interval


@dataclass(frozen=True, slots=True)
class Calibration:
    """A judge's sensitivity over `n_relevant` chunks that are relevant, and specificity over `n_other` that are not."""

    sensitivity: float
    n_relevant: int
    specificity: float
    n_other: int


@dataclass(frozen=True, slots=True)
class Corrected:
    """Precision of the first k as the judge sees it (`apparent`, over `n` chunks) and corrected, in [0, 1].

    `unclipped` is what the formula gives; where it lies outside [0, 1] the judge's calibration and the sample do not
    fit each other. `ci` is the 95 % interval, its ends clipped too; None for one cluster.
    """

    k: int
    apparent: float
    n: int
    n_unjudged: int
    value: float
    unclipped: float
    ci: Interval
    calibration: Calibration


def read_calibration(path: Path, least: int) -> Calibration:
    """Sensitivity and specificity from chunks that both a trusted person and the judge graded 2, 1 or 0.

    A grade of `least` or more counts as relevant. Broken rows are a ResultError with file:line. So is a file without
    relevant or without other chunks, and a judge no better than chance (sensitivity + specificity at most 1), which
    corrects nothing.
    """
    right = {True: [0, 0], False: [0, 0]}
    for _, row in read_rows(path, Calibrated):
        counts = right[row.gold >= least]
        counts[0] += (row.judge >= least) == (row.gold >= least)
        counts[1] += 1
    for relevant, (_, n) in right.items():
        if not n:
            what = "relevant" if relevant else "not relevant"
            raise ResultError(f"{path} has no row whose gold grade is {what}; calibrate on both kinds of chunks")
    found = Calibration(
        right[True][0] / right[True][1], right[True][1], right[False][0] / right[False][1], right[False][1]
    )
    if found.sensitivity + found.specificity <= 1:
        raise ResultError(
            f"{path}: sensitivity {found.sensitivity:.3f} and specificity {found.specificity:.3f} sum to at most 1: "
            "this judge is not better than chance, so precision cannot be corrected; use another judge"
        )
    return found


def rogan_gladen(apparent: float, size: float | None, calibration: Calibration) -> tuple[float, Interval]:
    """(corrected share, its 95 % interval), neither clipped nor rounded; no interval where `size` is None.

    (apparent + specificity - 1) / (sensitivity + specificity - 1). The interval is eq. 16 of Lang & Reiczigel:
    Agresti & Coull's adjustment of all three shares, a shift, and the delta method's standard error.
    """
    from scipy.special import ndtri

    se, sp = calibration.sensitivity, calibration.specificity
    value = (apparent + sp - 1) / (se + sp - 1)
    if size is None:
        return value, None
    z = float(ndtri((1 + LEVEL) / 2))
    n, n_se, n_sp = size + z**2, calibration.n_relevant + 2, calibration.n_other + 2
    p = (size * apparent + z**2 / 2) / n
    se, sp = (calibration.n_relevant * se + 1) / n_se, (calibration.n_other * sp + 1) / n_sp
    if se + sp <= 1:
        # With so few rows the adjusted judge may be guessing: the data excludes no precision.
        return value, (0.0, 1.0)
    middle = (p + sp - 1) / (se + sp - 1)
    spread_se, spread_sp = se * (1 - se) / n_se, sp * (1 - sp) / n_sp
    shift = 2 * z**2 * (middle * spread_se - (1 - middle) * spread_sp)
    error = math.sqrt(p * (1 - p) / n + middle**2 * spread_se + (1 - middle) ** 2 * spread_sp) / (se + sp - 1)
    return value, (middle + shift - z * error, middle + shift + z * error)


def corrected_precision(
    log: JudgedLog, grades: Mapping[str, Mapping[str, int]], calibration: Calibration, k: int, least: int
) -> Corrected | None:
    """Share of relevant chunks among those of the first k that the judge graded, corrected; None where none is.

    Chunks without a grade are left out and counted.
    """
    answers: list[float] = []
    clusters: list[Hashable] = []
    unjudged = 0
    for query_id, cluster in zip(log.query_ids, log.clusters, strict=True):
        of_query = grades.get(query_id, {})
        for chunk_id in log.ranked(query_id)[:k]:
            if chunk_id in of_query:
                answers.append(float(of_query[chunk_id] >= least))
                clusters.append(cluster)
            else:
                unjudged += 1
    if not answers:
        return None
    apparent = float(np.mean(answers))
    value, ci = rogan_gladen(apparent, effective_size(Sample.micro(np.array(answers), clusters)), calibration)
    clipped = None if ci is None else (_clip(ci[0]), _clip(ci[1]))
    return Corrected(k, apparent, len(answers), unjudged, _clip(value), value, clipped, calibration)


def _clip(share: float) -> float:
    return min(1.0, max(0.0, share))
