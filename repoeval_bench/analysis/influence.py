"""Verdicts that come from one file or repository: the difference when it is left out."""

from collections.abc import Callable, Sequence

import numpy as np

from repoeval_bench.analysis.records import AdjustedP, Influence, Outcome
from repoeval_bench.analysis.sign_flips import ALPHA, EXACT_CLUSTERS, FloatArray, flip_signs, most_p, strict_null
from repoeval_bench.analysis.statistics import Sample, seeded
from repoeval_bench.runs.query_scores import DIGITS, QueryScores
from repoeval_bench.runs.records import Headline

# The limit of a test without a cluster, which Monte-Carlo error alone blurs.
_LIMIT = (ALPHA, ALPHA)


def differences_without(sample: Sample) -> FloatArray:
    """The means of the sample's only column without one cluster, float64 (n_clusters,); NaN where nothing is left."""
    sums, counts, groups = sample.sums[:, 0], sample.counts, sample.groups
    group_sums, group_counts = np.bincount(groups, sums), np.bincount(groups, counts)
    # If a cluster is all of its group, the group is left out with it.
    alone = group_counts[groups] - counts <= 0
    means = group_sums / group_counts
    with np.errstate(divide="ignore", invalid="ignore"):
        without = (group_sums[groups] - sums) / (group_counts[groups] - counts)
        changed = (means.sum() - means[groups] + without) / sample.n_groups
        dropped = (means.sum() - means[groups]) / (sample.n_groups - 1)
    return np.where(alone, dropped if sample.n_groups > 1 else np.nan, changed)


def influences(
    scores: QueryScores, differences: FloatArray, factors: Sequence[float], over: Headline
) -> list[tuple[Influence | None, Influence | None]]:
    """Leave out a file or a repository of columns of paired differences, (n_queries, n_columns).

    `factors` are those of `influence`, `over` is the mean that decides.
    """
    if len(set(scores.repos)) < 2:
        over = "micro"  # with one repository both means are the same
    files = Sample.of(differences, scores.clusters, scores.repos, over)
    names = [str(cluster) for cluster in dict.fromkeys(scores.clusters)]
    if files.n_clusters > len(names):  # a file that is in two repositories is two clusters of the macro mean
        names = [str(cluster) for _, cluster in dict.fromkeys(zip(scores.repos, scores.clusters, strict=True))]
    by_file = [
        influence(Sample(files.sums[:, [i]], files.counts, files.groups), names, factor, seeded)
        for i, factor in enumerate(factors)
    ]
    return [*zip(by_file, _by_repository(scores, differences, files.mean(), factors, over), strict=True)]


def _by_repository(
    scores: QueryScores, differences: FloatArray, whole: FloatArray, factors: Sequence[float], over: Headline
) -> list[Influence | None]:
    """Leave out each repository in turn, and test each column's difference over the files of the others.

    `whole` are the differences of all repositories, (n_columns,).
    """
    if len(set(scores.repos)) < 2 or not factors:
        return [None] * len(factors)
    names = [*dict.fromkeys(scores.repos)]
    without, tests = [], []
    for repository in names:
        rows = [i for i, repo in enumerate(scores.repos) if repo != repository]
        clusters, repos = [scores.clusters[i] for i in rows], [scores.repos[i] for i in rows]
        sample = Sample.of(differences[rows], clusters, repos, over)
        without.append(sample.mean())
        tests.append(_tests(_strict_parts(sample), factors, seeded()))
    low, high = np.min(without, axis=0), np.max(without, axis=0)
    pull = (whole - without) * np.sign(whole)
    return [
        strongest_influence(
            float(low[i]),
            float(high[i]),
            [(name, float(pull[row, i]), tests[row][i]) for row, name in enumerate(names)],
            factor,
        )
        for i, factor in enumerate(factors)
    ]


def influence(
    sample: Sample, names: Sequence[str], factor: float, rng: Callable[[], np.random.Generator]
) -> Influence | None:
    """Leave out each cluster of a sample of one column; test a significant difference without those that may carry it.

    `names` are the clusters', `rng` makes the generator of each test's flips. `factor` leads from a p to its adjusted p
    in the family of tests: 1 for a single test, 0 if the difference is not significant. None where nothing is left.
    """
    without = differences_without(sample)
    if np.isnan(without).all():
        return None
    low, high = float(np.nanmin(without)), float(np.nanmax(without))
    if factor <= 0:
        return Influence(low=low, high=high)
    mean = float(sample.mean()[0])
    pull = (mean - without) * np.sign(mean)
    # A cluster below the mean adds evidence too, so the order is that of z without it, not of the mean without it.
    parts = sample.parts()[0][:, 0] * np.sign(mean)
    squares = np.square(parts)
    z = (parts.sum() - parts) / np.sqrt(np.maximum(squares.sum() - squares, np.finfo(float).tiny))
    # Those without which the evidence is weakest, or all where all flips are made.
    tested = np.argsort(z)[:EXACT_CLUSTERS].tolist()
    columns = np.column_stack([_strict_parts(_without(sample, i)) for i in tested])
    tests = _tests(columns, [factor] * len(tested), rng())
    without_each = [(names[i], float(pull[i]), p) for i, p in zip(tested, tests, strict=True)]
    return strongest_influence(low, high, without_each, factor)


def _tests(parts: FloatArray, factors: Sequence[float], rng: np.random.Generator) -> list[AdjustedP]:
    """Return p of each column's sum with its Monte-Carlo error, not adjusted; parts of (n_clusters, n_columns).

    A column of factor 0, which is not significant as a whole, is not flipped.
    """
    bounds = [most_p(column) for column in parts.T]
    tests = [AdjustedP(bound, 0.0, bound) for bound in bounds]
    columns = list(zip(tests, factors, strict=True))
    # Signs are flipped where a bound of p does not show that the difference is significant.
    open_ = [i for i, (test, factor) in enumerate(columns) if test.times(factor).outcome(_LIMIT) is not Outcome.BETTER]
    if open_:
        flipped = flip_signs(parts[:, open_], np.zeros(len(parts)), rng, intervals=False)
        for i, *ends in zip(open_, flipped.p_strict, flipped.least, flipped.most, strict=True):
            tests[i] = AdjustedP(*map(float, ends))
    return tests


def strongest_influence(
    low: float, high: float, without_each: Sequence[tuple[str, float, AdjustedP]], factor: float
) -> Influence:
    """Return the influence of clusters, each with its name, its pull and the p of the test without it.

    Of those without which the difference is not significant, the one that pulls hardest is named, then the first by
    name.
    """
    adjusted = [(-round(pull, DIGITS), name, p.times(factor)) for name, pull, p in without_each]
    outcomes = {p.outcome(_LIMIT) for _, _, p in adjusted}
    doubtful = Outcome.BORDERLINE in outcomes
    if Outcome.NOT_SIGNIFICANT not in outcomes:
        return Influence(low=low, high=high, doubtful=doubtful)
    # Not the one with the largest p, as that depends on drawn flips.
    _, name, p = min(
        (row for row in adjusted if row[2].outcome(_LIMIT) is Outcome.NOT_SIGNIFICANT), key=lambda row: row[:2]
    )
    return Influence(low=low, high=high, rests_on=name, p=min(1.0, p.p), doubtful=doubtful)


def _strict_parts(sample: Sample) -> FloatArray:
    """Return what each cluster adds to the difference that the strict test tests, (n_clusters, n_columns)."""
    parts, weights = sample.parts()
    return np.asarray(parts - weights[:, None] * strict_null(parts.sum(axis=0), weights))


def _without(sample: Sample, cluster: int) -> Sample:
    others = np.arange(sample.n_clusters) != cluster
    _, groups = np.unique(sample.groups[others], return_inverse=True)
    return Sample(sample.sums[others], sample.counts[others], groups)
