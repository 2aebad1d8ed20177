"""The comparison of a pair of runs: differences of means with their intervals and tests, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, Self, SupportsIndex, overload

from pydantic import computed_field

from repoeval_bench.analysis.sign_flips import ALPHA, BORDERLINE, FEWEST_CLUSTERS
from repoeval_bench.core.errors import UsageError
from repoeval_bench.metrics import Measure, lower_is_better

Interval = tuple[float, float] | None
"""Ends of a 95 % interval; None where the clusters are too few to bound it."""


class Outcome(StrEnum):
    """The outcome of the test of a pair of runs.

    `BORDERLINE`: another seed or processor may find the difference significant, or not. `CARRIED`: the difference is
    significant, but not without one file or repository. `EQUAL`: not significant, and the strict ends lie within the
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
    """A p that Holm adjusted, and the least and the most that it may be: the p of drawn flips have errors."""

    p: float
    # Holm's adjustment grows with each p, so these also cover all ranks that the family may have.
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

    `kind` is `file`, `repository`, `period` (of a history) or the field that groups queries. `p` is the test's p
    without it, adjusted as the pair's own p is.
    """

    kind: str
    name: str
    p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PairVerdict:
    """The verdict on one pair by one measure.

    `within` is the margin, where the strict ends lie inside it, whether or not the difference is significant. `carrier`
    is that of `CARRIED`.
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
    influences: Iterable[tuple[str, Influence | None]] = (),
) -> PairVerdict:
    """Judge a mean difference, treatment minus baseline, by its adjusted `p`; None where nothing was tested.

    `lower` says that less is better, `within` is the margin where the strict ends lie inside it. `influences` are kinds
    of clusters with their influence; the first that the difference rests on is named.
    """
    if p is None:
        return PairVerdict(outcome=Outcome.NOT_TESTED)
    outcome = p.outcome()
    known = [(kind, one) for kind, one in influences if one is not None]
    if outcome is Outcome.BETTER:
        for kind, one in known:
            if one.rests_on is not None and one.p is not None:
                carrier = Carrier(kind=kind, name=one.rests_on, p=one.p)
                return PairVerdict(outcome=Outcome.CARRIED, within=within, carrier=carrier)
        if any(one.doubtful for _, one in known):
            outcome = Outcome.BORDERLINE
    if outcome is Outcome.BETTER and (difference > 0) == lower:
        outcome = Outcome.WORSE
    if within is not None and not outcome.is_significant:
        outcome = Outcome.EQUAL
    return PairVerdict(outcome=outcome, within=within)


def enough_for_equality(n_clusters: int, margin: float | None, *, ties: bool) -> bool:
    """Return whether `n_clusters` can show two means to be equal; `ties`: both runs score the same in all of them."""
    # Let a share of all clusters as large as the margin differ by 1: then the means differ by the margin. The chance
    # that n clusters include none of these is (1 - margin)^n.
    return n_clusters >= FEWEST_CLUSTERS and (not ties or (margin is not None and (1 - margin) ** n_clusters < ALPHA))


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanDifference:
    """The difference of one mean (over queries, or over repositories) between two runs, query by query.

    `ci` is the 95 % interval of sign flips over files, None if the clusters are too few to bound it. `p` is the
    sign-flip test's, which never contradicts `ci`. `p_strict` is the p of the stricter test that Holm adjusts.
    """

    baseline: float
    treatment: float
    difference: float
    ci: Interval
    p: float
    p_strict: float

    def reversed(self) -> Self:
        """The same of baseline - treatment."""
        # 0 - x, for -x has a minus before a zero.
        return replace(
            self,
            baseline=self.treatment,
            treatment=self.baseline,
            difference=0.0 - self.difference,
            ci=None if self.ci is None else (0.0 - self.ci[1], 0.0 - self.ci[0]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Influence:
    """The weight of single clusters in a verdict: the range of the difference when each is left out in turn.

    `rests_on` names the cluster without which the difference is not significant. `p` is the test's p without it,
    adjusted as the comparison's is. Both are None if there is no such cluster. `doubtful`: drawn flips leave open
    whether there is another one.
    """

    low: float
    high: float
    rests_on: str | None = None
    p: float | None = None
    doubtful: bool = False

    def reversed(self) -> Self:
        """The same of the opposite difference."""
        return replace(self, low=0.0 - self.high, high=0.0 - self.low)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison:
    """Paired difference of one measure between two runs on the same queries (treatment - baseline).

    All measures but the primary one are secondary: asked for or not, they make one other family of tests.
    """

    measure: str
    baseline: str
    treatment: str
    headline: Literal["micro", "macro"]
    """The mean that decides: `p_adjusted` and `verdict` are about it."""
    primary: bool
    """The measure is the protocol's headline; its tests are a family of their own, one for each pair of runs."""
    micro: MeanDifference
    macro: MeanDifference
    p_adjusted: float | None
    """The strict p, adjusted by Holm within its family; None of a ceiling and of a share of judged chunks."""
    wins: int
    ties: int
    losses: int
    n_queries: int
    n_clusters: int
    effective_clusters: float
    """Clusters of equal size that would give as much evidence."""
    clustered_by: str
    family: int
    """The number of tests over which p is adjusted."""
    verdict: PairVerdict
    against_baseline: bool
    """The baseline was asked for, so pairs of other runs were not compared."""
    margin: float | None
    """The margin of equality; None if none was given."""
    by_file: Influence | None
    """The difference with each file left out; None unless the measure is primary."""
    by_repository: Influence | None
    """The difference with each repository left out; None also if there is one."""

    def __repr__(self) -> str:
        ends = "" if self.ci is None else f" [{self.ci[0]:+.4f}, {self.ci[1]:+.4f}]"
        return (
            f"<Comparison {self.measure}: {self.treatment} minus {self.baseline} {self.difference:+.4f}{ends}, "
            f"{self.verdict.outcome}>"
        )

    @property
    def is_significant(self) -> bool:
        """Return whether the verdict is that one run is better."""
        return self.verdict.outcome.is_significant

    @property
    def favours_treatment(self) -> bool:
        """Return whether the treatment's mean is the better one, significantly or not."""
        return self.difference != 0 and (self.difference > 0) != lower_is_better(self.measure)

    def reversed(self) -> Self:
        """The same pair the other way round: baseline - treatment, with the verdict on the former baseline."""
        return replace(
            self,
            baseline=self.treatment,
            treatment=self.baseline,
            micro=self.micro.reversed(),
            macro=self.macro.reversed(),
            wins=self.losses,
            losses=self.wins,
            verdict=self.verdict.reversed(),
            by_file=self.by_file and self.by_file.reversed(),
            by_repository=self.by_repository and self.by_repository.reversed(),
        )

    @property
    def mean(self) -> MeanDifference:
        """The mean that decides."""
        return self.micro if self.headline == "micro" else self.macro

    @computed_field  # type: ignore[prop-decorator]
    @property
    def difference(self) -> float:
        """Difference of the mean that decides."""
        return self.mean.difference

    @computed_field  # type: ignore[prop-decorator]
    @property
    def ci(self) -> Interval:
        """Return the 95 % interval of the mean that decides."""
        return self.mean.ci


class Comparisons(list[Comparison]):
    """A list of comparisons in which a measure's name finds those of that measure, one for each pair of runs."""

    @overload
    def __getitem__(self, key: SupportsIndex) -> Comparison: ...
    @overload
    def __getitem__(self, key: slice | str) -> Comparisons: ...
    def __getitem__(self, key: SupportsIndex | slice | str) -> Comparison | Comparisons:
        """By position; or all of a measure, in their order: a UsageError where it is missing."""
        if isinstance(key, slice):
            return Comparisons(super().__getitem__(key))
        if not isinstance(key, str):
            return super().__getitem__(key)
        known = {comparison.measure for comparison in self}
        measure = key if key in known else str(Measure.parse(key))
        if measure not in known:
            raise UsageError(f"{measure} is not among the compared measures; they are {', '.join(sorted(known))}")
        return Comparisons(comparison for comparison in self if comparison.measure == measure)

    def __str__(self) -> str:
        return "\n".join(map(repr, self))
