"""RepoCoder's sparse retriever: a text is the set of its tokens, and sets are compared by Jaccard's index."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from repoeval_bench.core.run import Query, Ranking, Run
from repoeval_bench.core.source import Chunk
from repoeval_bench.core.terms import TOKENIZERS
from repoeval_bench.retrieval.ranking import Chunks, Excluded, rank, rank_each
from repoeval_bench.retrieval.registry import RETRIEVERS


@RETRIEVERS.register(
    meaning="RepoCoder's bag of words: tokens shared over tokens of either, each counted once; needs no model"
)
class JaccardRetriever:
    """score = |Q and C| / |Q or C| over the sets of tokens (Zhang et al. 2023, RepoCoder, arXiv 2303.12570).

    RepoCoder's tokens are those of the language model it completes with; here they are code terms. Two texts without a
    token score 0.
    """

    def __init__(self, chunks: Chunks, own: Chunks) -> None:
        self._sets = {repo: _TokenSets(of_key) for repo, of_key in chunks.items()}
        self._own = {query_id: _TokenSets(of_key) for query_id, of_key in own.items()}

    def search(self, queries: Sequence[Query], k: int, excluded: Excluded | None = None) -> Run:
        """Return the k best chunks of each query's repository; one that shares no token scores 0."""

        def ranked(query: Query, unseen: frozenset[str]) -> Ranking:
            tokens = set(TOKENIZERS["code"](query.text))
            parts = (self._sets.get(query.repo), self._own.get(query.query_id))
            pairs = [pair for part in parts if part for pair in part.scores(tokens)]
            return rank((pair for pair in pairs if pair[0] not in unseen), k)

        return rank_each(queries, excluded, "jaccard", ranked)


class _TokenSets:
    """Chunks as sets of tokens, and for each token the chunks that hold it."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._ids = [chunk.chunk_id for chunk in chunks]
        sets = [set(TOKENIZERS["code"](chunk.embed_text)) for chunk in chunks]
        self._sizes = np.array([len(tokens) for tokens in sets], dtype=np.int64)
        holders: dict[str, list[int]] = defaultdict(list)
        for i, tokens in enumerate(sets):
            for token in tokens:
                holders[token].append(i)
        self._holders = {token: np.array(indexes, dtype=np.int64) for token, indexes in holders.items()}

    def scores(self, query: set[str]) -> list[tuple[str, float]]:
        """Return (chunk_id, Jaccard's index) of every chunk."""
        holders = [self._holders[token] for token in query if token in self._holders]
        shared = np.bincount(np.concatenate([np.zeros(0, dtype=np.int64), *holders]), minlength=len(self._ids))
        union = self._sizes + len(query) - shared
        return list(zip(self._ids, (shared / np.maximum(union, 1)).tolist(), strict=True))
