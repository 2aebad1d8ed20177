"""Means of one run with their intervals: of its measures, at each k, and of line recall; the rows of a sweep."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from repoeval_bench.analysis.records import Interval
from repoeval_bench.analysis.sign_flips import FloatArray
from repoeval_bench.analysis.statistics import mean_intervals
from repoeval_bench.metrics import BUDGETS, Measure, score_run
from repoeval_bench.runs.query_scores import DIGITS
from repoeval_bench.runs.view import RunView

CUTOFFS = (1, 3, 5, 10, 20, 50)
K_MEASURES = (*(f"recall@{k}" for k in CUTOFFS), *(f"ndcg@{k}" for k in CUTOFFS), "recall_auc@50")
"""The measures of a sweep of k."""

# Values of k: every one up to 10, then fewer, as the curve flattens.
RANKS = (*range(1, 11), 12, 14, 16, 18, *range(20, 51, 5), *range(60, 101, 10))


@dataclass(frozen=True, slots=True)
class Curve:
    """The headline mean at each of `positions`, with its 95 % interval (None: too few clusters)."""

    positions: tuple[int, ...]
    means: tuple[float, ...]
    intervals: tuple[Interval, ...]

    def ends(self) -> tuple[list[float], list[float]]:
        """The lower and the upper ends of the intervals, or the means where there are none."""
        pairs = [(mean, mean) if ci is None else ci for mean, ci in zip(self.means, self.intervals, strict=True)]
        return [low for low, _ in pairs], [high for _, high in pairs]


def mean_of_answered(run: RunView, measure: str) -> float:
    """The mean of a measure over the queries that are in the run's log; the others score 0."""
    counts = run.metrics.counts
    return run.metrics.micro[measure] * counts.queries / (counts.queries - counts.queries_not_in_log)


def headline_means(run: RunView, measures: Sequence[str]) -> dict[str, tuple[float, Interval]]:
    """Return the stored headline mean of each measure that the run has, one at least, with its 95 % interval."""
    scores, stored = run.scores, run.metrics.over(run.metrics.headline)
    names = [name for name in measures if name in scores.values]
    _, intervals = mean_intervals(scores.table(names), scores.clusters, scores.repos, run.metrics.headline)
    return {name: (stored[name], ci) for name, ci in zip(names, intervals, strict=True)}


def over_ranks(run: RunView, names: Sequence[str]) -> dict[str, Curve]:
    """Score measures such as `recall` at every k of `RANKS` that was ranked, from the stored ranking and judgements."""
    depths = tuple(k for k in RANKS if k <= run.metrics.k)
    measures = {name: [Measure(name, k) for k in depths] for name in names}
    stored = run.qrels()
    qrels = {query_id: stored[query_id] for query_id in run.scores.query_ids}
    scores = score_run(run.rankings(), qrels, [*chain.from_iterable(measures.values())])
    return {
        name: _curve(run, np.column_stack([scores.values[str(measure)] for measure in of_name]), depths)
        for name, of_name in measures.items()
    }


def over_budgets(run: RunView) -> Curve | None:
    """Return line recall at every budget that was scored; None where none was."""
    budgets = tuple(budget for budget in BUDGETS if f"line_recall@{budget}" in run.scores.values)
    return _curve(run, run.scores.table([f"line_recall@{budget}" for budget in budgets]), budgets) if budgets else None


def _curve(run: RunView, values: FloatArray, positions: tuple[int, ...]) -> Curve:
    """Return the curve of values, float64 (n_queries, len(positions))."""
    means, intervals = mean_intervals(values, run.scores.clusters, run.scores.repos, run.metrics.headline)
    return Curve(positions, tuple(means), tuple(intervals))


def knee(values: Sequence[float], cutoffs: Sequence[int]) -> int | None:
    """The k at which a curve over k bends: farthest above the line between its ends (Satopaa et al. 2011).

    `values` are the curve at each of `cutoffs`, which rise. Of several that are equally far the first; None where the
    curve does not rise, or has fewer than three points.
    """
    # Beyond the knee another retrieved chunk brings less than on average.
    curve = np.asarray(values, dtype=np.float64)
    positions = np.asarray(cutoffs)
    if len(curve) < 3 or curve[-1] - curve[0] <= 1e-12:
        return None
    height = (curve - curve[0]) / (curve[-1] - curve[0])
    along = (positions - positions[0]) / (positions[-1] - positions[0])
    return int(positions[np.argmax(np.round(height - along, DIGITS))])


def sweep_row(run: RunView) -> dict[str, Any]:
    """The chunker, mean chunk size in nws, number of chunks, the means; the knee where all cutoffs are there."""
    metrics = run.metrics
    means = metrics.headline_means
    recall = {k: means[f"recall@{k}"] for k in CUTOFFS if f"recall@{k}" in means}
    row = {
        "chunker": metrics.chunker,
        "mean_nws": metrics.chunk_nws.mean if metrics.chunk_nws else None,
        "chunks": metrics.counts.chunks,
    }
    if len(recall) == len(CUTOFFS):
        row["knee"] = knee(list(recall.values()), list(recall))
    return {**row, **means}
