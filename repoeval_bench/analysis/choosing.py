"""Which of several runs to choose: the chance of being best, the runs that cannot be told apart, what data is missing.

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
from repoeval_bench.analysis.records import Candidate, Choice
from repoeval_bench.analysis.robust_errors import POWER, robust_error
from repoeval_bench.analysis.sign_flips import ALPHA, FEWEST_CLUSTERS, FloatArray, flip_signs, near_holm
from repoeval_bench.analysis.statistics import SEED, Sample, holm
from repoeval_bench.core.errors import UsageError
from repoeval_bench.metrics import lower_is_better
from repoeval_bench.runs.naming import opened
from repoeval_bench.runs.parts import RESULTS
from repoeval_bench.runs.query_scores import QueryScores, together

if TYPE_CHECKING:
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


def choose(runs: Sequence[RunView | str | Path], *, out: Path = RESULTS, seed: int = SEED) -> Choice:
    """Which of two or more stored runs of one question to choose; `seed` is that of every draw.

    A run is an object, or a folder, id or chunker that names one in `out`.

    A UsageError for fewer than two different runs, and for runs that `compare` refuses.
    """
    distinct = list({run.folder: run for run in (opened(each, out) for each in runs)}.values())
    if len(distinct) < 2:
        raise UsageError("nothing to choose from: give at least two different runs")
    check_comparable((distinct[0], run) for run in distinct[1:])
    first, measure = distinct[0], headline_measure(distinct)
    joined = together([run.scores for run in distinct])
    table = np.column_stack([each.values[measure] for each in joined])
    unit, costs = _costs(distinct)
    over = first.metrics.headline
    candidates = [
        Candidate(run=name, run_id=run.run_id, mean=run.metrics.over(over)[measure], cost=cost)
        for name, run, cost in zip(run_names(distinct), distinct, costs, strict=True)
    ]
    return choice_of(table, joined[0], candidates, measure=measure, over=over, cost_unit=unit, seed=seed)


def choice_of(
    table: FloatArray,
    scores: QueryScores,
    candidates: Sequence[Candidate],
    *,
    measure: str,
    over: Headline,
    cost_unit: str = "",
    seed: int = SEED,
) -> Choice:
    """`choose` of bare scores: `table` is float64 (n_queries, n_runs), its rows the queries of `scores`.

    `candidates` are the runs in the order of the columns; probabilities and p are worked out here.
    """

    def rng() -> np.random.Generator:
        return np.random.default_rng(seed)

    if lower_is_better(measure):
        table = 0.0 - table  # so that the highest is the best
    sample = Sample.of(table, scores.clusters, scores.repos, over)
    means = np.round(sample.mean(), _DIGITS)
    order = sorted(range(len(means)), key=lambda i: (-means[i], candidates[i].cost or 0.0, candidates[i].run_id))
    best, others = order[0], order[1:]
    leads = Sample.of(table[:, [best]] - table[:, others], scores.clusters, scores.repos, over)
    family = [range(len(others))]
    flipped = flip_signs(*leads.parts(), rng(), undecided=lambda p, error: near_holm(p, error, family))
    p: list[float | None] = [None, *holm(flipped.p.tolist())]
    chances: list[float | None] = [None] * len(means)
    if sample.n_clusters >= FEWEST_CLUSTERS:
        chances = [*best_shares(sample, rng()).tolist()]
    ranked = [replace(candidates[at], probability=chances[at], p=p_of) for at, p_of in zip(order, p, strict=True)]
    by_repo = _repository_leads(table[:, best] - table[:, others[0]], scores)
    return Choice(
        measure=measure,
        over=over,
        clustered_by=scores.clustered_by,
        n_clusters=sample.n_clusters,
        n_repositories=len(set(scores.repos)),
        cost_unit=cost_unit,
        candidates=tuple(ranked),
        more_clusters=_more(leads, ranked[1].p or 0.0),
        more_repositories=None if by_repo is None else _more(by_repo, float(flip_signs(*by_repo.parts(), rng()).p[0])),
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


def _more(leads: Sample, p: float) -> int | None:
    """How many more clusters like these would show the first column's mean with 80 % power, an estimate.

    n (((z.975 + z.8) error / mean)^2 - 1), and at least as many as the test takes to show anything. 0 where `p`, the
    test's, shows it; None where the mean is 0 or the error is unknown.
    """
    from scipy.special import ndtri

    if p < ALPHA:
        return 0
    mean, error = abs(round(float(leads.mean()[0]), _DIGITS)), float(robust_error(leads).error[0])
    if not error > 0 or mean == 0:
        return None
    ratio = float(ndtri(1 - ALPHA / 2) + ndtri(POWER)) * error / mean
    # The errors of few or skewed clusters can promise what the test did not show: then one more is the least.
    return max(1, FEWEST_CLUSTERS - leads.n_clusters, ceil(leads.n_clusters * (ratio**2 - 1)))


def _costs(runs: Sequence[RunView]) -> tuple[str, list[float | None]]:
    """(unit, what `READ` chunks of mean size come to in each run): tokens of one tokenizer, else nws, else nothing."""
    metrics = [run.metrics for run in runs]
    tokens, nws = [each.chunk_tokens for each in metrics], [each.chunk_nws for each in metrics]
    if len({each.embedder for each in metrics}) == 1 and None not in tokens:
        return "tokens", [None if size is None else READ * size.mean for size in tokens]
    if None not in nws:
        return "nws", [None if size is None else READ * size.mean for size in nws]
    return "", [None] * len(runs)
