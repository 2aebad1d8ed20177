"""Verdicts on a pair of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from repoeval_bench.analysis.sign_flips import ALPHA, FEWEST_CLUSTERS

BORDERLINE = (0.04, 0.0625)
"""A p (Holm) in here is borderline: the last bits of another processor's scores can move it over 0.05."""


class Outcome(StrEnum):
    """The outcome of the test of a pair of runs.

    `CARRIED`: the difference is significant, but not without one file or repository. `EQUAL`: not significant, and the
    95 % interval lies within the margin that was given. `NOT_TESTED`: a ceiling, which is not a result of a run.
    """

    BETTER = "better"
    WORSE = "worse"
    CARRIED = "carried"
    EQUAL = "equal"
    NOT_SIGNIFICANT = "not_significant"
    NOT_TESTED = "not_tested"

    @property
    def is_significant(self) -> bool:
        """Return whether one run is better, and no single file or repository carries that."""
        return self in (Outcome.BETTER, Outcome.WORSE)

    def reversed(self) -> Outcome:
        """The outcome for the other run of the pair."""
        return {Outcome.BETTER: Outcome.WORSE, Outcome.WORSE: Outcome.BETTER}.get(self, self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """The file or repository without which a difference is not significant.

    `kind` is `file`, `repository` or the field that groups queries. `p` is the test's p without it, adjusted as the
    pair's own p is.
    """

    kind: str
    name: str
    p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PairVerdict:
    """The verdict on one pair by one measure.

    `borderline`: p (Holm) is so near to 0.05 that another processor may turn it. `within` is the margin, where the 95 %
    interval lies inside it, whether or not the difference is significant. `carrier` is that of `CARRIED`.
    """

    outcome: Outcome
    borderline: bool = False
    within: float | None = None
    carrier: Carrier | None = None

    def reversed(self) -> Self:
        """The verdict for the other run of the pair."""
        return replace(self, outcome=self.outcome.reversed())


def judge(
    difference: float,
    p: float | None,
    *,
    lower: bool,
    within: float | None = None,
    carriers: Sequence[Carrier] = (),
) -> PairVerdict:
    """Judge a mean difference, treatment minus baseline, by its adjusted `p`; None where nothing was tested.

    `lower` says that less is better, `within` is the margin where the interval lies inside it. Of `carriers` the first
    is named.
    """
    if p is None:
        return PairVerdict(outcome=Outcome.NOT_TESTED)
    borderline = BORDERLINE[0] < p < BORDERLINE[1] and within is None
    if p >= ALPHA:
        outcome = Outcome.NOT_SIGNIFICANT if within is None else Outcome.EQUAL
        return PairVerdict(outcome=outcome, borderline=borderline, within=within)
    if carriers:
        return PairVerdict(outcome=Outcome.CARRIED, within=within, carrier=carriers[0])
    outcome = Outcome.BETTER if (difference > 0) != lower else Outcome.WORSE
    return PairVerdict(outcome=outcome, borderline=borderline, within=within)


def enough_for_equality(n_clusters: int, margin: float | None, *, ties: bool) -> bool:
    """Return whether `n_clusters` can show two means to be equal; `ties`: both runs score the same in all of them."""
    return n_clusters >= FEWEST_CLUSTERS and (not ties or ties_suffice(n_clusters, margin))


def ties_suffice(n_clusters: int, margin: float | None) -> bool:
    """Return whether two runs that score the same in all of `n_clusters` are equal within the margin.

    Let a share of all clusters as large as the margin differ by 1: then the means differ by the margin. The chance that
    n clusters include none of these is (1 - margin)^n.
    """
    return margin is not None and (1 - margin) ** n_clusters < ALPHA
