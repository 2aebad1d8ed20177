"""Two or more stored runs, query by query: which differences are real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.analysis.comparable import check_comparable, headline_measure, run_names, shared_measures
from repoeval_bench.analysis.influence import carriers_of, influences
from repoeval_bench.analysis.pair_verdicts import AdjustedP, Outcome, enough_for_equality, judge
from repoeval_bench.analysis.records import Comparison, Comparisons, MeanDifference
from repoeval_bench.analysis.robust_errors import effective_clusters
from repoeval_bench.analysis.sign_flips import FloatArray, flip_signs
from repoeval_bench.analysis.statistics import SEED, Sample, bounded, effect_size, holm
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.progress import progress
from repoeval_bench.metrics import CEILING, lower_is_better
from repoeval_bench.metrics.condensed import COVERAGE
from repoeval_bench.runs.query_scores import QueryScores, together

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Interval
    from repoeval_bench.runs.records import Headline
    from repoeval_bench.runs.view import RunView

MEANS: tuple[Headline, ...] = ("micro", "macro")
"""The means that a run is scored by: over queries, and over repositories."""


def check_margin(equivalence: float | None) -> None:
    """Raise a UsageError if a margin of equality is not between 0 and 1; None means no such test."""
    if equivalence is not None and not 0 < equivalence < 1:
        raise UsageError(
            f"{equivalence:g} is not an equivalence margin, because scores are between 0 and 1; give a difference "
            "above 0 and below 1, such as 0.01"
        )


def compare(
    runs: Sequence[RunView],
    baseline: RunView | None = None,
    *,
    measures: str | Sequence[str] = (),
    equivalence: float | None = None,
    seed: int = SEED,
) -> Comparisons:
    """Compare every pair of `runs`, or each with `baseline`, as `repoeval_bench.compare` promises.

    Ceilings are not tested: they are not a result of a run, and each chunker's misses the best possible by a different
    amount. Shares of judged chunks are not tested either: they say how much was judged, not how well a run ranks.
    Adjusted over all pairs, a verdict also holds for a run that was picked by its scores. All shared measures are
    tested, those that `measures` names are returned: so what a user asks to see changes no verdict.
    """
    check_margin(equivalence)
    given = runs if baseline is None else [baseline, *runs]
    distinct = list({run.folder: run for run in given}.values())
    if len(distinct) < 2:
        raise UsageError("nothing to compare: give at least two different runs")
    pairs = [(a, b) for a, b in combinations(range(len(distinct)), 2) if baseline is None or a == 0]
    check_comparable((distinct[a], distinct[b]) for a, b in pairs)
    named = shared_measures(distinct, measures)
    if not named:
        raise UsageError("nothing to compare: the runs share no measure")
    primary = headline_measure(distinct)
    every = [*dict.fromkeys((*named, *shared_measures(distinct)))]
    every.sort(key=lambda measure: measure != primary)  # it comes first
    joined = together([run.scores for run in distinct])
    table = _Table(
        scores=joined[0],
        columns=np.column_stack([scores.values[measure] for measure in every for scores in joined]),
        measures=every,
        names=run_names(distinct),
        means={over: [run.metrics.over(over)[measure] for measure in every for run in distinct] for over in MEANS},
    )
    question = _Question(headline=distinct[0].metrics.headline, primary=primary, margin=equivalence, seed=seed)
    columns = [_Column(measure, a, b) for a, b in pairs for measure in every]
    flipped = _flipped(table, columns, question)
    tests = _tests(flipped[question.headline], columns, primary)
    shown = [i for i, column in enumerate(columns) if column.measure in named]
    return Comparisons(
        _comparisons(
            table,
            [columns[i] for i in shown],
            {over: [result[i] for i in shown] for over, result in flipped.items()},
            [tests[i] for i in shown],
            question,
        )
    )


def leads(
    table: FloatArray,
    scores: QueryScores,
    names: Sequence[str],
    best: int,
    *,
    measure: str,
    over: Headline,
    means: Mapping[Headline, Sequence[float]] | None = None,
    seed: int = SEED,
) -> Comparisons:
    """Compare the `best` column with each other one only, but adjust p over all pairs.

    `table` is float64 (n_queries, n_runs) of the primary measure; its rows are the queries of `scores`. `means` are the
    columns' means, as stored. The numbers are those of `compare` for the same pairs.
    """
    if means is None:
        both = Sample.both(table, scores.clusters, scores.repos)
        means = {over_mean: sample.mean().tolist() for over_mean, sample in both.items()}
    of_runs = _Table(scores=scores, columns=table, measures=[measure], names=names, means=means)
    question = _Question(headline=over, primary=measure, margin=None, seed=seed)
    every = [_Column(measure, a, b) for a, b in combinations(range(table.shape[1]), 2)]
    all_tests = _tests(_flip(of_runs, every, over, question, intervals=False), every, measure)
    test_of = {
        frozenset((column.baseline, column.treatment)): test for column, test in zip(every, all_tests, strict=True)
    }
    columns = [_Column(measure, best, other) for other in range(table.shape[1]) if other != best]
    tests = [test_of[frozenset((column.baseline, column.treatment))] for column in columns]
    return Comparisons(_comparisons(of_runs, columns, _flipped(of_runs, columns, question), tests, question))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Table:
    """Scores of runs as columns, float64 (n_queries, n_measures x n_runs), those of one measure side by side.

    `names` are the runs', `means` the stored means of all columns.
    """

    scores: QueryScores
    columns: FloatArray
    measures: Sequence[str]
    names: Sequence[str]
    means: Mapping[Headline, Sequence[float]]

    def position(self, measure: str, run: int) -> int:
        return self.measures.index(measure) * len(self.names) + run


@dataclass(frozen=True, slots=True)
class _Column:
    """A difference: the measure, and the positions of its baseline and treatment among the runs."""

    measure: str
    baseline: int
    treatment: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """The mean and the measure that decide, the margin of equality, and the seed of every draw."""

    headline: Headline
    primary: str
    margin: float | None
    seed: int

    def rng(self) -> np.random.Generator:
        """Return a new generator: every part has its own, so leaving one out does not change another's flips."""
        return np.random.default_rng(self.seed)


@dataclass(frozen=True, slots=True)
class _Test:
    """The adjusted p of a difference, None where it is not tested, and the size of its family."""

    p: AdjustedP | None
    family: int


def _pairs(table: _Table, columns: Sequence[_Column]) -> NDArray[np.int64]:
    """Return the positions of each difference's columns, int64 (n_columns, 2)."""
    ends = [[table.position(column.measure, run) for run in (column.baseline, column.treatment)] for column in columns]
    return np.array(ends, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flip:
    """A difference of means and the result of its sign flips."""

    difference: float
    p: float
    error: float
    ci: Interval
    strict: AdjustedP


def _flip(
    table: _Table, columns: Sequence[_Column], over: Headline, question: _Question, *, intervals: bool = True
) -> list[_Flip]:
    """Flip the signs of each difference of the mean over queries, or over repositories."""
    scores = table.scores
    sample = Sample.of(table.columns, scores.clusters, scores.repos, over)
    pairs = _pairs(table, columns)
    flipped = flip_signs(*sample.parts(), question.rng(), pairs=pairs, intervals=intervals)
    means = sample.mean()[pairs]
    rows = zip(means[:, 1] - means[:, 0], flipped.p, flipped.error, bounded(flipped, sample.n_clusters), strict=True)
    strict = zip(flipped.p_strict, flipped.least, flipped.most, strict=True)
    return [
        _Flip(difference=float(difference), p=float(p), error=float(error), ci=ci, strict=AdjustedP(*map(float, ends)))
        for (difference, p, error, ci), ends in zip(rows, strict, strict=True)
    ]


def _flipped(table: _Table, columns: Sequence[_Column], question: _Question) -> dict[Headline, list[_Flip]]:
    """Flip signs for both means; with one repository both are the same."""
    means = MEANS if len(set(table.scores.repos)) > 1 else MEANS[:1]
    flips = {
        over: _flip(table, columns, over, question)
        for over in progress(means, desc="flip signs of files", unit="means")
    }
    return {over: flips.get(over, flips[MEANS[0]]) for over in MEANS}


def _tests(flips: Sequence[_Flip], columns: Sequence[_Column], primary: str) -> list[_Test]:
    """Adjust the strict p by Holm: those of the primary measure, and those of all others."""
    tests = [_Test(None, 0)] * len(columns)
    tested = [i for i, column in enumerate(columns) if is_tested(column.measure)]
    for first in (True, False):
        family = [i for i in tested if (columns[i].measure == primary) is first]
        adjusted = (holm([getattr(flips[i].strict, end) for i in family]) for end in ("p", "least", "most"))
        for i, *ends in zip(family, *adjusted, strict=True):
            tests[i] = _Test(AdjustedP(*ends), len(family))
    return tests


def is_tested(measure: str) -> bool:
    """Return whether a measure says how well a run ranks: neither a ceiling nor a share of judged chunks does."""
    return not measure.endswith(CEILING) and measure not in COVERAGE


def _comparisons(
    table: _Table,
    columns: Sequence[_Column],
    flips: Mapping[Headline, Sequence[_Flip]],
    tests: Sequence[_Test],
    question: _Question,
) -> list[Comparison]:
    """Return the record of each difference, from its flips and its test."""
    scores, headline = table.scores, question.headline
    by_cluster = Sample.both(table.columns[:, :1], scores.clusters, scores.repos)
    n_clusters, effective = by_cluster["micro"].n_clusters, effective_clusters(by_cluster[headline])
    of_primary = [i for i, column in enumerate(columns) if column.measure == question.primary]
    factors = [_factor(flips[headline][i], tests[i]) for i in of_primary]
    differences = [_difference(table, columns[i]) for i in of_primary]
    without = influences(scores, np.column_stack([table.columns[:, :0], *differences]), factors, headline, question.rng)
    influence_of = dict(zip(of_primary, without, strict=True))
    comparisons = []
    for i, column in enumerate(columns):
        means = {over: _mean_difference(table, column, over, flips[over][i]) for over in MEANS}
        by_file, by_repository = influence_of.get(i, (None, None))
        difference, lower = _difference(table, column), lower_is_better(column.measure)
        wins, losses = (int(np.count_nonzero(side)) for side in (difference > 0, difference < 0))
        p, margin, ends = tests[i].p, question.margin, means[headline].ci
        inside = margin is not None and ends is not None and -margin < ends[0] and ends[1] < margin
        # With very few clusters, even an interval of no width does not show that two runs are equal.
        enough = enough_for_equality(n_clusters, margin, ties=not difference.any())
        comparisons.append(
            Comparison(
                measure=column.measure,
                baseline=table.names[column.baseline],
                treatment=table.names[column.treatment],
                headline=headline,
                primary=column.measure == question.primary,
                micro=means["micro"],
                macro=means["macro"],
                p_adjusted=None if p is None else p.p,
                effect_size=effect_size(difference),
                wins=losses if lower else wins,
                ties=len(difference) - wins - losses,
                losses=wins if lower else losses,
                n_queries=len(difference),
                n_clusters=n_clusters,
                n_repositories=len(set(scores.repos)),
                effective_clusters=effective,
                clustered_by=scores.cluster_kind,
                family=tests[i].family,
                verdict=judge(
                    means[headline].difference,
                    p,
                    lower=lower,
                    within=margin if inside and enough else None,
                    carriers=carriers_of(((scores.cluster_kind, by_file), ("repository", by_repository))),
                    doubtful=any(ends is not None and ends.doubtful for ends in (by_file, by_repository)),
                ),
                margin=margin,
                by_file=by_file,
                by_repository=by_repository,
            )
        )
    return comparisons


def _difference(table: _Table, column: _Column) -> FloatArray:
    """Return the difference of each query, float64 (n_queries,)."""
    treatment, baseline = (table.position(column.measure, run) for run in (column.treatment, column.baseline))
    return np.asarray(table.columns[:, treatment] - table.columns[:, baseline])


def _mean_difference(table: _Table, column: _Column, over: Headline, flip: _Flip) -> MeanDifference:
    baseline, treatment = (table.position(column.measure, run) for run in (column.baseline, column.treatment))
    return MeanDifference(
        baseline=table.means[over][baseline],
        treatment=table.means[over][treatment],
        difference=flip.difference,
        ci=flip.ci,
        p=flip.p,
        p_error=flip.error,
        p_strict=flip.strict.p,
    )


def _factor(flip: _Flip, test: _Test) -> float:
    """Return the factor from a p to its adjusted p; 0 unless the adjusted p is significant."""
    if test.p is None or test.p.outcome() is not Outcome.BETTER:
        return 0.0
    return test.p.p / flip.strict.p


def paired_differences(
    baseline: RunView, others: Sequence[RunView], measures: Sequence[str]
) -> tuple[QueryScores, FloatArray]:
    """The baseline's scores, in clusters that all runs know, and the differences other - baseline.

    The differences are float64 (n_queries, n_others x n_measures), queries in the order of the scores.
    """
    base, *joined = together([run.scores for run in (baseline, *others)])
    table = base.table(measures)
    return base, np.column_stack([table[:, :0], *(other.table(measures) - table for other in joined)])
