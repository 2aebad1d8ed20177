"""How the retrievers that consist of several objects are put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from repoeval_bench.retrieval.choice import Material, choose_first

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from repoeval_bench.core.parts import Embedder, PairScorer, Retriever
    from repoeval_bench.core.registry import Chosen
    from repoeval_bench.retrieval.scope import Chunks

    Ideal = Callable[[], Mapping[str, Sequence[str]]]


def bm25(chunks: Chunks, own: Chunks, *, k1: float, b: float, tokenizer: str, header: str = "read") -> Retriever:
    """BM25, with what is put before a chunk among its terms unless `header` is `skip`."""
    from repoeval_bench.retrieval.bm25 import Bm25Retriever

    return Bm25Retriever(chunks, own, k1=k1, b=b, tokenizer=tokenizer, headers=header == "read")


def hybrid(
    chunks: Chunks,
    own: Chunks,
    embedder: Embedder,
    *,
    fusion: str,
    weight: float,
    k0: int | None = None,
    **lexical: Any,
) -> Retriever:
    """Dense and BM25, fused by ranks or by scores."""
    from repoeval_bench.retrieval.dense import DenseRetriever
    from repoeval_bench.retrieval.hybrid import HybridRetriever, min_max_sum, reciprocal_ranks

    fuse = min_max_sum(weight) if fusion == "sum" else reciprocal_ranks(weight, int(k0 or 0))
    return HybridRetriever(DenseRetriever(chunks, embedder, own), bm25(chunks, own, **lexical), fuse)


def oracle(chunks: Chunks, own: Chunks, ideal: Ideal) -> Retriever:
    """The ranking that knows the answers."""
    from repoeval_bench.retrieval.bounds import OracleRetriever

    return OracleRetriever(chunks, own, ideal())


def rerank(
    chunks: Chunks,
    own: Chunks,
    embedder: Embedder | None,
    ideal: Ideal,
    inner: Chosen,
    scorer: PairScorer | None,
    *,
    k_raw: int,
    first: str,
) -> Retriever:
    """A first stage, and the reranker `inner`; `scorer` is what a model's pairs are read with."""
    from repoeval_bench.retrieval.rerank import RerankRetriever

    assert scorer is not None or not inner.row.target
    stage = choose_first(first).build(Material(chunks, own, embedder, ideal))
    return RerankRetriever(stage, scorer or inner.make(), chunks, own, k_raw)
