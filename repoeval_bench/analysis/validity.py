"""How well measures of retrieval predict what a model writes: rank correlations over completed runs.

Within queries: does the run with the higher value for a query also have the better completion of it? Every query is
centred, so that easy and hard tasks do not matter. Over runs: are the runs' means in the same order? Both are of these
runs and of this model alone. Intervals are expanded percentiles of a bootstrap over clusters: on RepoEval's files those
within queries hold the truth in 93 to 96 % (scripts/simulate_validity.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from repoeval_bench.analysis.choosing import DRAWS, resampled_sums
from repoeval_bench.analysis.comparable import check_comparable, run_names, shared_measures
from repoeval_bench.analysis.robust_errors import effective_clusters
from repoeval_bench.analysis.sign_flips import FEWEST_CLUSTERS, FloatArray
from repoeval_bench.analysis.statistics import SEED, Sample
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.progress import progress
from repoeval_bench.metrics import CEILING, SHARE, TEXT_MEASURES
from repoeval_bench.runs.naming import opened
from repoeval_bench.runs.parts import RESULTS
from repoeval_bench.runs.query_scores import QueryScores, together

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Interval
    from repoeval_bench.runs.records import Completed, Headline
    from repoeval_bench.runs.view import RunView

TARGETS = ("edit_similarity", "identifier_f1")
"""What is predicted, as far as all runs have it."""

FEWEST_RUNS = 3
"""Two runs can only agree or disagree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictor:
    """One measure of retrieval against one of completions.

    `within` is the rank correlation within queries, `over` that of the runs' means; None where one of the two does not
    vary, and an interval None where there are too few clusters. `first_in` is the share of resamples in which no other
    measure has a higher `within`.
    """

    measure: str
    within: float | None
    within_ci: Interval
    first_in: float | None
    over: float | None
    over_ci: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A measure of completions, with what predicts it, the best `within` first.

    `varying` counts the queries whose completions do not all score alike: only these tell anything within queries.
    """

    measure: str
    varying: int
    predictors: tuple[Predictor, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """What was found over these runs, named as tables name them; `mean` is the protocol's, by which they are ranked."""

    runs: tuple[str, ...]
    model: str
    mean: Headline
    n_queries: int
    n_clusters: int
    clustered_by: str
    targets: tuple[Target, ...]


def validity(
    runs: Sequence[RunView | str | Path],
    *,
    measures: str | Sequence[str] = (),
    out: Path = RESULTS,
    seed: int = SEED,
    draws: int = DRAWS,
) -> Validity:
    """How well each measure of retrieval that all runs share (or each of `measures`) predicts their completions.

    The runs are completed, with what they retrieved, by one model with one budget, and differ in chunker, retriever or
    embedder. Fewer than three, and runs that cannot be compared, are a UsageError.
    """
    given = [opened(run, out) for run in runs]
    distinct = list({run.folder: run for run in given}.values())
    _check(distinct)
    shared = shared_measures(distinct)
    written = [name for name in TARGETS if name in shared]
    wanted = shared_measures(distinct, measures) if measures else shared
    predictors = [name for name in wanted if name not in TEXT_MEASURES and not name.endswith((CEILING, SHARE))]
    if not predictors:
        raise UsageError("the runs share no measure of retrieval; evaluate them by the same ones")
    joined = together([run.scores for run in distinct])
    over = distinct[0].metrics.headline
    done = distinct[0].manifest.completion
    assert done is not None, "checked above"
    rng = np.random.default_rng(seed)
    return Validity(
        runs=tuple(run_names(distinct)),
        model=done.model,
        mean=over,
        n_queries=len(joined[0]),
        n_clusters=len(set(joined[0].clusters)),
        clustered_by=joined[0].clustered_by,
        targets=tuple(
            _target(joined, predictors, target, over, rng.spawn(2), draws)
            for target in progress(written, desc="correlate", unit="measures")
        ),
    )


def _check(runs: Sequence[RunView]) -> None:
    if len(runs) < FEWEST_RUNS:
        raise UsageError(
            f"{len(runs)} completed runs tell nothing of a measure; give {FEWEST_RUNS} or more, such as chunkers at "
            "several sizes"
        )
    if bare := [run.run_id for run in runs if run.manifest.completion is None]:
        raise UsageError(f"{', '.join(bare)}: not completed; run repoeval-bench complete on them first")
    settings = [_settings(run.manifest.completion) for run in runs if run.manifest.completion]
    if any(each["context"] != "retrieved" for each in settings):
        raise UsageError("only completions with what was retrieved say something of retrieval; leave the controls out")
    if unlike := [name for name in settings[0] if len({each[name] for each in settings}) > 1]:
        raise UsageError(f"the runs were completed with another {' and '.join(unlike)}; complete them all in one way")
    check_comparable((runs[0], run) for run in runs[1:])


def _settings(done: Completed) -> dict[str, object]:
    return {name: getattr(done, name) for name in ("context", "model", "budget", "fragments", "layout", "ending")}


def _target(
    joined: Sequence[QueryScores],
    predictors: Sequence[str],
    target: str,
    over: Headline,
    rngs: Sequence[np.random.Generator],
    draws: int,
) -> Target:
    """Every predictor against one target; all share their draws."""
    scores = joined[0]
    written = np.column_stack([run.values[target] for run in joined])
    held = [np.column_stack([run.values[name] for run in joined]) for name in predictors]
    within = within_queries(held, written, scores.clusters, rngs[0], draws)
    table = np.column_stack([run.table([target, *predictors]) for run in joined])
    means = Sample.of(table, scores.clusters, scores.repos, over)
    over_runs = Correlations.of(means, lambda each: _of_runs(each, len(joined)), rngs[1], draws)
    firsts = within.firsts()
    rows = [
        Predictor(
            measure=name,
            within=within.value(i),
            within_ci=within.interval(i),
            first_in=None if firsts is None else float(firsts[i]),
            over=over_runs.value(i),
            over_ci=over_runs.interval(i),
        )
        for i, name in enumerate(predictors)
    ]
    rows.sort(key=lambda row: (row.within is None, -(row.within or 0.0), row.measure))
    return Target(measure=target, varying=int((np.ptp(written, axis=1) > 0).sum()), predictors=tuple(rows))


@dataclass(frozen=True, slots=True, eq=False)
class Correlations:
    """Correlations of measures with a target, float64 (n_measures,), and of resamples, (draws, n_measures).

    NaN where one side does not vary. `drawn` is None for fewer than six clusters; `clusters` is how many of equal
    weight would tell as much.
    """

    values: FloatArray
    drawn: FloatArray | None
    clusters: float

    @classmethod
    def of(
        cls, sample: Sample, correlate: Callable[[FloatArray], FloatArray], rng: np.random.Generator, draws: int
    ) -> Self:
        """What `correlate` makes of means, (n, n_columns) -> (n, n_measures): of the sample's, and of resamples."""
        drawn = correlate(resampled_sums(sample, rng, draws)) if sample.n_clusters >= FEWEST_CLUSTERS else None
        return cls(correlate(sample.mean()[None, :])[0], drawn, effective_clusters(sample))

    def value(self, i: int) -> float | None:
        """The correlation of a measure; None where there is none."""
        return None if np.isnan(self.values[i]) else float(self.values[i])

    def interval(self, i: int) -> Interval:
        """Its 95 % interval: Hesterberg's expanded percentiles (2015); None where one draw in a hundred has none.

        A bootstrap of n clusters is too narrow by sqrt((n - 1) / n), and by the normal quantile in place of t's.
        """
        from scipy.special import ndtr, stdtrit

        if self.drawn is None or np.isnan(self.drawn[:, i]).mean() > 0.01:
            return None
        n = self.clusters
        tail = 100 * float(ndtr(-sqrt(n / (n - 1)) * stdtrit(n - 1, 0.975)))
        low, high = np.nanpercentile(self.drawn[:, i], [tail, 100 - tail])
        return float(low), float(high)

    def firsts(self) -> FloatArray | None:
        """In which share of draws each measure has the highest correlation; ties are shared out."""
        if self.drawn is None:
            return None
        known = np.round(np.nan_to_num(self.drawn, nan=-2.0), 12)
        best = (known == known.max(axis=1, keepdims=True)) & ~np.isnan(self.drawn)
        return np.asarray((best / np.maximum(best.sum(axis=1, keepdims=True), 1)).mean(axis=0), dtype=np.float64)


def within_queries(
    measures: Sequence[FloatArray],
    target: FloatArray,
    clusters: Sequence[Hashable],
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> Correlations:
    """Rank correlations within queries; `target` and each measure are float64 (n_queries, n_runs)."""
    written = _centred(target)
    products = [(written**2).sum(axis=1)]
    for ranks in map(_centred, measures):
        products += [(ranks * written).sum(axis=1), (ranks**2).sum(axis=1)]
    return Correlations.of(Sample.micro(np.column_stack(products), clusters), _ratios, rng, draws)


def _centred(values: FloatArray) -> FloatArray:
    """Ranks of the runs within each query, centred, float64 (n_queries, n_runs); equal values share theirs."""
    from scipy.stats import rankdata

    ranks: FloatArray = np.asarray(rankdata(np.round(values, 12), axis=1), dtype=np.float64)
    ranks -= ranks.mean(axis=1, keepdims=True)
    return ranks


def _ratios(means: FloatArray) -> FloatArray:
    """Correlations, (n_draws, n_predictors), from mean products of ranks; NaN where one side does not vary."""
    own, both, theirs = means[:, :1], means[:, 1::2], means[:, 2::2]
    scale = np.sqrt(np.maximum(own * theirs, 0))
    found: FloatArray = np.divide(both, scale, out=np.full(both.shape, np.nan), where=scale > 1e-12)
    return found


def _of_runs(means: FloatArray, n_runs: int) -> FloatArray:
    """Spearman's correlations over the runs' means, (n_draws, n_predictors), the target being the first column."""
    table = means.reshape(len(means), n_runs, -1)
    ranks = np.stack([_centred(table[:, :, i]) for i in range(table.shape[2])], axis=2)
    both = (ranks * ranks[:, :, :1]).sum(axis=1)
    scale = np.sqrt((ranks**2).sum(axis=1) * (ranks[:, :, :1] ** 2).sum(axis=1))
    found = np.divide(both, scale, out=np.full(both.shape, np.nan), where=scale > 1e-12)
    return np.asarray(found[:, 1:], dtype=np.float64)
