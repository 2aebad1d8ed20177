"""The best of a first stage, ranked again by a scorer that reads query and chunk together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge

from repoeval_bench.core.fields import Doc, Positive
from repoeval_bench.core.parts import Embedder, PairScorer
from repoeval_bench.core.progress import progress
from repoeval_bench.core.run import Query, Ranking, Run
from repoeval_bench.core.spec import format_spec
from repoeval_bench.core.terms import TOKENIZERS, dice
from repoeval_bench.embedding.models import DeviceName
from repoeval_bench.retrieval.ranking import Chunks, Excluded, rank
from repoeval_bench.retrieval.registry import RERANKERS, RETRIEVERS, choose_retriever

if TYPE_CHECKING:
    from repoeval_bench.core.registry import ResolvedSpec
    from repoeval_bench.embedding.cross_encoder import CrossEncoderScorer

_STEP = 1e-3  # distance between scores of chunks that are not reranked: more than the sort's rounding


@RETRIEVERS.register(
    meaning="the first stage's best, ranked again by a reranker; see `list rerankers`",
    target="RERANKER",
    inner=RERANKERS,
)
class RerankRetriever:
    """Reranks the `k_raw` best of a first stage by `scorer`, if the reranker `inner` is a model, else by `inner`.

    The rest of the first stage's ranking follows in its order, with scores that only encode this order.
    """

    def __init__(
        self,
        chunks: Chunks,
        own: Chunks,
        embedder: Embedder | None,
        ideal: Callable[[], Mapping[str, Sequence[str]]],
        inner: ResolvedSpec,
        scorer: PairScorer | None,
        *,
        k_raw: Annotated[Positive, Doc("how many of the first stage's best are ranked again")] = 100,
        first: Annotated[
            Literal["dense", "bm25", "hybrid", "jaccard", "grep", "random"],
            Doc("the first stage, with its usual options"),
        ] = "dense",
    ) -> None:
        assert scorer is not None or not inner.row.target
        self._first = choose_retriever(first).build(chunks, own, embedder=embedder, ideal=ideal)
        self._scorer: PairScorer = scorer or inner.make()
        self._k_raw = k_raw
        self._chunks = {chunk.chunk_id: chunk for part in (chunks, own) for of_key in part.values() for chunk in of_key}

    def search(self, queries: Sequence[Query], k: int, excluded: Excluded | None = None) -> Run:
        """Return the k best chunks of each query, from the max(k, k_raw) best of the first stage."""
        read, cut = self._scorer.pairs
        raw = self._first.search(queries, max(k, self._k_raw), excluded)
        rankings: dict[str, Ranking] = {}
        spent: dict[str, float] = {}
        for query in progress(queries, desc="rerank", unit="queries"):
            start, n_before = perf_counter(), self._scorer.n_cached
            ranking = raw.rankings[query.query_id]
            ids = [chunk_id for chunk_id, _ in ranking[: self._k_raw]]
            scores = self._scorer.score(query.text, [self._chunks[chunk_id].embed_text for chunk_id in ids])
            pairs = list(zip(ids, scores, strict=True))
            lowest = min(scores, default=0.0)
            rest = ranking[self._k_raw :]
            pairs += [(chunk_id, lowest - _STEP * offset) for offset, (chunk_id, _) in enumerate(rest, start=1)]
            rankings[query.query_id] = rank(pairs, k)
            # With cached scores the time to read the pairs is not known.
            if self._scorer.n_cached == n_before:
                spent[query.query_id] = (perf_counter() - start) * 1000
        counts = (self._scorer.pairs[0] - read, self._scorer.pairs[1] - cut)
        return Run(tag="rerank", rankings=rankings, latency_ms=raw.latency_ms, rerank_ms=spent, pairs=counts)


@RERANKERS.register(name="overlap", meaning="the code tokens that a chunk shares with the query; needs no model")
class OverlapScorer(PairScorer):
    """score = Dice's coefficient over the code tokens, repeats counted; 0 for texts without a token."""

    def __init__(self) -> None:
        self._terms: dict[str, Counter[str]] = {}

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Dice's coefficient of the query with each text."""
        query_terms = Counter(TOKENIZERS["code"](query))
        scores = []
        for text in texts:
            if text not in self._terms:
                self._terms[text] = Counter(TOKENIZERS["code"](text))
            scores.append(dice(self._terms[text], query_terms))
        return scores


@RERANKERS.register(
    name="MODEL",
    meaning="a cross-encoder: a folder or a name on the hub",
    target="MODEL",
    requires=("sentence_transformers",),
)
def cross_encoder(
    model: str,
    *,
    max_length: Annotated[
        Annotated[int, Ge(8)] | None, Doc("tokens of query and chunk that are read; the model's limit unless given")
    ] = None,
    device: Annotated[DeviceName | None, Doc("where the model runs; cpu unless given")] = None,
) -> CrossEncoderScorer:
    """Return the scorer that is a model; it is loaded when the first pair is scored."""
    from repoeval_bench.embedding.cross_encoder import find_cross_encoder

    options = {"max_length": max_length, "device": device}
    named = {name: value for name, value in options.items() if value is not None}
    return find_cross_encoder(format_spec("st", named, model))
