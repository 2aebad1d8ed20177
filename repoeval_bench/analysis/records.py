"""Records of a comparison and of a choice: differences of means with their intervals and tests, runs to choose from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Self, SupportsIndex, overload

from repoeval_bench.core.errors import UsageError
from repoeval_bench.metrics import Measure, lower_is_better

if TYPE_CHECKING:
    from repoeval_bench.analysis.pair_verdicts import PairVerdict

Interval = tuple[float, float] | None
"""Ends of a 95 % interval; None where the clusters are too few to bound it."""


HalfOpen = tuple[float | None, float | None] | None
"""(lower, upper) end, None for an end that the data does not bound; None in place of both for one cluster."""


def _negative(ends: Interval) -> Interval:
    # 0 - x, for -x has a minus before a zero.
    return None if ends is None else (0.0 - ends[1], 0.0 - ends[0])


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
        return replace(
            self,
            baseline=self.treatment,
            treatment=self.baseline,
            difference=0.0 - self.difference,
            ci=_negative(self.ci),
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

    `headline` says which mean decides: `p_adjusted` and `verdict` are about that one. The protocol's headline measure
    is `primary`: its tests are a family of their own, one for each pair of runs. All other measures that the runs share
    are secondary and make another family, asked for or not. The strict p is adjusted by Holm within its family, of
    `family` tests. A ceiling and a share of judged chunks are not tested, and `p_adjusted` is None.
    `effective_clusters` is how
    many clusters of equal size would give as much evidence. `by_file` and `by_repository` leave each file or repository
    out. They are None unless the measure is primary.
    """

    measure: str
    baseline: str
    treatment: str
    headline: Literal["micro", "macro"]
    primary: bool
    micro: MeanDifference
    macro: MeanDifference
    p_adjusted: float | None
    wins: int
    ties: int
    losses: int
    n_queries: int
    n_clusters: int
    n_repositories: int
    effective_clusters: float
    clustered_by: str
    family: int
    verdict: PairVerdict
    against_baseline: bool = False
    """The baseline was asked for, so pairs of other runs were not compared."""
    margin: float | None = None
    by_file: Influence | None = None
    by_repository: Influence | None = None

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

    @property
    def difference(self) -> float:
        """Difference of the mean that decides."""
        return self.mean.difference

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
