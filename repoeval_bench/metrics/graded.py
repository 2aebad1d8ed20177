"""Measures that model a reader: the higher a chunk's gain, the likelier the reader is satisfied and stops."""

from __future__ import annotations

import numpy as np

from repoeval_bench.metrics.definition import measure
from repoeval_bench.metrics.judged_run import Entries, FloatArray, JudgedRun, exponential_gain, share


@measure(
    name="err",
    meaning="Expected reciprocal rank at which a reader, likelier to stop the higher the gain, is satisfied.",
    formula="sum_i (1 / i) q_i prod_{j<i} (1 - q_j), q = (2^g - 1) / 2^g_max, g_max over the query's whole qrels",
    range="0..1; below 1 even for the best ranking",
    source="Chapelle, Metzler, Zhang and Grinspan 2009",
    avoid="all gains are equal: it is then close to mrr; compare with gdeval's only where its grade 4 occurs",
)
def err(run: JudgedRun, k: int | None) -> FloatArray:
    """Expected reciprocal rank at which the reader stops; 0 without a relevant chunk: float64 (n_queries,).

    A chunk of gain g satisfies with probability (2^g - 1) / 2^g_max, g_max being the largest gain in the query's
    whole qrels (Chapelle et al. 2009), not the largest grade of a scale, as gdeval has it.
    """
    return _stopping(run, run.hits.upto(k))


@measure(
    name="nerr",
    meaning="ERR as a share of the best possible.",
    formula="ERR@k / ERR@k of the ideal ranking",
    range="0..1",
    source="Chapelle, Metzler, Zhang and Grinspan 2009, normalised",
    avoid="several chunks are needed for an answer: use ndcg",
)
def nerr(run: JudgedRun, k: int | None) -> FloatArray:
    """ERR over the ERR of the best ranking of all relevant chunks; 0 without one: float64 (n_queries,)."""
    return share(err(run, k), _stopping(run, run.relevant.upto(k)))


def _stopping(run: JudgedRun, entries: Entries) -> FloatArray:
    stops = exponential_gain(run, entries)
    expected = np.zeros(run.n_queries)
    still_reading = np.ones(run.n_queries)
    # One step per hit of a query, all queries at once: the chance to get this far depends on the hits above.
    ordinal = entries.ordinal()
    order = np.argsort(ordinal, kind="stable")
    for step in np.split(order, np.cumsum(np.bincount(ordinal)))[1:]:
        query = entries.query[step]
        expected[query] += still_reading[query] * stops[step] / entries.rank[step]
        still_reading[query] *= 1.0 - stops[step]
    return expected
