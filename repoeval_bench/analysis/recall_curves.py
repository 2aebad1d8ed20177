"""Recall over k, query by query, and where such a curve bends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.runs.trec import as_field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from repoeval_bench.analysis.statistics import FloatArray
    from repoeval_bench.core.run import Qrels


def recall_curves(
    query_ids: Sequence[str], rankings: Mapping[str, Sequence[str]], qrels: Qrels, depth: int
) -> FloatArray:
    """recall@k for k = 1..depth: float64 (n_queries, depth); 0 for a query without a relevant chunk.

    `qrels` spell their ids as TREC files do, `rankings` as the run log does.
    """
    curves = np.zeros((len(query_ids), depth))
    for row, query_id in enumerate(query_ids):
        gains = qrels.get(as_field(query_id, "query id"), {})
        for rank, chunk_id in enumerate(rankings.get(query_id, ())[:depth]):
            if as_field(chunk_id, "chunk id") in gains:
                curves[row, rank] = 1 / len(gains)
    return np.cumsum(curves, axis=1)


def knee(values: FloatArray | Sequence[float], cutoffs: Sequence[int] | None = None) -> int | None:
    """The k at which a curve over k bends: farthest above the line between its ends (Satopaa et al. 2011).

    `values` are the curve at each of `cutoffs`, which rise; at k = 1, 2, … unless given. Beyond the knee another
    retrieved chunk brings less than on average. Of several that are equally far the first; None where the curve does
    not rise, or has fewer than three points.
    """
    curve = np.asarray(values, dtype=np.float64)
    at = np.arange(1, len(curve) + 1) if cutoffs is None else np.asarray(cutoffs)
    if len(curve) < 3 or curve[-1] - curve[0] <= 1e-12:
        return None
    height = (curve - curve[0]) / (curve[-1] - curve[0])
    along = (at - at[0]) / (at[-1] - at[0])
    return int(at[np.argmax(np.round(height - along, 12))])
