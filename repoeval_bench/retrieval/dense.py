"""Exact dense retrieval: one faiss inner-product index per repository, over unit vectors."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.progress import progress
from repoeval_bench.retrieval.ranking import rank
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

    def __init__(self, corpus: Mapping[str, Sequence[Chunk]], embedder: Embedder) -> None:
        import faiss

        faiss.cvar.distance_compute_blas_threshold = 2**31 - 1
        self._embedder = embedder
        self._ids: dict[str, list[str]] = {}
        self._indexes: dict[str, faiss.IndexFlatIP] = {}
        for repo, chunks in corpus.items():
            if not chunks:
                continue
            vectors = embedder.encode([chunk.embed_text for chunk in chunks], role="document")
            self._ids[repo] = [chunk.chunk_id for chunk in chunks]
            self._indexes[repo] = faiss.IndexFlatIP(vectors.shape[1])
            self._indexes[repo].add(vectors)

    def search(self, queries: Sequence[Query], k: int, exclude: Mapping[str, frozenset[str]] | None = None) -> Run:
        """The k best chunks of each query's repository; a repository without chunks gives empty rankings."""
        vectors = self._embedder.encode([query.text for query in queries], role="query")
        rankings: dict[str, Ranking] = {}
        latency: dict[str, float] = {}
        for query, vector in zip(progress(queries, desc="retrieve", unit="queries"), vectors, strict=True):
            start = perf_counter()
            hidden = (exclude or {}).get(query.query_id, frozenset())
            rankings[query.query_id] = rank(
                ((name, score) for name, score in self._scores(query.repo, vector) if name not in hidden), k
            )
            latency[query.query_id] = (perf_counter() - start) * 1000
        return Run(NAME, rankings, latency)

    def _scores(self, repo: str, vector: np.ndarray) -> list[tuple[str, float]]:
        if repo not in self._indexes:
            return []
        ids = self._ids[repo]
        # All chunks are scored, not k: ties at the cut are decided by the one sort, not by faiss.
        scores, positions = self._indexes[repo].search(vector[np.newaxis, :], len(ids))
        return [(ids[position], float(score)) for position, score in zip(positions[0], scores[0], strict=True)]
