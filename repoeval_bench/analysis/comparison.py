"""Two or more stored runs, query by query: which differences are real."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.analysis.comparable import check_comparable, run_names, shared_measures
from repoeval_bench.analysis.records import Comparison, MeanDifference
from repoeval_bench.analysis.statistics import (
    ALPHA,
    DRAWS,
    SEED,
    Sample,
    bca_intervals,
    beside,
    effect_sizes,
    equivalence_p,
    holm,
    minimum_detectable,
    sign_flip_p,
    sign_flip_ps,
)
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.progress import progress
from repoeval_bench.metrics import CEILING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from repoeval_bench.analysis.statistics import FloatArray
    from repoeval_bench.runs.query_scores import QueryScores
    from repoeval_bench.runs.records import Headline
    from repoeval_bench.runs.view import RunView

_MEANS: tuple[Headline, ...] = ("micro", "macro")

FLIPS_PER_TEST = 100
"""Sign flips drawn at least for each test of the family, so that the smallest p (Holm) is 0.01."""


def check_margin(equivalence: float | None) -> None:
    """A UsageError unless it is a margin within which two means could be equal; None asks for no such test."""
    if equivalence is not None and not 0 < equivalence < 1:
        raise UsageError(
            f"{equivalence:g} is not an equivalence margin, because scores are between 0 and 1; give a difference "
            "above 0 and below 1, such as 0.01"
        )


def load() -> None:
    """Import what a comparison needs of scipy: it takes a fifth of a second, which other processes can cover."""
    import scipy.special  # noqa: F401


def compare(
    runs: Sequence[RunView],
    baseline: RunView | None = None,
    *,
    measures: Sequence[str] = (),
    equivalence: float | None = None,
    draws: int = DRAWS,
) -> list[Comparison]:
    """Every pair of `runs`, or every other run against `baseline`, for each measure that all have (or for `measures`).

    Differences are treatment - baseline over the same queries, of a pair the later run minus the earlier; pairs come
    in the order of the runs, (1, 2), (1, 3), …, (2, 3), … Intervals and tests resample files. Ceilings are not tested:
    they are not a result of a run, and each chunker's falls short of the best by an amount of its own. p is adjusted by
    Holm over all other comparisons returned, and the verdict follows from it alone: over all pairs it holds for a run
    that was picked by its scores too. `equivalence` is the margin within which two means count as equal, above 0 and
    below 1; without one, equality is never claimed. Runs of different protocols, data or queries, fewer than two runs
    and measures that they do not share are a UsageError.
    """
    check_margin(equivalence)
    distinct = list({run.folder: run for run in (runs if baseline is None else [baseline, *runs])}.values())
    if len(distinct) < 2:
        raise UsageError("nothing to compare: give at least two different runs")
    pairs = [(a, b) for a, b in combinations(range(len(distinct)), 2) if baseline is None or a == 0]
    check_comparable((distinct[a], distinct[b]) for a, b in pairs)
    chosen = shared_measures(distinct, measures)
    if not chosen:
        raise UsageError("nothing to compare: the runs share no measure")
    scores = distinct[0].scores
    tables = [aligned(run.scores, scores.query_ids).table(chosen) for run in distinct]
    names = run_names(distinct)
    columns = [
        _Column(
            measure,
            (names[a], names[b]),
            {
                over: (distinct[a].metrics.over(over)[measure], distinct[b].metrics.over(over)[measure])
                for over in _MEANS
            },
        )
        for a, b in pairs
        for measure in chosen
    ]
    differences = np.column_stack([tables[b] - tables[a] for a, b in pairs])
    return _comparisons(scores, differences, columns, distinct[0].metrics.headline, equivalence, draws)


@dataclass(frozen=True, slots=True)
class _Column:
    """What one column of differences is about: its measure, and of baseline and treatment the name and the means."""

    measure: str
    names: tuple[str, str]
    means: Mapping[Headline, tuple[float, float]]


def _comparisons(
    scores: QueryScores,
    differences: FloatArray,
    columns: Sequence[_Column],
    headline: Headline,
    margin: float | None,
    draws: int,
) -> list[Comparison]:
    """What resampling and tests say of each column of differences, (n_queries, n_columns)."""
    tested = [i for i, column in enumerate(columns) if not column.measure.endswith(CEILING)]
    means = _resampled(scores, differences, columns, margin, draws, max(1, len(tested)))
    adjusted = _adjusted([each.p for each in means[headline]], tested)
    within = [each.equivalence_p for each in means[headline] if each.equivalence_p is not None]
    equal = _adjusted(within, tested) if within else {}
    by_cluster = Sample.micro(differences, scores.clusters)
    tests, effects = beside(by_cluster), effect_sizes(differences)
    moved = np.sign(np.round(differences, 12))
    return [
        Comparison(
            measure=column.measure,
            baseline=column.names[0],
            treatment=column.names[1],
            headline=headline,
            micro=means["micro"][i],
            macro=means["macro"][i],
            p_adjusted=adjusted.get(i),
            t_p=tests[i][0] if i in adjusted else None,
            wilcoxon_p=tests[i][1] if i in adjusted else None,
            effect_size=effects[i],
            wins=int((moved[:, i] > 0).sum()),
            ties=int((moved[:, i] == 0).sum()),
            losses=int((moved[:, i] < 0).sum()),
            n_queries=len(moved),
            n_clusters=by_cluster.n_clusters,
            clustered_by=scores.clustered_by,
            family=len(tested),
            verdict=_verdict(means[headline][i].difference, adjusted.get(i), equal.get(i), margin),
            margin=margin,
            equivalence_p_adjusted=equal.get(i),
        )
        for i, column in enumerate(columns)
    ]


def _adjusted(p: Sequence[float], tested: Sequence[int]) -> dict[int, float]:
    """Column -> its p, adjusted by Holm over the columns that are tested."""
    return dict(zip(tested, holm([p[column] for column in tested]), strict=True))


def _resampled(
    scores: QueryScores,
    differences: FloatArray,
    columns: Sequence[_Column],
    margin: float | None,
    draws: int,
    n_tests: int,
) -> dict[Headline, list[MeanDifference]]:
    """What resampling says of each column's mean over queries, and of that over repositories."""
    by_repo = Sample.micro(differences, scores.repos)
    samples: dict[Headline, tuple[Sample, Sample]] = {"micro": (Sample.micro(differences, scores.clusters), by_repo)}
    if by_repo.n_clusters > 1:
        # A repository counts once in the macro mean, so it is one observation: its own mean.
        each = Sample(by_repo.sums / by_repo.counts[:, None], np.ones(by_repo.n_clusters), by_repo.groups)
        samples["macro"] = (Sample.macro(differences, scores.clusters, scores.repos), each)

    # Every part begins with a generator of its own: leaving one out does not move another's draws.
    def rng() -> np.random.Generator:
        return np.random.default_rng(SEED)

    fine = [sample for sample, _ in samples.values()]
    # A drawn p is at least 1 / flips; adjusted for many tests it must still be able to pass.
    n_flips = max(draws, FLIPS_PER_TEST * n_tests)
    # A file that is in two repositories is two clusters of the macro mean: then signs cannot be shared.
    together = len({sample.n_clusters for sample in fine}) == 1
    flips = sign_flip_ps(fine, rng(), n_flips) if together else [sign_flip_p(each, rng(), n_flips) for each in fine]
    found: dict[Headline, list[MeanDifference]] = {}
    for (over, (sample, coarse)), p in progress(
        list(zip(samples.items(), flips, strict=True)), desc="resample files", unit="means"
    ):
        mean, ci, ci_repositories = (
            sample.mean(),
            bca_intervals(sample, rng(), draws),
            bca_intervals(coarse, rng(), draws),
        )
        mde, mde_family = minimum_detectable(sample), minimum_detectable(sample, tests=n_tests)
        equal = None if margin is None else equivalence_p(sample, margin, rng(), n_flips)
        found[over] = [
            MeanDifference(
                baseline=column.means[over][0],
                treatment=column.means[over][1],
                difference=float(mean[i]),
                ci=ci[i],
                ci_repositories=ci_repositories[i],
                p=float(p[i]),
                mde=mde[i],
                mde_family=mde_family[i],
                equivalence_p=None if equal is None else float(equal[i]),
            )
            for i, column in enumerate(columns)
        ]
    if "macro" not in found:  # of one repository both means are one
        found["macro"] = [
            replace(each, baseline=column.means["macro"][0], treatment=column.means["macro"][1])
            for each, column in zip(found["micro"], columns, strict=True)
        ]
    return found


def aligned(scores: QueryScores, query_ids: tuple[str, ...]) -> QueryScores:
    """The scores with their queries in this order."""
    if scores.query_ids == query_ids:
        return scores
    place = {query_id: i for i, query_id in enumerate(scores.query_ids)}
    return scores.take([place[query_id] for query_id in query_ids])


def paired_differences(baseline: RunView, others: Sequence[RunView], measures: Sequence[str]) -> FloatArray:
    """Other - baseline, float64 (n_queries, n_others x n_measures), the baseline's queries in its order."""
    base = baseline.scores.table(measures)
    return np.column_stack([aligned(run.scores, baseline.scores.query_ids).table(measures) - base for run in others])


def _verdict(difference: float, p: float | None, equal: float | None, margin: float | None) -> str:
    if p is None:
        return "not tested"
    within = f"within {margin:g}" if equal is not None and equal < ALPHA else ""
    if p < ALPHA:
        word = "better" if difference > 0 else "worse"
        return f"{word}, but {within}" if within else word
    return f"equal {within}" if within else "no difference shown"
