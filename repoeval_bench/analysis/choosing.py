"""Which of several runs to choose: what the tests say of them, the chance of being best, what data is missing.

One measure decides, the protocol's headline, over the protocol's own mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.analysis.comparable import check_comparable, headline_measure, run_names
from repoeval_bench.analysis.comparison import MEANS, leads
from repoeval_bench.analysis.records import Candidate, Choice
from repoeval_bench.analysis.robust_errors import POWER, robust_error
from repoeval_bench.analysis.sign_flips import ALPHA, FEWEST_CLUSTERS, FloatArray, flip_signs
from repoeval_bench.analysis.statistics import SEED, Sample
from repoeval_bench.analysis.verdicts import ScoredRun, Verdict, decide
from repoeval_bench.core.errors import UsageError
from repoeval_bench.metrics import lower_is_better
from repoeval_bench.runs.naming import opened
from repoeval_bench.runs.parts import RESULTS
from repoeval_bench.runs.query_scores import QueryScores, together

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Comparison
    from repoeval_bench.runs.records import Headline
    from repoeval_bench.runs.view import RunView

DRAWS = 10_000
"""Resamples of clusters: a probability near 1/2 has a Monte-Carlo error of 0.005."""

READ = 10
"""Chunks that a query is taken to read, where its cost is stated."""

_CELLS = 250_000
"""Draws x clusters that are held at once: arrays that stay in the processor's cache are faster."""

_DIGITS = 12
"""Means are compared at so many digits: a sum's rounding error must not break a tie."""


def choose(
    runs: Sequence[RunView | str | Path],
    comparisons: Sequence[Comparison] = (),
    *,
    out: Path = RESULTS,
    seed: int = SEED,
) -> Choice:
    """Which of two or more stored runs of one question to choose; `seed` is that of every draw.

    A run is an object, or a folder, id or chunker that names one in `out`. `comparisons` are what `compare` says of all
    pairs by the protocol's headline, where that is known already.

    A UsageError for fewer than two different runs, and for runs that `compare` refuses.
    """
    distinct = list({run.folder: run for run in (opened(each, out) for each in runs)}.values())
    if len(distinct) < 2:
        raise UsageError("nothing to choose from: give at least two different runs")
    check_comparable((distinct[0], run) for run in distinct[1:])
    unit, costs = _costs(distinct)
    measure, over = headline_measure(distinct), distinct[0].metrics.headline
    joined = together([run.scores for run in distinct])
    candidates = [
        Candidate(run=name, run_id=run.run_id, mean=run.metrics.over(over)[measure], cost=cost)
        for name, run, cost in zip(run_names(distinct), distinct, costs, strict=True)
    ]
    if not any(each.measure == measure for each in comparisons):
        comparisons = _leads(distinct, joined, candidates, measure, seed)
    return choice_of(
        np.column_stack([each.values[measure] for each in joined]),
        joined[0],
        candidates,
        comparisons,
        measure=measure,
        over=over,
        protocol=distinct[0].metrics.protocol,
        cost_unit=unit,
        seed=seed,
    )


def verdict_on(
    runs: Sequence[RunView], comparisons: Sequence[Comparison] = (), *, measure: str = "", seed: int = SEED
) -> Verdict:
    """Decide what the tests say of one or more different runs of one question.

    `measure` decides, by default that of the first of `comparisons`, else the protocol's headline. `comparisons` are
    those of all pairs, or of all runs with one baseline; without any the best run's pairs are tested among all pairs.
    """
    measure = measure or (comparisons[0].measure if comparisons else headline_measure(runs))
    first = runs[0].metrics
    _, costs = _costs(runs)
    candidates = [
        Candidate(run=name, run_id=run.run_id, mean=run.metrics.over(first.headline)[measure], cost=cost)
        for name, run, cost in zip(run_names(runs), runs, costs, strict=True)
    ]
    if not comparisons and len(runs) > 1:
        comparisons = _leads(runs, together([run.scores for run in runs]), candidates, measure, seed)
    return decide(
        _scored(ranked(candidates, measure)), comparisons, protocol=first.protocol, measure=measure, over=first.headline
    )


def ranked(candidates: Sequence[Candidate], measure: str) -> list[Candidate]:
    """The candidates, the best mean first; those of one mean in the order of their cost, then of their ids."""
    sign = 1 if lower_is_better(measure) else -1
    return sorted(candidates, key=lambda each: (sign * round(each.mean, _DIGITS), each.cost or 0.0, each.run_id))


def _scored(candidates: Sequence[Candidate]) -> list[ScoredRun]:
    return [ScoredRun(name=each.run, run_id=each.run_id, mean=each.mean) for each in candidates]


def _leads(
    runs: Sequence[RunView], joined: Sequence[QueryScores], candidates: Sequence[Candidate], measure: str, seed: int
) -> Sequence[Comparison]:
    """The best run's pairs with all others, as `compare` has them."""
    means = {over: [run.metrics.over(over)[measure] for run in runs] for over in MEANS}
    return leads(
        np.column_stack([each.values[measure] for each in joined]),
        joined[0],
        [each.run for each in candidates],
        candidates.index(ranked(candidates, measure)[0]),
        measure=measure,
        over=runs[0].metrics.headline,
        means=means,
        seed=seed,
    )


def choice_of(
    table: FloatArray,
    scores: QueryScores,
    candidates: Sequence[Candidate],
    comparisons: Sequence[Comparison] = (),
    *,
    measure: str,
    over: Headline,
    protocol: str = "",
    cost_unit: str = "",
    seed: int = SEED,
) -> Choice:
    """`choose` of bare scores: `table` is float64 (n_queries, n_runs), its rows the queries of `scores`.

    `candidates` are the runs in the order of the columns, by whose names `comparisons` call them; probabilities are
    worked out here, and so are the comparisons where there are none.
    """

    def rng() -> np.random.Generator:
        return np.random.default_rng(seed)

    order = [candidates.index(each) for each in ranked(candidates, measure)]
    best = order[0]
    if not comparisons:
        names = [each.run for each in candidates]
        comparisons = leads(table, scores, names, best, measure=measure, over=over, seed=seed)
    verdict = decide(
        _scored([candidates[at] for at in order]), comparisons, protocol=protocol, measure=measure, over=over
    )
    if lower_is_better(measure):
        table = 0.0 - table  # so that the highest is the best
    sample = Sample.of(table, scores.clusters, scores.repos, over)
    chances: list[float | None] = [None] * len(order)
    if sample.n_clusters >= FEWEST_CLUSTERS:
        chances = [*best_shares(sample, rng()).tolist()]
    lead = table[:, [best]] - table[:, order[1:2]]
    by_repo = _repository_leads(lead[:, 0], scores)
    return Choice(
        verdict=verdict,
        cost_unit=cost_unit,
        candidates=tuple(replace(candidates[at], probability=chances[at]) for at in order),
        more_clusters=_more(
            Sample.of(lead, scores.clusters, scores.repos, over), significant=verdict.others[0].is_behind
        ),
        more_repositories=None
        if by_repo is None
        else _more(by_repo, significant=float(flip_signs(*by_repo.parts(), rng()).p[0]) < ALPHA),
    )


def best_shares(sample: Sample, rng: np.random.Generator, draws: int = DRAWS) -> FloatArray:
    """In which share of resamples each column has the highest mean, float64 (n_columns,); ties are shared out."""
    means = np.round(resampled_sums(sample, rng, draws), _DIGITS)
    best = means == means.max(axis=1, keepdims=True)
    return np.asarray((best / best.sum(axis=1, keepdims=True)).mean(axis=0), dtype=np.float64)


def resampled_sums(sample: Sample, rng: np.random.Generator, draws: int = DRAWS) -> FloatArray:
    """The groups' means of each column, summed, in each resample, float64 (draws, n_columns): n_groups times the mean.

    Clusters are drawn with replacement, within their group where there are several.
    """
    means = np.zeros((draws, sample.sums.shape[1]))
    for sums, counts in sample.members():
        n = len(counts)
        rows = max(1, _CELLS // n)
        for start in range(0, draws, rows):
            block = slice(start, min(start + rows, draws))
            size = block.stop - start
            drawn = rng.integers(0, n, (size, n)) + np.arange(0, size * n, n)[:, None]
            times = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)
            means[block] += (times @ sums) / (times @ counts)[:, None]
    return means


def _repository_leads(lead: FloatArray, scores: QueryScores) -> Sample | None:
    """Each repository's mean lead as one observation; None for one repository."""
    by_repo = Sample.micro(lead, scores.repos)
    if by_repo.n_clusters < 2:
        return None
    return Sample(by_repo.sums / by_repo.counts[:, None], np.ones(by_repo.n_clusters), by_repo.groups)


def _more(lead: Sample, *, significant: bool) -> int | None:
    """How many more clusters like these would make the mean of the only column significant with 80 % power.

    An estimate: n (((z.975 + z.8) error / mean)^2 - 1), and at least as many as the test takes to show anything. 0
    where it is `significant`; None where the mean is 0 or the error is unknown.
    """
    from scipy.special import ndtri

    if significant:
        return 0
    mean, error = abs(round(float(lead.mean()[0]), _DIGITS)), float(robust_error(lead).error[0])
    if not error > 0 or mean == 0:
        return None
    ratio = float(ndtri(1 - ALPHA / 2) + ndtri(POWER)) * error / mean
    # The errors of few or skewed clusters can promise what the test did not show: then one more is the least.
    return max(1, FEWEST_CLUSTERS - lead.n_clusters, ceil(lead.n_clusters * (ratio**2 - 1)))


def _costs(runs: Sequence[RunView]) -> tuple[str, list[float | None]]:
    """(unit, what `READ` chunks of mean size come to in each run): tokens of one tokenizer, characters, or nothing."""
    metrics = [run.metrics for run in runs]
    tokens, nws = [each.chunk_tokens for each in metrics], [each.chunk_nws for each in metrics]
    if len({each.embedder for each in metrics}) == 1 and None not in tokens:
        return "tokens", [None if size is None else READ * size.mean for size in tokens]
    if None not in nws:
        return "characters", [None if size is None else READ * size.mean for size in nws]
    return "", [None] * len(runs)
