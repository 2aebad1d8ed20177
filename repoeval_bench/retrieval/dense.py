"""Exact dense retrieval: one faiss inner-product index per repository, over unit vectors."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.progress import progress
from repoeval_bench.retrieval.ranking import rank
from repoeval_bench.retrieval.visible import hidden_from
from repoeval_bench.types import Run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from repoeval_bench.types import Chunk, Embedder, Query, Ranking

NAME = "dense"


class DenseRetriever:
    """Cosine similarity between a query and every chunk of its repository.

    The score of a pair depends on that pair alone: faiss is kept off its blocked matrix product, whose last bits
    change with the number of queries, so that a run over ten tasks agrees with a run over all.
    """

    def __init__(
        self,
        corpus: Mapping[str, Sequence[Chunk]],
        embedder: Embedder,
        own: Mapping[str, Sequence[Chunk]] | None = None,
    ) -> None:
        import faiss

        faiss.cvar.distance_compute_blas_threshold = 2**31 - 1
        self._embedder = embedder
        self._own = own or {}
        self._ids: dict[str, list[str]] = {}
        self._indexes: dict[str, faiss.IndexFlatIP] = {}
        # A query's own chunks have an index beside the repository's; no key is in both.
        parts = {**corpus, **{self._own_key(query_id): chunks for query_id, chunks in self._own.items()}}
        parts = {key: chunks for key, chunks in parts.items() if chunks}
        vectors = embedder.encode([chunk.embed_text for chunks in parts.values() for chunk in chunks], role="document")
        start = 0
        for key, chunks in parts.items():
            self._ids[key] = [chunk.chunk_id for chunk in chunks]
            self._indexes[key] = faiss.IndexFlatIP(vectors.shape[1])
            self._indexes[key].add(vectors[start : start + len(chunks)])
            start += len(chunks)

    def search(self, queries: Sequence[Query], k: int, exclude: Mapping[str, frozenset[str]] | None = None) -> Run:
        """The k best chunks of each query's repository; a repository without chunks gives empty rankings."""
        vectors = self._embedder.encode([query.text for query in queries], role="query")
        rankings: dict[str, Ranking] = {}
        latency: dict[str, float] = {}
        for query, vector in zip(progress(queries, desc="retrieve", unit="queries"), vectors, strict=True):
            start = perf_counter()
            hidden = hidden_from(query, exclude)
            scored = self._scores(query.repo, vector) + self._scores(self._own_key(query.query_id), vector)
            rankings[query.query_id] = rank(((name, score) for name, score in scored if name not in hidden), k)
            latency[query.query_id] = (perf_counter() - start) * 1000
        return Run(NAME, rankings, latency)

    @staticmethod
    def _own_key(query_id: str) -> str:
        return f"\0{query_id}"

    def _scores(self, key: str, vector: np.ndarray) -> list[tuple[str, float]]:
        if key not in self._indexes:
            return []
        ids = self._ids[key]
        # All chunks are scored, not k: ties at the cut are decided by the one sort, not by faiss.
        scores, positions = self._indexes[key].search(vector[np.newaxis, :], len(ids))
        return [(ids[position], float(score)) for position, score in zip(positions[0], scores[0], strict=True)]
