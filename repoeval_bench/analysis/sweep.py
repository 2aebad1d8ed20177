"""A run as a row of a sweep: its realised size, its measures, and the knee of recall over k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.recall_curves import knee

if TYPE_CHECKING:
    from repoeval_bench.runs.view import RunView

CUTOFFS = (1, 3, 5, 10, 20, 50)
K_MEASURES = (*(f"recall@{k}" for k in CUTOFFS), *(f"ndcg@{k}" for k in CUTOFFS), "recall_auc@50")
"""What a sweep of k measures."""


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
