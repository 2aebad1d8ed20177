"""Exact dense retrieval: one index of unit vectors per repository."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.parts import Embedder
from repoeval_bench.core.progress import progress
from repoeval_bench.core.run import Query, Ranking, Run
from repoeval_bench.retrieval.ranking import Chunks, Excluded, FloatArray, excluded_from, rank_column
from repoeval_bench.retrieval.registry import RETRIEVERS
from repoeval_bench.retrieval.vector_index import VectorIndex, stack

NAME = "dense"

AT_ONCE = 4096
"""Chunks whose vectors are read at a time."""


@RETRIEVERS.register(
    meaning="exact cosine similarity between query and chunk vectors (numpy; above 4,096 vectors in an index, faiss)",
    requires=("faiss",),
)
class DenseRetriever:
    """Cosine similarity between a query and every chunk of its repository."""

    def __init__(self, chunks: Chunks, embedder: Embedder, own: Chunks | None = None) -> None:
        self._embedder = embedder
        # A query's own chunks have an index beside the repository's; no key is in both.
        parts = {**chunks, **{self._own_key(query_id): part for query_id, part in (own or {}).items()}}
        parts = {key: part for key, part in parts.items() if part}
        self._ids = {key: [chunk.chunk_id for chunk in part] for key, part in parts.items()}
        texts = [chunk.embed_text for part in parts.values() for chunk in part]
        rows = stack(
            embedder.encode(texts[start : start + AT_ONCE], "document") for start in range(0, len(texts), AT_ONCE)
        )
        self._indexes: dict[str, VectorIndex] = {}
        first = 0
        for key, part in parts.items():
            self._indexes[key] = VectorIndex(rows[first : first + len(part)])
            first += len(part)

    def search(self, queries: Sequence[Query], k: int, excluded: Excluded | None = None) -> Run:
        """Return the k best chunks of each query's repository; a repository without chunks gives empty rankings."""
        rows = self._embedder.encode([query.text for query in queries], "query")
        by_repo: dict[str, list[int]] = defaultdict(list)
        for position, query in enumerate(queries):
            by_repo[query.repo].append(position)
        rankings: dict[str, Ranking] = {query.query_id: () for query in queries}
        latency: dict[str, float] = {}
        with progress(desc="retrieve", unit="queries", total=len(queries)) as bar:
            for repo, positions in by_repo.items():
                together = self._indexes[repo].at_once if repo in self._indexes else 1
                for start in range(0, len(positions), together):
                    began = perf_counter()
                    block = positions[start : start + together]
                    unseen = {position: excluded_from(queries[position], excluded) for position in block}
                    n_best = k + max(map(len, unseen.values()))
                    for position, (ids, scores) in zip(block, self._best(repo, rows[block], n_best), strict=True):
                        query = queries[position]
                        own_key = self._own_key(query.query_id)
                        ((own_ids, own_scores),) = self._best(own_key, rows[position : position + 1], n_best)
                        rankings[query.query_id] = rank_column(
                            [*ids, *own_ids], np.append(scores, own_scores), k, unseen[position]
                        )
                    # Queries that are searched together share the time equally.
                    milliseconds = (perf_counter() - began) * 1000 / len(block)
                    latency.update({queries[position].query_id: milliseconds for position in block})
                    bar.update(len(block))
        return Run(
            tag=NAME, rankings=rankings, latency_ms={query.query_id: latency[query.query_id] for query in queries}
        )

    @staticmethod
    def _own_key(query_id: str) -> str:
        return f"\0{query_id}"

    def _best(self, key: str, vectors: NDArray[np.float32], n_best: int) -> Iterator[tuple[list[str], FloatArray]]:
        """Yield, for each query's vector, the ids of the best chunks under this key and their scores, unordered."""
        if key not in self._indexes:
            yield from (([], np.zeros(0)) for _ in vectors)
            return
        ids = self._ids[key]
        for items, scores in self._indexes[key].search(vectors, n_best):
            yield [ids[item] for item in items.tolist()], scores
