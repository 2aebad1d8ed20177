"""Measures of fit: how closely the retrieved relevant chunks coincide with the gold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.core.places import iou
from repoeval_bench.metrics.definition import REL, Definition
from repoeval_bench.metrics.judged import share
from repoeval_bench.metrics.lookup import gold_of, look_up

if TYPE_CHECKING:
    from repoeval_bench.metrics.judged import Entries, FloatArray, Judged


def best_iou(judged: Judged, k: int | None, *, rel: float | None = None) -> FloatArray:
    """Largest IoU of a relevant chunk of the first k with the gold; 0 without one: float64 (n_queries,)."""
    hits = judged.hits.at_least(rel).upto(k)
    best = np.zeros(judged.n_queries)
    np.maximum.at(best, hits.query, _iou(judged, hits))
    return best


def mean_iou(judged: Judged, k: int | None, *, rel: float | None = None) -> FloatArray:
    """Mean IoU of the relevant chunks of the first k with the gold; 0 without one: float64 (n_queries,)."""
    hits = judged.hits.at_least(rel).upto(k)
    return share(judged.total(hits, _iou(judged, hits)), judged.total(hits))


def _iou(judged: Judged, hits: Entries) -> FloatArray:
    places = judged.context.places if judged.context else None
    values = []
    rankings: dict[int, tuple[str, ...]] = {}
    for query, rank in zip(hits.query.tolist(), hits.rank.tolist(), strict=True):
        query_id = judged.query_ids[query]
        if query not in rankings:
            rankings[query] = judged.ranking(query_id)
        place, gold = look_up("places", places, rankings[query][rank - 1], "chunk"), gold_of(judged, query_id)
        values.append(iou(place, gold))
    return np.array(values, dtype=np.float64)


_NEEDS = frozenset({"ranking", "places", "gold"})

DEFINITIONS = (
    Definition(
        name="best_iou",
        meaning="How closely the best retrieved relevant chunk coincides with the gold.",
        formula="max over relevant chunks of the first k of shared lines / lines of the union",
        range="0..1",
        source="Jaccard 1901, over lines",
        avoid="the gold is longer than any chunk: the ceiling is then low; use line_recall",
        compute=best_iou,
        options={"rel": REL},
        needs=_NEEDS,
        ceiling=None,
    ),
    Definition(
        name="mean_iou",
        meaning="How closely the retrieved relevant chunks coincide with the gold, on average.",
        formula="mean over relevant chunks of the first k of shared lines / lines of the union",
        range="0..1",
        source="Jaccard 1901, over lines",
        avoid="several chunks cover the gold together: each then scores low; use line_iou",
        compute=mean_iou,
        options={"rel": REL},
        needs=_NEEDS,
        ceiling=None,
    ),
)
