"""A run as a row of a sweep, and where its recall over k bends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from repoeval_bench.runs.view import RunView


def knee(values: Sequence[float], cutoffs: Sequence[int]) -> int | None:
    """The k at which a curve over k bends: farthest above the line between its ends (Satopaa et al. 2011).

    `values` are the curve at each of `cutoffs`, which rise. Beyond the knee another retrieved chunk brings less than on
    average. Of several that are equally far the first; None where the curve does not rise, or has fewer than three
    points.
    """
    curve = np.asarray(values, dtype=np.float64)
    positions = np.asarray(cutoffs)
    if len(curve) < 3 or curve[-1] - curve[0] <= 1e-12:
        return None
    height = (curve - curve[0]) / (curve[-1] - curve[0])
    along = (positions - positions[0]) / (positions[-1] - positions[0])
    return int(positions[np.argmax(np.round(height - along, 12))])


CUTOFFS = (1, 3, 5, 10, 20, 50)
K_MEASURES = (*(f"recall@{k}" for k in CUTOFFS), *(f"ndcg@{k}" for k in CUTOFFS), "recall_auc@50")
"""The measures of a sweep of k."""


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
