"""Measures of the gold's places: the rank of a target's first chunk, and how closely chunks coincide with the gold."""

from functools import partial
from math import log2

import numpy as np

from repoeval_bench.core.spans import iou
from repoeval_bench.metrics.definition import Rel, measure
from repoeval_bench.metrics.judged_run import Entries, FloatArray, JudgedRun, look_up, share


@measure(
    formula="DCG@k / IDCG@k, gain 1 at each rank that is the first to share a line with some target; IDCG: one target "
    "a rank",
    range="0..1; below 1 where one chunk holds two targets",
    source="Semble's benchmark (MinishLab/semble, benchmarks/metrics.py)",
    avoid="chunkers are compared: any chunk of a file counts, so where a chunker splits does not matter; use lines@B",
    needs=frozenset({"ranking", "places", "gold"}),
    ceiling=None,
)
def target_ndcg(run: JudgedRun, k: int | None) -> FloatArray:
    """The nDCG of targets (files or line ranges), not chunks: each counts once, at the first chunk that touches it."""

    def value(query_id: str) -> float:
        targets = run.gold(query_id)
        if not targets:
            return 0.0
        places = run.places(query_id, k)
        # A set, because a chunk that is the first of two targets earns the gain of its rank once.
        ranks = {
            next((rank for rank, place in enumerate(places, start=1) if place.overlap(target)), None)
            for target in targets
        }
        ideal = range(1, min(len(targets), k or len(targets)) + 1)
        return sum(1 / log2(rank + 1) for rank in ranks if rank) / sum(1 / log2(rank + 1) for rank in ideal)

    return run.per_query(value)


_fit = partial(
    measure,
    range="0..1",
    source="Jaccard 1901, over lines",
    needs=frozenset({"ranking", "places", "gold"}),
    ceiling=None,
)


@_fit(
    formula="max over relevant chunks of the first k of shared lines / lines of the union",
    avoid="the target is longer than any chunk: the ceiling is then low; use lines@B",
)
def best_iou(run: JudgedRun, k: int | None, *, rel: Rel = None) -> FloatArray:
    """Overlap of the best retrieved relevant chunk with the target."""
    hits = run.hits.at_least(rel).upto(k)
    best = np.zeros(run.n_queries)
    np.maximum.at(best, hits.query, _iou(run, hits))
    return best


@_fit(
    formula="mean over relevant chunks of the first k of shared lines / lines of the union",
    avoid="several chunks cover the target together: each then scores low; use line_iou",
)
def mean_iou(run: JudgedRun, k: int | None, *, rel: Rel = None) -> FloatArray:
    """Overlap of the retrieved relevant chunks with the target, on average."""
    hits = run.hits.at_least(rel).upto(k)
    return share(run.total(hits, _iou(run, hits)), run.total(hits))


def _iou(run: JudgedRun, hits: Entries) -> FloatArray:
    values = []
    for query, rank in zip(hits.query.tolist(), hits.rank.tolist(), strict=True):
        query_id = run.query_ids[query]
        chunk_id = run.ranking(query_id)[rank - 1]
        values.append(iou(look_up("places", run.context.places, chunk_id, "chunk"), run.gold(query_id)))
    return np.array(values, dtype=np.float64)
