"""Two or more stored runs, query by query: which differences are real."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from repoeval_bench.analysis import records
from repoeval_bench.analysis.comparable import check_comparable, headline_measure, is_tested, run_names, shared_measures
from repoeval_bench.analysis.influence import influences
from repoeval_bench.analysis.sign_flips import FloatArray, flip_signs, strict_ends
from repoeval_bench.analysis.statistics import Sample, bounded, effective_clusters, holm, seeded
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.progress import progress
from repoeval_bench.metrics import lower_is_better
from repoeval_bench.runs.query_scores import QueryScores, together
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
) -> records.Comparisons:
    """Compare every pair of `runs`, or each with `baseline`, as `repoeval_bench.compare` promises.

    All shared measures are tested, those that `measures` names are returned.
    """
    check_margin(equivalence)
    given = runs if baseline is None else [baseline, *runs]
    distinct = list({run.folder: run for run in given}.values())
    if len(distinct) < 2:
        raise UsageError("nothing to compare: give at least two different runs")
    pairs = [(a, b) for a, b in combinations(range(len(distinct)), 2) if baseline is None or a == 0]
    check_comparable((distinct[a], distinct[b]) for a, b in pairs)
    # All are tested whatever is named, so what a user asks to see changes no verdict.
    named = shared_measures(distinct, measures)
    primary = headline_measure(distinct)
    every = [*dict.fromkeys((*named, *shared_measures(distinct)))]
    every.sort(key=lambda measure: measure != primary)  # tables, CSV and Python begin with what decides
    joined = together([run.scores for run in distinct])
    table = _Table(
        scores=joined[0],
        columns=np.column_stack([scores.values[measure] for measure in every for scores in joined]),
        measures=every,
        names=run_names(distinct),
        means={over: [run.metrics.over(over)[measure] for measure in every for run in distinct] for over in MEANS},
        headline=distinct[0].metrics.headline,
        primary=primary,
        margin=equivalence,
        against_baseline=baseline is not None,
    )
    # Adjusted over all pairs, a verdict also holds for a run that was picked by its scores.
    columns = [_Column(measure, a, b) for a, b in pairs for measure in every]
    flips = _flipped(table, columns)
    comparisons = _comparisons(table, columns, flips, _tests(table, columns, flips[table.headline]))
    return records.Comparisons(comparison for comparison in comparisons if comparison.measure in named)


def leads(
    values: FloatArray,
    scores: QueryScores,
    names: Sequence[str],
    best: int,
    *,
    measure: str,
    over: Headline,
    means: Mapping[Headline, Sequence[float]] | None = None,
) -> records.Comparisons:
    """Compare the `best` column with each other one only, but adjust p over all pairs.

    `values` is float64 (n_queries, n_runs) of the primary measure; its rows are the queries of `scores`. `means` are
    the columns' means, as stored. The numbers are those of `compare` for the same pairs.
    """
    table = _Table(
        scores=scores,
        columns=values,
        measures=[measure],
        names=names,
        means=means or {mean: Sample.of(values, scores.clusters, scores.repos, mean).mean().tolist() for mean in MEANS},
        headline=over,
        primary=measure,
        margin=None,
    )
    pairs = combinations(sorted(range(len(names)), key=lambda run: run != best), 2)
    every = [_Column(measure, a, b) for a, b in pairs]
    tests = _tests(table, every, _flip(table, every, over, intervals=False))
    columns = [column for column in every if column.baseline == best]
    return _comparisons(table, columns, _flipped(table, columns), tests[: len(columns)])


@dataclass(frozen=True, slots=True)
class _Column:
    """A difference: the measure, and the positions of its baseline and treatment among the runs."""

    measure: str
    baseline: int
    treatment: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Table:
    """Scores of runs as columns, float64 (n_queries, n_measures x n_runs), those of one measure side by side.

    `names` are the runs', `means` the stored means of all columns. `headline` and `primary` are the mean and the
    measure that decide, `margin` is that of equality.
    """

    scores: QueryScores
    columns: FloatArray
    measures: Sequence[str]
    names: Sequence[str]
    means: Mapping[Headline, Sequence[float]]
    headline: Headline
    primary: str
    margin: float | None
    against_baseline: bool = False

    def positions(self, column: _Column) -> tuple[int, int]:
        """Return the positions of a difference's baseline and treatment among the columns."""
        first = self.measures.index(column.measure) * len(self.names)
        return first + column.baseline, first + column.treatment

    def difference(self, column: _Column) -> FloatArray:
        """Return the difference of each query, float64 (n_queries,)."""
        baseline, treatment = self.positions(column)
        return np.asarray(self.columns[:, treatment] - self.columns[:, baseline])


# A difference of means, and its strict p with what it may be.
_Flip = tuple[records.MeanDifference, records.AdjustedP]

# The adjusted p of a difference, None where it is not tested, and the size of its family.
_Test = tuple[records.AdjustedP | None, int]


def _flip(table: _Table, columns: Sequence[_Column], over: Headline, *, intervals: bool = True) -> list[_Flip]:
    """Flip the signs of each difference of the mean over queries, or over repositories."""
    scores = table.scores
    sample = Sample.of(table.columns, scores.clusters, scores.repos, over)
    pairs = np.array([table.positions(column) for column in columns], dtype=np.int64).reshape(-1, 2)
    flipped = flip_signs(*sample.parts(), seeded(), pairs=pairs, intervals=intervals)
    means = sample.mean()[pairs]
    differences = (means[:, 1] - means[:, 0]).tolist()
    p_values = zip(flipped.p.tolist(), bounded(flipped, sample.n_clusters), strict=True)
    strict = zip(flipped.p_strict.tolist(), flipped.least.tolist(), flipped.most.tolist(), strict=True)
    return [
        (
            records.MeanDifference(
                baseline=table.means[over][baseline],
                treatment=table.means[over][treatment],
                difference=difference,
                ci=ci,
                p=p,
                p_strict=ends[0],
            ),
            records.AdjustedP(*ends),
        )
        for (baseline, treatment), difference, (p, ci), ends in zip(
            pairs.tolist(), differences, p_values, strict, strict=True
        )
    ]


def _flipped(table: _Table, columns: Sequence[_Column]) -> dict[Headline, list[_Flip]]:
    """Flip signs for both means; with one repository both are the same."""
    means = MEANS if len(set(table.scores.repos)) > 1 else MEANS[:1]
    flips = {over: _flip(table, columns, over) for over in progress(means, desc="flip signs of files", unit="means")}
    return {over: flips.get(over, flips[MEANS[0]]) for over in MEANS}


def _tests(table: _Table, columns: Sequence[_Column], flips: Sequence[_Flip]) -> list[_Test]:
    """Adjust the strict p by Holm: those of the primary measure, and those of all others."""
    tests: list[_Test] = [(None, 0)] * len(columns)
    # A ceiling is no result of a run, and each chunker's misses the best possible by a different amount. A share of
    # judged chunks says how much was judged, not how well a run ranks.
    tested = [i for i, column in enumerate(columns) if is_tested(column.measure)]
    for first in (True, False):
        family = [i for i in tested if (columns[i].measure == table.primary) is first]
        adjusted = (holm([getattr(flips[i][1], end) for i in family]) for end in ("p", "least", "most"))
        for i, *ends in zip(family, *adjusted, strict=True):
            tests[i] = records.AdjustedP(*ends), len(family)
    return tests


def _comparisons(
    table: _Table, columns: Sequence[_Column], flips: Mapping[Headline, Sequence[_Flip]], tests: Sequence[_Test]
) -> records.Comparisons:
    """Return the record of each difference, from its flips and its test."""
    scores, headline = table.scores, table.headline
    by_cluster = {over: Sample.of(table.columns[:, :1], scores.clusters, scores.repos, over) for over in MEANS}
    n_clusters, effective = by_cluster["micro"].n_clusters, effective_clusters(by_cluster[headline])
    of_primary = [i for i, column in enumerate(columns) if column.measure == table.primary]
    # The factor from a p to its adjusted p. Influence is asked of significant differences alone, so others have 0.
    factors = [
        p.p / flips[headline][i][1].p if p is not None and p.outcome() is records.Outcome.BETTER else 0.0
        for i in of_primary
        for p, _ in [tests[i]]
    ]
    differences = [table.difference(columns[i]) for i in of_primary]
    without = influences(scores, np.column_stack([table.columns[:, :0], *differences]), factors, headline)
    influence_of = dict(zip(of_primary, without, strict=True))
    comparisons = records.Comparisons()
    for i, column in enumerate(columns):
        by_file, by_repository = influence_of.get(i, (None, None))
        difference, lower = table.difference(column), lower_is_better(column.measure)
        wins, losses = (int(np.count_nonzero(side)) for side in (difference > 0, difference < 0))
        (p, family), margin, mean = tests[i], table.margin, flips[headline][i][0]
        ends = mean.ci and strict_ends(mean.difference, mean.ci, effective)
        inside = margin is not None and ends is not None and max(-ends[0], ends[1]) < margin
        # With very few clusters, even an interval of no width does not show that two runs are equal.
        enough = records.enough_for_equality(n_clusters, margin, ties=not difference.any())
        comparisons.append(
            records.Comparison(
                measure=column.measure,
                baseline=table.names[column.baseline],
                treatment=table.names[column.treatment],
                headline=headline,
                primary=column.measure == table.primary,
                micro=flips["micro"][i][0],
                macro=flips["macro"][i][0],
                p_adjusted=None if p is None else p.p,
                wins=losses if lower else wins,
                ties=len(difference) - wins - losses,
                losses=wins if lower else losses,
                n_queries=len(difference),
                n_clusters=n_clusters,
                effective_clusters=effective,
                clustered_by=scores.cluster_kind,
                family=family,
                verdict=records.judge(
                    mean.difference,
                    p,
                    lower=lower,
                    within=margin if inside and enough else None,
                    influences=zip(scores.kinds, (by_file, by_repository), strict=True),
                ),
                against_baseline=table.against_baseline,
                margin=margin,
                by_file=by_file,
                by_repository=by_repository,
            )
        )
    return comparisons
