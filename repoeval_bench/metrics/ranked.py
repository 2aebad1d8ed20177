"""Measures of relevant chunks: by rank, among the first k as a set, and of a reader who is satisfied and stops."""

from typing import Annotated, Literal

import numpy as np
from annotated_types import Gt, Lt

from repoeval_bench.core.fields import Doc
from repoeval_bench.metrics.definition import Rel, measure
from repoeval_bench.metrics.judged_run import Entries, FloatArray, JudgedRun, discounted, exponential_gain, share

Gain = Annotated[Literal["linear", "exp"], Doc("linear: g; exp: 2^g - 1")]
Persistence = Annotated[float, Gt(0), Lt(1), Doc("the reader's persistence")]


@measure(
    aliases=("ndcg_cut",),
    formula="DCG@k / IDCG@k, DCG = sum g_i / log2(i + 1), IDCG over the best k of all relevant chunks",
    source="Jaervelin and Kekaelaeinen 2002; gain=exp: Burges et al. 2005; trec_eval ndcg_cut",
    avoid="chunkers of different sizes are compared: each has relevant chunks of its own, and bigger chunks raise "
    "it by themselves; use line_recall",
    bands=((0.9, "excellent"), (0.7, "very good"), (0.5, "good"), (0.3, "fair"), (0.0, "poor")),
)
def ndcg(run: JudgedRun, k: int | None, *, gain: Gain = "linear") -> FloatArray:
    """Gain of the first k, discounted by rank, as a share of the best possible."""

    def dcg(entries: Entries) -> FloatArray:
        # Divided by 2^largest, which the ratio cancels, so that no gain overflows.
        return discounted(run, entries, exponential_gain(run, entries) if gain == "exp" else entries.gain)

    return share(dcg(run.hits.upto(k)), dcg(run.relevant.upto(k)))


@measure(
    aliases=("rr", "recip_rank", "reciprocal_rank"),
    formula="1 / rank of the first hit, 0 without one; MRR is its mean over queries",
    source="Voorhees 1999; trec_eval recip_rank",
    avoid="more than the first relevant chunk matters: use ap or ndcg",
)
def mrr(run: JudgedRun, k: int | None, *, rel: Rel = None) -> FloatArray:
    """Reciprocal rank of the first relevant chunk; without @k over the whole stored ranking."""
    hits = run.hits.at_least(rel).upto(k)
    first = hits.where(hits.ordinal() == 1)
    return run.total(first, 1.0 / first.rank)


@measure(
    aliases=("map", "map_cut", "average_precision"),
    formula="sum over hits of precision@rank / relevant chunks",
    source="Harman 1992; trec_eval map, map_cut",
    avoid="there are many relevant chunks and few results are read: what is not retrieved counts 0",
)
def ap(run: JudgedRun, k: int | None, *, rel: Rel = None) -> FloatArray:
    """Precision at every hit, averaged over all relevant chunks; MAP is its mean over queries."""
    hits = run.hits.at_least(rel).upto(k)
    return share(run.total(hits, hits.ordinal() / hits.rank), run.n_relevant(rel))


@measure(
    formula="(1 - p) sum b_i p^(i - 1)",
    range="0..1; at most 1 - p^min(k, relevant)",
    source="Moffat and Zobel 2008",
    avoid="queries differ in their number of relevant chunks: the ceiling of a query with few is low",
)
def rbp(run: JudgedRun, k: int | None, *, p: Persistence = 0.8, rel: Rel = None) -> FloatArray:
    """Expected gain per result of a reader who goes on to the next with probability p."""
    hits = run.hits.at_least(rel).upto(k)
    return (1 - p) * run.total(hits, p ** (hits.rank - 1.0))


@measure(
    aliases=("auc_recall", "area_recall"),
    formula="mean over i = 1..k of recall@i",
    range="0..1; below 1 where there is more than one relevant chunk",
    source="mean over cutoffs of trec_eval recall",
    avoid="one depth is what is read: use recall@k",
    cutoff="must",
)
def recall_auc(run: JudgedRun, k: int, *, rel: Rel = None) -> FloatArray:
    """Area under recall@k: the mean of recall over all cutoffs from 1 to k (usually 50)."""
    hits = run.hits.at_least(rel).upto(k)
    # A hit at rank r counts in the recalls at r, r + 1, ..., k.
    return share(run.total(hits, (k + 1.0 - hits.rank) / k), run.n_relevant(rel))


@measure(
    aliases=("p", "prec"),
    formula="hits in the first k / k",
    range="0..1; at most min(k, relevant) / k",
    source="Cleverdon 1967; trec_eval P",
    avoid="k is above the number of relevant chunks, so that 1 cannot be reached; compare with its ceiling, or "
    "use rprec",
    cutoff="must",
)
def precision(run: JudgedRun, k: int, *, rel: Rel = None) -> FloatArray:
    """Share of the first k that is relevant."""
    return run.total(run.hits.at_least(rel).upto(k)) / k


@measure(
    aliases=("r",),
    formula="hits in the first k / relevant chunks",
    range="0..1; at most min(k, relevant) / relevant",
    source="Cleverdon 1967; trec_eval recall",
    avoid="chunkers are compared: small chunks make many relevant ones, so use lines@B, or recall beside its ceiling",
    bands=((0.8, "excellent"), (0.6, "good"), (0.4, "fair"), (0.0, "poor")),
)
def recall(run: JudgedRun, k: int | None, *, rel: Rel = None) -> FloatArray:
    """Share of all relevant chunks that is among the first k."""
    return share(run.total(run.hits.at_least(rel).upto(k)), run.n_relevant(rel))


@measure(
    aliases=("wrecall", "gain_recall"),
    formula="gains in the first k / all gains",
    source="Kekaelaeinen and Jaervelin 2002, generalised recall",
    avoid="gains are 0 or 1: it is recall then",
)
def weighted_recall(run: JudgedRun, k: int | None) -> FloatArray:
    """Share of all gain that is among the first k."""
    hits = run.hits.upto(k)
    return share(run.total(hits, hits.gain), run.total(run.relevant, run.relevant.gain))


@measure(
    aliases=("success", "hit_rate", "hits"),
    formula="1 if hits in the first k > 0 else 0",
    range="0 or 1",
    source="trec_eval success",
    avoid="more than one chunk is needed for an answer: it stops counting at the first",
)
def hit(run: JudgedRun, k: int | None, *, rel: Rel = None) -> FloatArray:
    """Presence of at least one relevant chunk among the first k."""
    return np.minimum(run.total(run.hits.at_least(rel).upto(k)), 1.0)


@measure(
    aliases=("f", "f_score"),
    formula="2 P R / (P + R) with P = precision@k, R = recall@k",
    source="van Rijsbergen 1979",
    avoid="k is far from the number of relevant chunks: one of the two halves then dominates",
    cutoff="must",
)
def f1(run: JudgedRun, k: int, *, rel: Rel = None) -> FloatArray:
    """Harmonic mean of precision and recall at k."""
    p, r = precision(run, k, rel=rel), recall(run, k, rel=rel)
    return share(2 * p * r, p + r)


@measure(
    aliases=("r_precision", "rprecision"),
    formula="hits in the first R / R with R = relevant chunks",
    source="trec_eval Rprec",
    avoid="readers see a fixed number of results: use precision@k",
    cutoff="none",
)
def rprec(run: JudgedRun, k: None = None, *, rel: Rel = None) -> FloatArray:  # noqa: ARG001 - takes no k
    """Precision at as many ranks as there are relevant chunks; there it equals recall."""
    hits, n_relevant = run.hits.at_least(rel), run.n_relevant(rel)
    return share(run.total(hits.where(hits.rank <= n_relevant[hits.query])), n_relevant)


@measure(
    formula="sum_i (1 / i) q_i prod_{j<i} (1 - q_j), q = (2^g - 1) / 2^g_max, g_max over the query's whole qrels",
    range="0..1; below 1 even for the best ranking",
    source="Chapelle, Metzler, Zhang and Grinspan 2009",
    avoid="all gains are equal: it is then close to mrr; compare with gdeval's only where its grade 4 occurs",
)
def err(run: JudgedRun, k: int | None) -> FloatArray:
    """Expected reciprocal rank at which a reader stops; the higher a chunk's gain, the likelier a stop there."""
    return _stopping(run, run.hits.upto(k))


@measure(
    formula="ERR@k / ERR@k of the ideal ranking",
    source="Chapelle, Metzler, Zhang and Grinspan 2009, normalised",
    avoid="several chunks are needed for an answer: use ndcg",
)
def nerr(run: JudgedRun, k: int | None) -> FloatArray:
    """ERR as a share of the best possible."""
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
