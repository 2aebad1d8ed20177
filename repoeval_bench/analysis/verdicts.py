"""What tests say, as records: of a pair of runs, and of all runs of one question. `report` puts them into words.

`decide` is the one place where a winner is found: `compare`, `recommend`, the report and the leaderboard call it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from repoeval_bench.analysis.sign_flips import ALPHA, FEWEST_CLUSTERS
from repoeval_bench.metrics import lower_is_better

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Comparison, Influence, Interval
    from repoeval_bench.runs.records import Headline

BORDERLINE = (0.04, 0.0625)
"""A p (Holm) in here is borderline: the last bits of another processor's scores can move it over 0.05."""

SAME = 1e-12
"""A difference below this is the rounding error of a sum: two such means are the same."""


class Outcome(StrEnum):
    """What the test says of a pair of runs.

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
        """Whether one run is better, and no single file or repository carries that."""
        return self in (Outcome.BETTER, Outcome.WORSE)

    def reversed(self) -> Outcome:
        """The outcome for the other run of the pair."""
        return {Outcome.BETTER: Outcome.WORSE, Outcome.WORSE: Outcome.BETTER}.get(self, self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """The file or repository without which a difference is not significant.

    `kind` is `file`, `repository` or the field that queries are grouped by; `p` is the test's p without it, adjusted as
    the pair's own p is.
    """

    kind: str
    name: str
    p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PairVerdict:
    """What the test says of one pair by one measure.

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
    """Whether so many clusters can say that two means are equal; `ties`: both runs score the same in all of them."""
    return n_clusters >= FEWEST_CLUSTERS and (not ties or ties_tell(n_clusters, margin))


def ties_tell(n_clusters: int, margin: float | None) -> bool:
    """Whether two runs that score the same in so many clusters are equal within the margin.

    A difference of 1 in as many as the margin says would make the means differ by the margin, and all of these would
    tie with a chance of (1 - margin)^n.
    """
    return margin is not None and (1 - margin) ** n_clusters < ALPHA


def carriers_of(influences: Sequence[tuple[str, Influence | None]]) -> list[Carrier]:
    """The carriers among pairs of a kind of cluster and its influence, in this order."""
    return [
        Carrier(kind=kind, name=found.rests_on, p=found.p)
        for kind, found in influences
        if found is not None and found.rests_on is not None and found.p is not None
    ]


class Result(StrEnum):
    """What can be said of all runs of one question.

    `WINNER`: the best run is significantly better than each other. `CARRIED`: so it is, but some of its leads come from
    one file or repository. `NOT_SIGNIFICANT`: of some run it is not. `TIED`: the two best have the same mean.
    `NOTHING_FOUND`: every run scores 0. `BASELINE`: the runs were compared with one that is not the best, and with no
    other. `NOT_TESTED`: the measure is a ceiling. `ONE_RUN`: there is nothing to compare.
    """

    WINNER = "winner"
    CARRIED = "carried"
    NOT_SIGNIFICANT = "not_significant"
    TIED = "tied"
    NOTHING_FOUND = "nothing_found"
    BASELINE = "baseline"
    NOT_TESTED = "not_tested"
    ONE_RUN = "one_run"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRun:
    """A run as tables name it, and its mean by the measure that decides."""

    name: str
    run_id: str
    mean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """A run beside the reference: how far the reference is ahead of it, and what the test says of that.

    `lead` is above 0 where the reference is the better one, whichever way the measure goes; `ci` is its 95 % interval,
    None where the clusters are too few to bound it. `p` is the sign-flip test's, `p_adjusted` that by Holm in the
    verdict's family; None where nothing was tested. `verdict` is about the reference: `BETTER` than this run.
    `few_repositories`: the lead is significant over files, and not with whole repositories as the observations.
    """

    run: ScoredRun
    lead: float
    ci: Interval
    p: float | None
    p_adjusted: float | None
    verdict: PairVerdict
    few_repositories: bool

    @property
    def is_behind(self) -> bool:
        """Whether the reference is significantly better than this run."""
        return self.verdict.outcome is Outcome.BETTER


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the test says of several runs of one question by one measure.

    `reference` is the run with the best mean; under `BASELINE` it is the baseline. `others` are the rest, the nearest
    to the best mean first. p is adjusted by Holm over `family` tests, of `pairs` pairs of runs. `measure` is a column's
    name, `over` the mean that decides. Queries are resampled together by `clustered_by` (`file`, `query`, or a field);
    `effective_clusters` is how many of equal size would tell as much. The counts are 0 of one run. `margin` is that of
    equality, where one was given. `differences` are the comparisons of all measures behind it, each run minus the
    reference, in the order of `others`.
    """

    result: Result
    protocol: str
    measure: str
    over: Headline
    reference: ScoredRun
    others: tuple[Rival, ...] = ()
    family: int = 0
    pairs: int = 0
    n_queries: int = 0
    n_clusters: int = 0
    n_repositories: int = 0
    effective_clusters: float = 0.0
    clustered_by: str = "file"
    margin: float | None = None
    differences: tuple[Comparison, ...] = ()

    @property
    def behind(self) -> tuple[Rival, ...]:
        """The runs that the reference is significantly better than."""
        return tuple(each for each in self.others if each.is_behind)

    @property
    def close(self) -> tuple[Rival, ...]:
        """The other runs: those that may be as good."""
        return tuple(each for each in self.others if not each.is_behind)

    def rival(self, run_id: str) -> Rival | None:
        """The run of this id among the others; None of the reference."""
        return next((each for each in self.others if each.run.run_id == run_id), None)


def scores_nothing(measure: str, means: Sequence[float]) -> bool:
    """Whether no run of these means found anything: each is 0, and more would be better."""
    return not lower_is_better(measure) and not any(means)


def pairs_with(reference: str, comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The pairs that a run is in, by its name, each as the other run minus this one."""
    turned = (each.reversed() if each.treatment == reference else each for each in comparisons)
    return [each for each in turned if each.baseline == reference]


def decide(
    ranked: Sequence[ScoredRun], comparisons: Sequence[Comparison], *, protocol: str, measure: str, over: Headline
) -> Verdict:
    """Say which of the runs is best and which others are significantly worse, by `measure`.

    `ranked` are the runs, the best mean first; their names are those of `comparisons`, which hold the best run's pairs
    with all others, or else those of one baseline. p is taken as it is: adjusted over all pairs it holds for a best run
    that was picked by its scores.
    """
    best = ranked[0]
    if len(ranked) == 1:
        alone = Result.NOTHING_FOUND if scores_nothing(measure, [best.mean]) else Result.ONE_RUN
        return Verdict(result=alone, protocol=protocol, measure=measure, over=over, reference=best)
    reference, differences = best, pairs_with(best.name, comparisons)
    if {each.treatment for each in differences} != {each.name for each in ranked[1:]}:
        reference = next(each for each in ranked if each.name == comparisons[0].baseline)
        differences = pairs_with(reference.name, comparisons)
    rank = {each.name: at for at, each in enumerate(ranked)}
    differences.sort(key=lambda each: rank[each.treatment])
    of_measure = {each.treatment: each for each in differences if each.measure == measure}
    others = tuple(_rival(each, of_measure[each.name].reversed()) for each in ranked if each is not reference)
    first = next(iter(of_measure.values()))
    tested = {each.measure for each in differences if each.primary == first.primary and each.p_adjusted is not None}
    return Verdict(
        result=_result(best, reference, others, measure),
        protocol=protocol,
        measure=measure,
        over=over,
        reference=reference,
        others=others,
        family=first.family,
        pairs=first.family // max(1, len(tested)),
        n_queries=first.n_queries,
        n_clusters=first.n_clusters,
        n_repositories=first.n_repositories,
        effective_clusters=first.effective_clusters,
        clustered_by=first.clustered_by,
        margin=first.margin,
        differences=tuple(differences),
    )


def _rival(run: ScoredRun, lead: Comparison) -> Rival:
    """`lead` is the reference minus the run."""
    shown = lead.mean if not lower_is_better(lead.measure) else lead.reversed().mean
    return Rival(
        run=run,
        lead=shown.difference,
        ci=shown.ci,
        p=None if lead.p_adjusted is None else shown.p,
        p_adjusted=lead.p_adjusted,
        verdict=lead.verdict,
        few_repositories=lead.few_repositories,
    )


def _result(best: ScoredRun, reference: ScoredRun, others: Sequence[Rival], measure: str) -> Result:
    outcomes = {each.verdict.outcome for each in others}
    if scores_nothing(measure, [reference.mean, *(each.run.mean for each in others)]):
        return Result.NOTHING_FOUND
    if reference is not best:
        return Result.BASELINE
    if Outcome.NOT_TESTED in outcomes:
        return Result.NOT_TESTED
    if abs(others[0].lead) < SAME:
        return Result.TIED
    if outcomes == {Outcome.BETTER}:
        return Result.WINNER
    return Result.CARRIED if outcomes <= {Outcome.BETTER, Outcome.CARRIED} else Result.NOT_SIGNIFICANT
