"""Measures over a run and qrels: pure functions, equal to trec_eval's where it has them.

`score_run(rankings, qrels, ["ndcg@10"])` scores a run; `Measure.parse` reads a name; `catalogue` lists them all.
"""

from repoeval_bench.metrics.context import Context, Place
from repoeval_bench.metrics.explain import explain
from repoeval_bench.metrics.registry import DEFAULT_MEASURES, Measure, catalogue
from repoeval_bench.metrics.scoring import RunScores, score_query, score_run

__all__ = [
    "DEFAULT_MEASURES",
    "Context",
    "Measure",
    "Place",
    "RunScores",
    "catalogue",
    "explain",
    "score_query",
    "score_run",
]
