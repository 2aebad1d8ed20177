"""The floor and the ceiling of every table: a random ranking, and one that knows the relevant chunks."""

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

from repoeval_bench.core.fields import Doc, Natural
from repoeval_bench.core.run import Query, Run
from repoeval_bench.retrieval.ranking import Chunks, Excluded, rank, visible
from repoeval_bench.retrieval.registry import RETRIEVERS


@RETRIEVERS.register(name="random", meaning="a seeded shuffle of the repository's chunks: the floor")
class RandomRetriever:
    """Ranks at random: scores are drawn for each query from the seed and the query's id alone."""

    def __init__(
        self,
        chunks: Chunks,
        own: Chunks,
        *,
        seed: Annotated[Natural, Doc("another seed, another shuffle")] = 0,
    ) -> None:
        self._chunks, self._own, self._seed = chunks, own, seed

    def search(self, queries: Sequence[Query], k: int, excluded: Excluded | None = None) -> Run:
        """At most k chunks of each query's repository, in random order."""
        rankings = {}
        for query in queries:
            # Not Python's hash, which differs from process to process.
            digest = hashlib.sha256(f"{self._seed}\0{query.query_id}".encode("utf-8", "surrogatepass")).digest()
            rng = random.Random(digest)
            seen = visible(query, self._chunks, self._own, excluded)
            rankings[query.query_id] = rank(((chunk.chunk_id, rng.random()) for chunk in seen), k)
        return Run(tag="random", rankings=rankings)


@RETRIEVERS.register(
    name="oracle",
    meaning="the relevant chunks by gain, ties by most new target lines per character: the ceiling",
)
class OracleRetriever:
    """Ranks the chunks of `ideal` (gives query_id -> ids, best first) first, and all others after them."""

    def __init__(self, chunks: Chunks, own: Chunks, ideal: Callable[[], Mapping[str, Sequence[str]]]) -> None:
        self._chunks, self._own, self._ideal = chunks, own, ideal()

    def search(self, queries: Sequence[Query], k: int, excluded: Excluded | None = None) -> Run:
        """Rank the k best chunks of each query's repository by the judgements; one that is not relevant scores 0."""
        rankings = {}
        for query in queries:
            order = self._ideal.get(query.query_id, ())
            score = {chunk_id: float(len(order) - i) for i, chunk_id in enumerate(order)}
            seen = visible(query, self._chunks, self._own, excluded)
            rankings[query.query_id] = rank(((chunk.chunk_id, score.get(chunk.chunk_id, 0.0)) for chunk in seen), k)
        return Run(tag="oracle", rankings=rankings)
