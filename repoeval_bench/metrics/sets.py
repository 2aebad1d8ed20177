"""Measures of the first k as a set: how many of the relevant chunks are among them."""

from __future__ import annotations

import numpy as np

from repoeval_bench.metrics.definition import Rel, measure
from repoeval_bench.metrics.judged_run import FloatArray, JudgedRun, share


@measure(
    name="precision",
    aliases=("p", "prec"),
    meaning="Share of the first k that is relevant.",
    formula="hits in the first k / k",
    range="0..1; at most min(k, relevant) / k",
    source="Cleverdon 1967; trec_eval P",
    avoid="k is above the number of relevant chunks, so that 1 cannot be reached; compare with its ceiling, or "
    "use rprec",
    cutoff="must",
)
def precision(run: JudgedRun, k: int, *, rel: Rel = None) -> FloatArray:
    """Relevant chunks among the first k, over k, also where fewer than k were retrieved: float64 (n_queries,)."""
    return run.total(run.hits.at_least(rel).upto(k)) / k


@measure(
    name="recall",
    aliases=("r",),
    meaning="Share of all relevant chunks that is among the first k.",
    formula="hits in the first k / relevant chunks",
    range="0..1; at most min(k, relevant) / relevant",
    source="Cleverdon 1967; trec_eval recall",
    avoid="chunkers are compared: small chunks make many relevant ones, so use lines@B, or recall beside its ceiling",
    bands=((0.8, "excellent"), (0.6, "good"), (0.4, "fair"), (0.0, "poor")),
)
def recall(run: JudgedRun, k: int | None, *, rel: Rel = None) -> FloatArray:
    """Relevant chunks among the first k, over all relevant ones; 0 where there are none: float64 (n_queries,)."""
    return share(run.total(run.hits.at_least(rel).upto(k)), run.n_relevant(rel))


@measure(
    name="weighted_recall",
    aliases=("wrecall", "gain_recall"),
    meaning="Share of all gain that is among the first k.",
    formula="gains in the first k / all gains",
    range="0..1",
    source="Kekaelaeinen and Jaervelin 2002, generalised recall",
    avoid="gains are 0 or 1: it is recall then",
)
def weighted_recall(run: JudgedRun, k: int | None) -> FloatArray:
    """Gains of the first k over all gains; 0 where there are none: float64 (n_queries,)."""
    hits = run.hits.upto(k)
    return share(run.total(hits, hits.gain), run.total(run.relevant, run.relevant.gain))


@measure(
    name="hit",
    aliases=("success", "hit_rate", "hits"),
    meaning="Whether at least one relevant chunk is among the first k.",
    formula="1 if hits in the first k > 0 else 0",
    range="0 or 1",
    source="trec_eval success",
    avoid="more than one chunk is needed for an answer: it stops counting at the first",
)
def hit(run: JudgedRun, k: int | None, *, rel: Rel = None) -> FloatArray:
    """Return 1 where a relevant chunk is among the first k, else 0: float64 (n_queries,)."""
    return np.minimum(run.total(run.hits.at_least(rel).upto(k)), 1.0)


@measure(
    name="f1",
    aliases=("f", "f_score"),
    meaning="Harmonic mean of precision and recall at k.",
    formula="2 P R / (P + R) with P = precision@k, R = recall@k",
    range="0..1",
    source="van Rijsbergen 1979",
    avoid="k is far from the number of relevant chunks: one of the two halves then decides alone",
    cutoff="must",
)
def f1(run: JudgedRun, k: int, *, rel: Rel = None) -> FloatArray:
    """Harmonic mean of precision@k and recall@k; 0 where both are: float64 (n_queries,)."""
    p, r = precision(run, k, rel=rel), recall(run, k, rel=rel)
    return share(2 * p * r, p + r)


@measure(
    name="rprec",
    aliases=("r_precision", "rprecision"),
    meaning="Precision at as many ranks as there are relevant chunks; there it equals recall.",
    formula="hits in the first R / R with R = relevant chunks",
    range="0..1",
    source="trec_eval Rprec",
    avoid="readers see a fixed number of results: use precision@k",
    cutoff="none",
)
def r_precision(run: JudgedRun, k: None = None, *, rel: Rel = None) -> FloatArray:  # noqa: ARG001 - takes no k
    """Precision at k = number of relevant chunks; 0 where there are none: float64 (n_queries,)."""
    hits, n_relevant = run.hits.at_least(rel), run.n_relevant(rel)
    return share(run.total(hits.where(hits.rank <= n_relevant[hits.query])), n_relevant)
