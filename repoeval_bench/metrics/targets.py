"""nDCG over targets: the measure of benchmarks whose gold is whole files."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.metrics.definition import measure

if TYPE_CHECKING:
    from repoeval_bench.metrics.judged_run import FloatArray, JudgedRun


@measure(
    name="target_ndcg",
    meaning="nDCG over the gold's targets: a target, a whole file or lines of one, counts at its first chunk alone.",
    formula="DCG@k / IDCG@k, gain 1 at each rank that is the first to share a line with some target; IDCG: one target "
    "a rank",
    range="0..1; below 1 where one chunk holds two targets",
    source="Semble's benchmark (MinishLab/semble, benchmarks/metrics.py)",
    avoid="chunkers are compared: any chunk of a file is right, so it is blind to where a chunker cuts; use lines@B",
    needs=frozenset({"ranking", "places", "gold"}),
    ceiling=None,
)
def target_ndcg(run: JudgedRun, k: int | None) -> FloatArray:
    """Return the nDCG@k of the first chunk of each target; 0 for a query without any: float64 (n_queries,)."""
    return np.array([_of_query(run, query_id, k) for query_id in run.query_ids], dtype=np.float64)


def _of_query(run: JudgedRun, query_id: str, k: int | None) -> float:
    targets = run.gold(query_id)
    if not targets:
        return 0.0
    places = run.places(query_id, k)
    ranks = {
        next((rank for rank, place in enumerate(places, start=1) if place.overlap(target)), None) for target in targets
    }
    ideal = range(1, min(len(targets), k or len(targets)) + 1)
    return sum(1 / log2(rank + 1) for rank in ranks if rank) / sum(1 / log2(rank + 1) for rank in ideal)
