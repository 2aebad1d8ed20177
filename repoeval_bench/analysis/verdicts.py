"""Verdicts on all runs of one question, and the choice among them, as records. `report` puts them into words.

`decide` is the one place where a winner is found: `compare`, `recommend`, the report and the leaderboard call it. One
measure decides, the protocol's headline, over the protocol's own mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import numpy as np
from pydantic import Field

from repoeval_bench.analysis.comparable import check_comparable, headline_measure, run_names, scores_nothing
from repoeval_bench.analysis.comparison import MEANS, leads
from repoeval_bench.analysis.records import Comparison, Interval, Outcome, PairVerdict
from repoeval_bench.core.errors import UsageError
from repoeval_bench.metrics import lower_is_better
from repoeval_bench.runs.query_scores import DIGITS, SAME, together
from repoeval_bench.runs.records import Headline
from repoeval_bench.runs.view import RunView

READ = 10
"""Chunks read per query, wherever a query's cost is stated."""


class Result(StrEnum):
    """The outcome of the tests of all runs of one question.

    `WINNER`: the best run is significantly better than each other. `CARRIED`: the same, but some of its leads come from
    one file or repository. `NOT_SIGNIFICANT`: at least one lead is not significant. `TIED`: the two best have the same
    mean.
    `NOTHING_FOUND`: every run scores 0. `BASELINE`: the runs were compared with one that is not the best, and with no
    other. `NOT_TESTED`: the measure is not tested. `ONE_RUN`: there is nothing to compare.
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
    """A run compared with the reference: the reference's lead over it, and the test of that lead.

    `lead` is above 0 if the reference is better, also where lower values are better. `ci` is its 95 % interval, None if
    the clusters are too few to bound it. `p` is the sign-flip test's, `p_adjusted` the strict one by Holm in the
    verdict's family; None where nothing was tested. `verdict` is about the reference: `BETTER` than this run.
    """

    run: ScoredRun
    lead: float
    ci: Interval
    p: float | None
    p_adjusted: float | None
    verdict: PairVerdict

    @property
    def is_significantly_worse(self) -> bool:
        """Return whether the reference is significantly better than this run."""
        return self.verdict.outcome is Outcome.BETTER


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict on several runs of one question by one measure.

    `reference` is the run with the best mean; under `BASELINE` it is the baseline. `others` are the rest, the nearest
    to the best mean first. p is adjusted by Holm over `family` tests. `measure` is a column's
    name, `over` the mean that decides. Signs are flipped by `clustered_by` (`file`, `group of files`, `query`, or a
    field). The counts are 0 for a single run.
    """

    result: Result
    protocol: str
    measure: str
    over: Headline
    reference: ScoredRun
    others: tuple[Rival, ...] = ()
    family: int = 0
    n_queries: int = 0
    n_clusters: int = 0
    clustered_by: str = "file"
    differences: Annotated[tuple[Comparison, ...], Field(exclude=True)] = ()
    """The comparisons of all measures behind it, each run minus the reference, in the order of `others`."""

    @property
    def significantly_worse(self) -> tuple[Rival, ...]:
        """The runs that the reference is significantly better than."""
        return tuple(rival for rival in self.others if rival.is_significantly_worse)

    @property
    def close(self) -> tuple[Rival, ...]:
        """The other runs that the reference is not significantly better than."""
        return tuple(rival for rival in self.others if not rival.is_significantly_worse)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One of the runs to choose from.

    `cost` is the size of ten chunks of the run's mean size, in the choice's unit.
    """

    run: str
    run_id: str
    mean: float
    cost: float | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Choice:
    """The k runs by the protocol's headline, best first, and the verdict on them.

    Runs of one mean are ordered by their cost.

    `verdict` is what the test says of them, over all pairs. `cost_unit` is `tokens` where all runs count in one
    tokenizer, else `characters`, non-whitespace ones; empty where neither is known.
    """

    verdict: Verdict
    cost_unit: str
    candidates: tuple[Candidate, ...]

    def __repr__(self) -> str:
        n, n_worse, measure = len(self.candidates) - 1, len(self.verdict.significantly_worse), self.verdict.measure
        if self.verdict.result is Result.NOTHING_FOUND:
            return f"<Choice of {n + 1} by {measure}: no run retrieved a target>"
        return (
            f"<Choice of {n + 1} by {measure}: {self.best.run} {self.best.mean:.4f}, significantly better than "
            f"{n_worse} of {n}>"
        )

    @property
    def best(self) -> Candidate:
        """The run with the best mean."""
        return self.candidates[0]

    @property
    def close(self) -> tuple[Candidate, ...]:
        """The best run and all that it is not significantly better than, the cheapest first."""
        worse = {candidate.run.run_id for candidate in self.verdict.significantly_worse}
        close = [candidate for candidate in self.candidates if candidate.run_id not in worse]
        return tuple(sorted(close, key=lambda candidate: candidate.cost or 0.0))


def choose(runs: Sequence[RunView], comparisons: Sequence[Comparison] = ()) -> Choice:
    """Choose among two or more stored runs of one question, as `repoeval_bench.choose` promises."""
    distinct = list({run.folder: run for run in runs}.values())
    if len(distinct) < 2:
        raise UsageError("nothing to choose from: give at least two different runs")
    check_comparable((distinct[0], run) for run in distinct[1:])
    measure = headline_measure(distinct)
    tested = comparisons if any(comparison.measure == measure for comparison in comparisons) else ()
    return _choice(distinct, tested, measure)


def verdict_on(runs: Sequence[RunView], comparisons: Sequence[Comparison] = ()) -> Verdict:
    """Decide what the tests say of one or more different runs of one question.

    Of the measures of `comparisons` the headline decides, else one by which runs score. `comparisons` are those of all
    pairs, or of all runs with a baseline. Without any, the best run is compared with all others, and p is adjusted over
    all pairs.
    """
    measure = headline_measure(runs, list(dict.fromkeys(pair.measure for pair in comparisons)))
    return _choice(runs, comparisons, measure).verdict


def _choice(runs: Sequence[RunView], comparisons: Sequence[Comparison], measure: str) -> Choice:
    """Rank different runs by a measure; without `comparisons` the best is compared with all others."""
    metrics, (unit, run_costs), names = runs[0].metrics, costs(runs), run_names(runs)
    candidates = [
        Candidate(run=name, run_id=run.run_id, mean=run.metrics.over(metrics.headline)[measure], cost=cost)
        for name, run, cost in zip(names, runs, run_costs, strict=True)
    ]
    order = ranked(candidates, measure)
    if not comparisons and len(runs) > 1:
        comparisons = leads_of(runs, names, candidates.index(order[0]), measure=measure)
    scored = [ScoredRun(name=candidate.run, run_id=candidate.run_id, mean=candidate.mean) for candidate in order]
    verdict = decide(scored, comparisons, protocol=metrics.protocol, measure=measure, over=metrics.headline)
    return Choice(verdict=verdict, cost_unit=unit, candidates=tuple(order))


def ranked(candidates: Sequence[Candidate], measure: str) -> list[Candidate]:
    """Sort candidates by mean, the best first; equal means by cost, then by id."""
    sign = 1 if lower_is_better(measure) else -1
    return sorted(
        candidates,
        key=lambda candidate: (sign * round(candidate.mean, DIGITS), candidate.cost or 0.0, candidate.run_id),
    )


def leads_of(runs: Sequence[RunView], names: Sequence[str], reference: int, *, measure: str) -> Sequence[Comparison]:
    """One run's pairs with all others, each as the other minus it, with the numbers of `compare` for all pairs.

    `names` are what the pairs call the runs.
    """
    joined = together([run.scores for run in runs])
    means = {over: [run.metrics.over(over)[measure] for run in runs] for over in MEANS}
    return leads(
        np.column_stack([of_run.values[measure] for of_run in joined]),
        joined[0],
        names,
        reference,
        measure=measure,
        over=runs[0].metrics.headline,
        means=means,
    )


def costs(runs: Sequence[RunView]) -> tuple[str, list[float | None]]:
    """Return the unit (`tokens`, `characters` or "") and the size of `READ` chunks of mean size in each run."""
    metrics = [run.metrics for run in runs]
    tokens, nws = [of_run.chunk_tokens for of_run in metrics], [of_run.chunk_nws for of_run in metrics]
    if len({of_run.embedder for of_run in metrics}) == 1 and None not in tokens:
        return "tokens", [None if size is None else READ * size.mean for size in tokens]
    if None not in nws:
        return "characters", [None if size is None else READ * size.read for size in nws]
    return "", [None] * len(runs)


def pairs_with(reference: str, comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the pairs of a run, given by its name, each as the other run minus this one."""
    turned = (pair.reversed() if pair.treatment == reference else pair for pair in comparisons)
    return [pair for pair in turned if pair.baseline == reference]


def decide(
    ranked: Sequence[ScoredRun],
    comparisons: Sequence[Comparison],
    *,
    protocol: str,
    measure: str,
    over: Headline,
) -> Verdict:
    """Say which of the runs is best and which others are significantly worse, by `measure`.

    `ranked` are the runs, the best mean first, named as in `comparisons`. `comparisons` has the best run's pairs with
    all others, or else one baseline's pairs.
    """
    best = ranked[0]
    if len(ranked) == 1:
        alone = Result.NOTHING_FOUND if scores_nothing(measure, [best.mean]) else Result.ONE_RUN
        return Verdict(result=alone, protocol=protocol, measure=measure, over=over, reference=best)
    reference, differences = best, pairs_with(best.name, comparisons)
    if comparisons[0].against_baseline or {run.treatment for run in differences} != {run.name for run in ranked[1:]}:
        reference = next(run for run in ranked if run.name == comparisons[0].baseline)
        differences = pairs_with(reference.name, comparisons)
    rank = {run.name: rank_of for rank_of, run in enumerate(ranked)}
    differences.sort(key=lambda run: rank[run.treatment])
    of_measure = {run.treatment: run for run in differences if run.measure == measure}
    # Their p is adjusted over all pairs: it holds for a best run picked by its scores, and is not adjusted again.
    others = tuple(_rival(run, of_measure[run.name].reversed()) for run in ranked if run is not reference)
    first = next(iter(of_measure.values()))
    return Verdict(
        result=_result(best, reference, others, measure),
        protocol=protocol,
        measure=measure,
        over=over,
        reference=reference,
        others=others,
        family=first.family,
        n_queries=first.n_queries,
        n_clusters=first.n_clusters,
        clustered_by=first.clustered_by,
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
    )


def _result(best: ScoredRun, reference: ScoredRun, others: Sequence[Rival], measure: str) -> Result:
    outcomes = {rival.verdict.outcome for rival in others}
    if scores_nothing(measure, [reference.mean, *(rival.run.mean for rival in others)]):
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
