"""Verdicts on a pair of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from repoeval_bench.analysis.sign_flips import ALPHA, BORDERLINE, FEWEST_CLUSTERS


class Outcome(StrEnum):
    """The outcome of the test of a pair of runs.

    `BORDERLINE`: another seed or processor may find the difference significant, or not. `CARRIED`: the difference is
    significant, but not without one file or repository. `EQUAL`: not significant, and the 95 % interval lies within the
    margin that was given. `NOT_TESTED`: the measure is a ceiling or counts judgements, so it ranks no run.
    """

    BETTER = "better"
    WORSE = "worse"
    BORDERLINE = "borderline"
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


@dataclass(frozen=True, slots=True)
class AdjustedP:
    """A p that Holm adjusted, and the least and the most that it may be: the p of drawn flips have errors.

    Holm's adjustment grows with each p, so `least` and `most` also cover all ranks that the family may have.
    """

    p: float
    least: float
    most: float

    def outcome(self, band: tuple[float, float] = BORDERLINE) -> Outcome:
        """Return `BETTER` for significant, whatever the direction, `NOT_SIGNIFICANT`, or `BORDERLINE` in the band."""
        low, high = band
        if self.most <= low:
            return Outcome.BETTER
        return Outcome.NOT_SIGNIFICANT if self.least >= high else Outcome.BORDERLINE

    def times(self, factor: float) -> Self:
        """The same with Holm's factor."""
        return type(self)(self.p * factor, self.least * factor, self.most * factor)


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

    `within` is the margin, where the 95 % interval lies inside it, whether or not the difference is significant.
    `carrier` is that of `CARRIED`.
    """

    outcome: Outcome
    within: float | None = None
    carrier: Carrier | None = None

    def reversed(self) -> Self:
        """The verdict for the other run of the pair."""
        return replace(self, outcome=self.outcome.reversed())


def judge(
    difference: float,
    p: AdjustedP | None,
    *,
    lower: bool,
    within: float | None = None,
    carriers: Sequence[Carrier] = (),
    doubtful: bool = False,
) -> PairVerdict:
    """Judge a mean difference, treatment minus baseline, by its adjusted `p`; None where nothing was tested.

    `lower` says that less is better, `within` is the margin where the interval lies inside it. Of `carriers` the first
    is named. `doubtful`: chance decides if there is one.
    """
    if p is None:
        return PairVerdict(outcome=Outcome.NOT_TESTED)
    outcome = p.outcome()
    if outcome is Outcome.BETTER and carriers:
        return PairVerdict(outcome=Outcome.CARRIED, within=within, carrier=carriers[0])
    if outcome is Outcome.BETTER and doubtful:
        outcome = Outcome.BORDERLINE
    if outcome is Outcome.BETTER and (difference > 0) == lower:
        outcome = Outcome.WORSE
    if within is not None and not outcome.is_significant:
        outcome = Outcome.EQUAL
    return PairVerdict(outcome=outcome, within=within)


def enough_for_equality(n_clusters: int, margin: float | None, *, ties: bool) -> bool:
    """Return whether `n_clusters` can show two means to be equal; `ties`: both runs score the same in all of them.

    Let a share of all clusters as large as the margin differ by 1: then the means differ by the margin. The chance that
    n clusters include none of these is (1 - margin)^n.
    """
    return n_clusters >= FEWEST_CLUSTERS and (not ties or (margin is not None and (1 - margin) ** n_clusters < ALPHA))
