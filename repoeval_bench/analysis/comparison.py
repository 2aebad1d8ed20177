"""Two or more stored runs, query by query: which differences are real."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.analysis.comparable import check_comparable, headline_measure, run_names, shared_measures
from repoeval_bench.analysis.influence import carriers_of, influences
from repoeval_bench.analysis.new_repositories import new_repositories
from repoeval_bench.analysis.pair_verdicts import PairVerdict, enough_for_equality, judge
from repoeval_bench.analysis.records import Comparison, Comparisons, Influence, MeanDifference, NewRepositories
from repoeval_bench.analysis.robust_errors import effective_clusters, minimum_detectable
from repoeval_bench.analysis.sign_flips import (
    ALPHA,
    FIRST_FLIPS,
    BoolArray,
    FloatArray,
    flip_pairs,
    flip_signs,
    near_alpha,
    near_holm,
)
from repoeval_bench.analysis.statistics import SEED, Sample, bounded, effect_sizes, holm, intervals
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.progress import progress
from repoeval_bench.metrics import CEILING, lower_is_better
from repoeval_bench.runs.query_scores import QueryScores, together

if TYPE_CHECKING:
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
    amount. Adjusted over all pairs, a verdict also holds for a run that was picked by its scores.
    """
    check_margin(equivalence)
    given = runs if baseline is None else [baseline, *runs]
    distinct = list({run.folder: run for run in given}.values())
    if len(distinct) < 2:
        raise UsageError("nothing to compare: give at least two different runs")
    pairs = [(a, b) for a, b in combinations(range(len(distinct)), 2) if baseline is None or a == 0]
    check_comparable((distinct[a], distinct[b]) for a, b in pairs)
    shared = shared_measures(distinct, measures)
    if not shared:
        raise UsageError("nothing to compare: the runs share no measure")
    metrics = distinct[0].metrics
    primary = headline_measure(distinct)
    shared.sort(key=lambda measure: measure != primary)  # it comes first
    joined = together([run.scores for run in distinct])
    scores, tables = joined[0], [of_run.table(shared) for of_run in joined]
    names = run_names(distinct)
    columns = [
        _Column(
            measure,
            (names[a], names[b]),
            {
                over: (distinct[a].metrics.over(over)[measure], distinct[b].metrics.over(over)[measure])
                for over in MEANS
            },
        )
        for a, b in pairs
        for measure in shared
    ]
    differences = np.column_stack([tables[b] - tables[a] for a, b in pairs])
    question = _Question(
        headline=metrics.headline,
        primary=primary,
        margin=equivalence,
        # Every part has a generator of its own, so leaving one out does not change another's flips.
        rng=lambda: np.random.default_rng(seed),
    )
    return Comparisons(_comparisons(scores, differences, columns, question, flipped=_FlippedScores.of(tables, pairs)))


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
    columns' means, as stored. The numbers are those of `compare` for the same pairs; `on_new_repositories` is None.
    """
    others = [column for column in range(table.shape[1]) if column != best]
    pairs = np.array([*combinations(range(table.shape[1]), 2)], dtype=np.int64)
    family = range(len(pairs))
    samples = _samples(scores, table)
    # As in `compare`: with one repository both means are the same, tested as the mean over queries.
    known = over in samples
    p, n_flips = flip_pairs(
        *samples[over if known else "micro"].flips.parts(),
        pairs,
        np.random.default_rng(seed),
        undecided=lambda p, error: near_alpha(p, error) | near_holm(p, error, [family] if known else []),
    )
    adjusted = holm(p.tolist())
    best_pairs = [next(i for i in family if set(pairs[i].tolist()) == {best, other}) for other in others]
    means = means or {
        over_mean: sample.mean().tolist()
        for over_mean, sample in Sample.both(table, scores.clusters, scores.repos).items()
    }
    columns = [
        _Column(
            measure,
            (names[best], names[other]),
            {over_mean: (means[over_mean][best], means[over_mean][other]) for over_mean in MEANS},
        )
        for other in others
    ]
    question = _Question(headline=over, primary=measure, margin=None, rng=lambda: np.random.default_rng(seed))
    tests = _Tests(len(pairs), [adjusted[i] for i in best_pairs], n_flips[best_pairs])
    return Comparisons(_comparisons(scores, table[:, others] - table[:, [best]], columns, question, tests))


@dataclass(frozen=True, slots=True, eq=False)
class _Tests:
    """The family that columns were tested in: its size, and each column's p (Holm) and number of flips."""

    size: int
    adjusted: Sequence[float]
    n_flips: NDArray[np.int64]

    def undecided(self) -> Callable[[FloatArray, FloatArray], BoolArray]:
        """Return a rule for `flip_signs` that gives each column as many flips as it got before."""
        n_drawn = FIRST_FLIPS

        def more(_: FloatArray, __: FloatArray) -> BoolArray:
            nonlocal n_drawn
            open_ = np.asarray(self.n_flips > n_drawn)
            n_drawn *= 2
            return open_

        return more


@dataclass(frozen=True, slots=True, eq=False)
class _FlippedScores:
    """Scores of all runs, whose signs are flipped once for all differences, and the pairs of their columns."""

    table: FloatArray
    pairs: NDArray[np.int64]

    @classmethod
    def of(cls, tables: Sequence[FloatArray], pairs: Sequence[tuple[int, int]]) -> Self | None:
        """Return the columns of all pairs of runs; None unless there are fewer runs than pairs."""
        if len(pairs) <= len(tables):
            return None
        of_run = np.arange(len(tables) * tables[0].shape[1]).reshape(len(tables), -1)
        return cls(np.column_stack(tables), np.concatenate([of_run[list(pair)].T for pair in pairs]))


@dataclass(frozen=True, slots=True)
class _Column:
    """The measure of one column of differences, and the names and means of its baseline and treatment."""

    measure: str
    names: tuple[str, str]
    means: Mapping[Headline, tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """The mean and the measure that decide, the margin of equality, and a maker of random generators."""

    headline: Headline
    primary: str
    margin: float | None
    rng: Callable[[], np.random.Generator]


def _comparisons(  # longer than 60 lines: each field has its line
    scores: QueryScores,
    differences: FloatArray,
    columns: Sequence[_Column],
    question: _Question,
    tests: _Tests | None = None,
    flipped: _FlippedScores | None = None,
) -> list[Comparison]:
    """Test each column of differences, (n_queries, n_columns), by sign flips; `tests` is a family tested before."""
    headline, margin = question.headline, question.margin
    families = _families([column.measure for column in columns], question.primary)
    sizes = {i: tests.size if tests else len(family) for family in families for i in family}
    samples = _samples(scores, differences, flipped)
    means = _both_means(samples, columns, question, families, sizes, tests)
    adjusted = _adjusted(families, means[headline], tests)
    by_cluster, effective = samples["micro"].files, effective_clusters(samples.get(headline, samples["micro"]).files)
    effects = effect_sizes(differences)
    tallies = _tallies(differences, columns)
    of_primary = [i for i, column in enumerate(columns) if column.measure == question.primary]
    factors = [_factor(means[headline][i].p, adjusted.get(i)) for i in of_primary]
    without = influences(scores, differences[:, of_primary], factors, headline, question.rng)
    influence_of = dict(zip(of_primary, without, strict=True))
    on_new: dict[int, NewRepositories] = {}
    if "macro" in samples and tests is None:
        on_new_rows = new_repositories(differences[:, of_primary], scores.clusters, scores.repos, question.rng)
        on_new = dict(zip(of_primary, on_new_rows, strict=True))
    comparisons, cluster_kind = [], scores.cluster_kind
    for i, column in enumerate(columns):
        is_primary, p = i in influence_of, adjusted.get(i)
        by_file, by_repository = influence_of.get(i, (None, None))
        comparisons.append(
            Comparison(
                measure=column.measure,
                baseline=column.names[0],
                treatment=column.names[1],
                headline=headline,
                primary=is_primary,
                micro=means["micro"][i],
                macro=means["macro"][i],
                p_adjusted=p,
                effect_size=effects[i],
                wins=tallies[1][i],
                ties=tallies[0][i],
                losses=tallies[-1][i],
                n_queries=len(differences),
                n_clusters=by_cluster.n_clusters,
                n_repositories=samples["micro"].repositories.n_clusters,
                effective_clusters=effective,
                clustered_by=cluster_kind,
                family=sizes.get(i, 0),
                verdict=_pair_verdict(
                    means[headline][i],
                    p,
                    margin,
                    ((cluster_kind, by_file), ("repository", by_repository)),
                    enough=enough_for_equality(by_cluster.n_clusters, margin, ties=not by_cluster.sums[:, i].any()),
                    lower=lower_is_better(column.measure),
                ),
                margin=margin,
                by_file=by_file,
                by_repository=by_repository,
                on_new_repositories=on_new.get(i),
            )
        )
    return comparisons


def _tallies(differences: FloatArray, columns: Sequence[_Column]) -> dict[int, list[int]]:
    """Return how many queries of each column the treatment is better in (1), ties in (0), and is worse in (-1)."""
    tallies: dict[int, list[int]] = {1: [], 0: [], -1: []}
    for column, of_queries in zip(columns, differences.T, strict=True):
        moved = np.sign(of_queries) * (-1 if lower_is_better(column.measure) else 1)
        for sign, counts in tallies.items():
            counts.append(int(np.count_nonzero(moved == sign)))
    return tallies


def _adjusted(
    families: Sequence[Sequence[int]], means: Sequence[MeanDifference], tests: _Tests | None
) -> dict[int, float]:
    """Column -> p by Holm in its family; no entry for a column that was not tested."""
    if tests is not None:
        return dict(enumerate(tests.adjusted))
    adjusted: dict[int, float] = {}
    for family in families:
        adjusted |= dict(zip(family, holm([means[i].p for i in family]), strict=True))
    return adjusted


@dataclass(frozen=True, slots=True)
class _Samples:
    """The same differences by file and by repository; the signs of `flips` are flipped, in `pairs` of columns."""

    files: Sample
    repositories: Sample
    flips: Sample
    pairs: NDArray[np.int64] | None


def _samples(
    scores: QueryScores, differences: FloatArray, flipped: _FlippedScores | None = None
) -> dict[Headline, _Samples]:
    """The samples behind each mean; without `macro` where there is one repository."""
    by_repo = Sample.micro(differences, scores.repos)
    files = Sample.both(differences, scores.clusters, scores.repos)
    flips = Sample.both(flipped.table, scores.clusters, scores.repos) if flipped else files

    def samples_of(over: Headline, repositories: Sample) -> _Samples:
        return _Samples(files[over], repositories, flips[over], flipped.pairs if flipped else None)

    samples: dict[Headline, _Samples] = {"micro": samples_of("micro", by_repo)}
    if by_repo.n_clusters > 1:
        # A repository counts once in the macro mean, so it is one observation: its own mean.
        own_means = Sample(by_repo.sums / by_repo.counts[:, None], np.ones(by_repo.n_clusters), by_repo.groups)
        samples["macro"] = samples_of("macro", own_means)
    return samples


def _both_means(
    samples: Mapping[Headline, _Samples],
    columns: Sequence[_Column],
    question: _Question,
    families: Sequence[Sequence[int]],
    sizes: Mapping[int, int],
    tests: _Tests | None,
) -> dict[Headline, list[MeanDifference]]:
    """Test each column's mean over queries, and its mean over repositories, by sign flips."""

    def undecided(over: Headline) -> Callable[[FloatArray, FloatArray], BoolArray]:
        if tests is not None and (over == question.headline or len(samples) == 1):
            return tests.undecided()
        of_mean = families if over == question.headline and tests is None else []
        return lambda p, error: near_alpha(p, error) | near_holm(p, error, of_mean)

    means = {
        over: _mean_differences(sample, columns, over, sizes, undecided=undecided(over), rng=question.rng)
        for over, sample in progress(list(samples.items()), desc="flip signs of files", unit="means")
    }
    if "macro" not in means:  # with one repository both means are the same
        means["macro"] = [
            replace(difference, baseline=column.means["macro"][0], treatment=column.means["macro"][1])
            for difference, column in zip(means["micro"], columns, strict=True)
        ]
    return means


def _families(measures: Sequence[str], primary: str) -> list[list[int]]:
    """The columns of the primary measure, and those of all others but ceilings."""
    tested = [i for i, measure in enumerate(measures) if not measure.endswith(CEILING)]
    families = [[i for i in tested if (measures[i] == primary) == first] for first in (True, False)]
    return [family for family in families if family]


def _mean_differences(
    samples: _Samples,
    columns: Sequence[_Column],
    over: Headline,
    sizes: Mapping[int, int],
    *,
    undecided: Callable[[FloatArray, FloatArray], BoolArray],
    rng: Callable[[], np.random.Generator],
) -> list[MeanDifference]:
    """Test each column's mean by sign flips."""
    sample = samples.files
    flipped = flip_signs(*samples.flips.parts(), rng(), pairs=samples.pairs, undecided=undecided)
    mean, files = sample.mean(), bounded(flipped, sample.n_clusters)
    repositories = intervals(samples.repositories, rng())
    detectable = {tests: minimum_detectable(sample, tests=tests) for tests in {1, *sizes.values()}}
    return [
        MeanDifference(
            baseline=column.means[over][0],
            treatment=column.means[over][1],
            difference=float(mean[i]),
            ci=files[i],
            ci_repositories=repositories[i],
            p=float(flipped.p[i]),
            p_error=float(flipped.error[i]),
            mde=detectable[1][i],
            mde_family=detectable[sizes.get(i, 1)][i],
        )
        for i, column in enumerate(columns)
    ]


def _factor(p: float, adjusted: float | None) -> float:
    """Return the factor from p to its adjusted p; 0 if the adjusted p is not significant."""
    return 0.0 if adjusted is None or adjusted >= ALPHA else adjusted / p


def paired_differences(
    baseline: RunView, others: Sequence[RunView], measures: Sequence[str]
) -> tuple[QueryScores, FloatArray]:
    """The baseline's scores, in clusters that all runs know, and the differences other - baseline.

    The differences are float64 (n_queries, n_others x n_measures), queries in the order of the scores.
    """
    base, *joined = together([run.scores for run in (baseline, *others)])
    table = base.table(measures)
    return base, np.column_stack([table[:, :0], *(other.table(measures) - table for other in joined)])


def _pair_verdict(
    mean: MeanDifference,
    p: float | None,
    margin: float | None,
    without: Sequence[tuple[str, Influence | None]],
    *,
    enough: bool,
    lower: bool,
) -> PairVerdict:
    inside = margin is not None and mean.ci is not None and -margin < mean.ci[0] and mean.ci[1] < margin
    # With very few clusters, even an interval of no width does not show that two runs are equal.
    within = margin if inside and enough else None
    return judge(mean.difference, p, lower=lower, within=within, carriers=carriers_of(without))
