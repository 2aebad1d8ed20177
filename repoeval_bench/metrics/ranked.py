"""Measures of ranks: a relevant chunk counts for more, the higher it is ranked."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Gt, Lt

from repoeval_bench.core.fields import Doc
from repoeval_bench.metrics.definition import Rel, measure
from repoeval_bench.metrics.judged_run import Entries, FloatArray, JudgedRun, discounted, exponential_gain, share

Gain = Annotated[Literal["linear", "exp"], Doc("linear: g; exp: 2^g - 1")]
Persistence = Annotated[float, Gt(0), Lt(1), Doc("the reader's persistence")]


@measure(
    name="ndcg",
    aliases=("ndcg_cut",),
    meaning="Gain of the first k, discounted by rank, as a share of the best possible.",
    formula="DCG@k / IDCG@k, DCG = sum g_i / log2(i + 1), IDCG over the best k of all relevant chunks",
    range="0..1",
    source="Jaervelin and Kekaelaeinen 2002; gain=exp: Burges et al. 2005; trec_eval ndcg_cut",
    avoid="chunkers of different sizes are compared: each has relevant chunks of its own, and bigger chunks raise "
    "it by themselves; use line_recall",
    bands=((0.9, "excellent"), (0.7, "very good"), (0.5, "good"), (0.3, "fair"), (0.0, "poor")),
)
def ndcg(run: JudgedRun, k: int | None, *, gain: Gain = "linear") -> FloatArray:
    """DCG@k over the DCG of the best k of ALL relevant chunks; 0 where there are none: float64 (n_queries,).

    Gain `linear` is g (Jaervelin & Kekaelaeinen 2002), `exp` is 2^g - 1 (Burges et al. 2005); they agree for 0 and 1.
    """

    def dcg(entries: Entries) -> FloatArray:
        # Divided by 2^largest, which the ratio cancels, so that no gain overflows.
        return discounted(run, entries, exponential_gain(run, entries) if gain == "exp" else entries.gain)

    return share(dcg(run.hits.upto(k)), dcg(run.relevant.upto(k)))


@measure(
    name="mrr",
    aliases=("rr", "recip_rank", "reciprocal_rank"),
    meaning="How high the first relevant chunk is ranked; without @k over the whole stored ranking.",
    formula="1 / rank of the first hit, 0 without one; MRR is its mean over queries",
    range="0..1",
    source="Voorhees 1999; trec_eval recip_rank",
    avoid="more than the first relevant chunk matters: use ap or ndcg",
)
def reciprocal_rank(run: JudgedRun, k: int | None, *, rel: Rel = None) -> FloatArray:
    """Return 1 / rank of the first relevant chunk, 0 without one in the first k: float64 (n_queries,)."""
    hits = run.hits.at_least(rel).upto(k)
    first = hits.where(hits.ordinal() == 1)
    return run.total(first, 1.0 / first.rank)


@measure(
    name="ap",
    aliases=("map", "map_cut", "average_precision"),
    meaning="Precision at every hit, averaged over all relevant chunks; MAP is its mean over queries.",
    formula="sum over hits of precision@rank / relevant chunks",
    range="0..1",
    source="Harman 1992; trec_eval map, map_cut",
    avoid="there are many relevant chunks and few results are read: what is not retrieved counts 0",
)
def average_precision(run: JudgedRun, k: int | None, *, rel: Rel = None) -> FloatArray:
    """Precision at each hit of the first k, summed, over all relevant chunks; 0 without one: float64 (n_queries,)."""
    hits = run.hits.at_least(rel).upto(k)
    return share(run.total(hits, hits.ordinal() / hits.rank), run.n_relevant(rel))


@measure(
    name="rbp",
    meaning="Expected gain per result of a reader who goes on to the next with probability p.",
    formula="(1 - p) sum b_i p^(i - 1)",
    range="0..1; at most 1 - p^min(k, relevant)",
    source="Moffat and Zobel 2008",
    avoid="queries differ in their number of relevant chunks: the ceiling of a query with few is low",
)
def rbp(run: JudgedRun, k: int | None, *, p: Persistence = 0.8, rel: Rel = None) -> FloatArray:
    """Rank-biased precision: (1 - p) times the sum of p^(rank - 1) over the hits: float64 (n_queries,)."""
    hits = run.hits.at_least(rel).upto(k)
    return (1 - p) * run.total(hits, p ** (hits.rank - 1.0))


@measure(
    name="recall_auc",
    aliases=("auc_recall", "area_recall"),
    meaning="Area under recall@k: the mean of recall over all cutoffs from 1 to k (usually 50).",
    formula="mean over i = 1..k of recall@i",
    range="0..1; below 1 where there is more than one relevant chunk",
    source="mean over cutoffs of trec_eval recall",
    avoid="one depth is what is read: use recall@k",
    cutoff="must",
)
def recall_auc(run: JudgedRun, k: int, *, rel: Rel = None) -> FloatArray:
    """Mean of recall@1 .. recall@k; 0 without a relevant chunk: float64 (n_queries,)."""
    hits = run.hits.at_least(rel).upto(k)
    # A hit at rank r counts in the recalls at r, r + 1, ..., k.
    return share(run.total(hits, (k + 1.0 - hits.rank) / k), run.n_relevant(rel))
