"""Measures of how much the retrieved chunks repeat each other, by file, by words, by vectors, by sub-topics."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping
from functools import partial
from math import fsum, log2
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le

from repoeval_bench.core.errors import MetricError
from repoeval_bench.core.fields import Doc
from repoeval_bench.core.terms import jaccard, words
from repoeval_bench.metrics.definition import measure
from repoeval_bench.metrics.judged_run import FloatArray, JudgedRun, discounted, look_up, share

NOVEL_BELOW = 0.5
"""A chunk is novel where its Jaccard with every higher one stays below this."""

_among_first = partial(measure, cutoff="must", ceiling=None)


@_among_first(
    aliases=("files",),
    formula="|files of the first k|",
    range="0..k",
    source="count",
    avoid="the answer is in one file, as RepoEval's is: more files are not better then",
    needs=frozenset({"ranking", "places"}),
)
def distinct_files(run: JudgedRun, k: int) -> FloatArray:
    """Number of different files among the first k."""
    return run.per_query(lambda query_id: len({location.file for location in run.places(query_id, k)}))


@_among_first(
    formula="1 - distinct files / k (what was retrieved, where that is fewer than k)",
    range="0..1; lower is more diverse",
    source="complement of distinct_files over k",
    avoid="several chunks of one file are useful, as for long targets",
    lower_is_better=True,
    needs=frozenset({"ranking", "places"}),
)
def redundancy(run: JudgedRun, k: int) -> FloatArray:
    """Share of the first k that repeats the file of a higher chunk."""
    read = np.minimum(run.depth, k).astype(np.float64)
    return share(read - distinct_files(run, k), read)


@_among_first(
    formula="|chunks whose token Jaccard with every higher one is below 0.5| / k (or what was retrieved, if fewer)",
    range="0..1; the first chunk is always novel",
    source="Jaccard 1901 over lower-cased words",
    avoid="chunks are short: a few shared keywords then pass for repetition",
    needs=frozenset({"ranking", "texts"}),
)
def novelty(run: JudgedRun, k: int) -> FloatArray:
    """Share of the first k whose words have a Jaccard similarity below 0.5 with those of every higher chunk."""

    def value(query_id: str) -> float:
        ids = run.ranking(query_id)[:k]
        bags = [frozenset(words(look_up("texts", run.context.texts, chunk_id, "chunk"))) for chunk_id in ids]
        novel = sum(all(jaccard(bag, higher) < NOVEL_BELOW for higher in bags[:i]) for i, bag in enumerate(bags))
        return novel / len(bags) if bags else 0.0

    return run.per_query(value)


@_among_first(
    aliases=("intra_list_diversity",),
    formula="mean over pairs of 1 - cosine; 0 for fewer than two",
    range="0..2, in practice 0..1",
    source="Ziegler, McNee, Konstan and Lausen 2005",
    avoid="embedders are compared: each has a spread of its own; never read it without relevance",
    needs=frozenset({"ranking", "vectors"}),
    bands=((0.8, "very diverse"), (0.6, "diverse"), (0.4, "moderate"), (0.0, "repetitive")),
)
def ild(run: JudgedRun, k: int) -> FloatArray:
    """Intra-list diversity: how far apart the vectors of the first k are, on average."""

    def value(query_id: str) -> float:
        similarity = _similarity(run, query_id, k)
        pairs = similarity[np.triu_indices(len(similarity), k=1)]
        return float(np.mean(1.0 - pairs)) if len(pairs) else 0.0

    return run.per_query(value)


@_among_first(
    formula="gain_i = g_i (alpha + (1 - alpha)(1 - max cosine to higher ranks)), cosine clipped to 0..1; IDCG of g",
    range="0..1; with option alpha=1 it equals nDCG",
    source="this project's protocol, after maximal marginal relevance (Carbonell and Goldstein 1998)",
    avoid="sub-topics are known: use alpha_ndcg",
    cutoff="may",
    needs=frozenset({"ranking", "vectors"}),
)
def novelty_ndcg(
    run: JudgedRun,
    k: int | None,
    *,
    alpha: Annotated[float, Ge(0), Le(1), Doc("share of the gain that novelty cannot take")] = 0.5,
) -> FloatArray:
    """Normalised DCG in which a chunk gains less, the more its vector resembles that of a chunk above it.

    One source calls it alpha-nDCG, but Clarke et al.'s alpha-nDCG counts sub-topics, not vectors.
    """
    hits = run.hits.upto(k)
    shrunk = np.zeros(len(hits.query))
    last = None
    for i, (query, rank) in enumerate(zip(hits.query.tolist(), hits.rank.tolist(), strict=True)):
        if query != last:
            to_higher = np.tril(np.clip(_similarity(run, run.query_ids[query], k), 0.0, 1.0), k=-1)
            last, factors = query, alpha + (1.0 - alpha) * (1.0 - to_higher.max(axis=1, initial=0.0))
        shrunk[i] = factors[rank - 1]
    best = run.relevant.upto(k)
    return share(discounted(run, hits, hits.gain * shrunk), discounted(run, best, best.gain))


def _similarity(run: JudgedRun, query_id: str, k: int | None) -> FloatArray:
    """Cosines between the vectors of the first k, in rank order, float64 (n, n); 0 with a vector of norm 0."""
    ids = run.ranking(query_id)[:k]
    if not ids:
        return np.zeros((0, 0))
    rows = np.array([look_up("vectors", run.context.vectors, i, "chunk") for i in ids], dtype=np.float64, ndmin=2)
    if not np.isfinite(rows).all():
        raise MetricError("a vector has a value that is not finite; embed its text again")
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    product: FloatArray = unit @ unit.T
    return product


@measure(
    formula="gain_i = sum over sub-topics s of J(d_i, s) (1 - alpha)^(earlier that cover s); greedy ideal",
    source="Clarke et al. 2008; ndeval",
    avoid="there is one sub-topic per query: use ndcg",
    needs=frozenset({"ranking", "subtopics"}),
    ceiling=None,
)
def alpha_ndcg(
    run: JudgedRun,
    k: int | None,
    *,
    alpha: Annotated[float, Ge(0), Le(1), Doc("how much a repeated sub-topic loses")] = 0.5,
) -> FloatArray:
    """Normalised DCG over sub-topics: covering one again is worth (1 - alpha) times as much each time."""

    def value(query_id: str) -> float:
        subtopics = look_up("subtopics", run.context.subtopics, query_id, "query")
        ideal = _dcg((subtopics[i] for i in greedy_ideal(subtopics, k or len(subtopics), alpha)), alpha)
        return _dcg((subtopics.get(i, ()) for i in run.ranking(query_id)[:k]), alpha) / ideal if ideal else 0.0

    return run.per_query(value)


def greedy_ideal(subtopics: Mapping[str, Collection[Hashable]], depth: int, alpha: float) -> list[str]:
    """The ids in the order of largest gain given those before, at most `depth`; of equals the larger id."""
    # Finding the best order is NP-hard.
    covered: Counter[Hashable] = Counter()
    left = sorted((i for i, topics in subtopics.items() if topics), reverse=True)
    order: list[str] = []
    while left and len(order) < depth:
        best = max(left, key=lambda i: _gain(subtopics[i], covered, alpha))
        order.append(best)
        left.remove(best)
        covered.update(set(subtopics[best]))
    return order


def _gain(topics: Collection[Hashable], covered: Counter[Hashable], alpha: float) -> float:
    # fsum is exact in any order. Sets have no order, and a last bit would decide between equals.
    return fsum((1.0 - alpha) ** covered[topic] for topic in set(topics))


def _dcg(ranking: Iterable[Collection[Hashable]], alpha: float) -> float:
    covered: Counter[Hashable] = Counter()
    total = 0.0
    for rank, topics in enumerate(ranking, start=1):
        total += _gain(topics, covered, alpha) / log2(rank + 1)
        covered.update(set(topics))
    return total
