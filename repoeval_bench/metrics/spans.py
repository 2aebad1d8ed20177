"""Measures of fit: how closely the retrieved relevant chunks coincide with the gold."""

from __future__ import annotations

from functools import partial

import numpy as np

from repoeval_bench.core.places import iou
from repoeval_bench.metrics.context import look_up
from repoeval_bench.metrics.definition import Rel, measure
from repoeval_bench.metrics.judged_run import Entries, FloatArray, JudgedRun, share

_fit = partial(
    measure,
    range="0..1",
    source="Jaccard 1901, over lines",
    needs=frozenset({"ranking", "places", "gold"}),
    ceiling=None,
)


@_fit(
    name="best_iou",
    meaning="How closely the best retrieved relevant chunk coincides with the target.",
    formula="max over relevant chunks of the first k of shared lines / lines of the union",
    avoid="the target is longer than any chunk: the ceiling is then low; use lines@B",
)
def best_iou(run: JudgedRun, k: int | None, *, rel: Rel = None) -> FloatArray:
    """Largest IoU of a relevant chunk of the first k with the gold; 0 without one: float64 (n_queries,)."""
    hits = run.hits.at_least(rel).upto(k)
    best = np.zeros(run.n_queries)
    np.maximum.at(best, hits.query, _iou(run, hits))
    return best


@_fit(
    name="mean_iou",
    meaning="How closely the retrieved relevant chunks coincide with the target, on average.",
    formula="mean over relevant chunks of the first k of shared lines / lines of the union",
    avoid="several chunks cover the target together: each then scores low; use line_iou",
)
def mean_iou(run: JudgedRun, k: int | None, *, rel: Rel = None) -> FloatArray:
    """Mean IoU of the relevant chunks of the first k with the gold; 0 without one: float64 (n_queries,)."""
    hits = run.hits.at_least(rel).upto(k)
    return share(run.total(hits, _iou(run, hits)), run.total(hits))


def _iou(run: JudgedRun, hits: Entries) -> FloatArray:
    values = []
    for query, rank in zip(hits.query.tolist(), hits.rank.tolist(), strict=True):
        query_id = run.query_ids[query]
        chunk_id = run.ranking(query_id)[rank - 1]
        values.append(iou(look_up("places", run.context.places, chunk_id, "chunk"), run.gold(query_id)))
    return np.array(values, dtype=np.float64)
