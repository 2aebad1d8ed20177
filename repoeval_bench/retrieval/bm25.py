"""BM25 over the chunks of a repository (bm25s, the variant of Lucene)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.benchmark import Query
from repoeval_bench.core.progress import progress
from repoeval_bench.core.run import Ranking, Run
from repoeval_bench.core.source import Chunk
from repoeval_bench.core.terms import TOKENIZERS
from repoeval_bench.retrieval.postings import Postings
from repoeval_bench.retrieval.ranking import rank_column
from repoeval_bench.retrieval.scope import Chunks, Excluded, excluded_from

NAME = "bm25"


class Bm25Retriever:
    """Terms are weighed within the query's repository, as its chunks are all that is searched.

    score = sum over the query's terms, repeats counted, of idf tf / (tf + k1 (1 - b + b length / mean length)), with
    idf = ln(1 + (N - n + 0.5) / (n + 0.5)) (Lucene's; Kamphuis et al. 2020). A query with chunks of its own is
    weighed by what it sees, so that no other task's chunks move its weights. A chunk's
    header counts among its terms unless `header` is `skip`.
    """

    def __init__(
        self,
        chunks: Chunks,
        own: Chunks,
        *,
        k1: float,
        b: float,
        tokenizer: str,
        header: str = "read",
    ) -> None:
        self._headers = header == "read"
        self._chunks, self._own = chunks, own
        self._k1, self._b = k1, b
        self._tokenize = TOKENIZERS[tokenizer]
        self._counts: dict[str, Counter[str]] = {}
        self._indexes: dict[str, _Index] = {}
        self._postings: dict[str, Postings] = {}

    def search(self, queries: Sequence[Query], k: int, excluded: Excluded | None = None) -> Run:
        """The k best chunks of each query's repository; one that shares no term scores 0."""
        rankings: dict[str, Ranking] = {}
        latency: dict[str, float] = {}
        for query in progress(queries, desc="retrieve", unit="queries"):
            unseen = excluded_from(query, excluded)
            own = self._own.get(query.query_id)
            material = self._index_of(query.repo) if own is None else self._postings_of(query.repo)
            start = perf_counter()
            terms = Counter(self._tokenize(query.text))
            ids = material.ids
            if isinstance(material, _Index):
                scores = material.scores(terms)
            else:
                counts = [(count.total(), count) for count in map(self._count, own or ())]
                ids, scores = [*ids, *(chunk.chunk_id for chunk in own or ())], material.scores(terms, unseen, counts)
            rankings[query.query_id] = rank_column(ids, scores, k, unseen)
            latency[query.query_id] = (perf_counter() - start) * 1000
        return Run(tag=NAME, rankings=rankings, latency_ms=latency)

    def _count(self, chunk: Chunk) -> Counter[str]:
        """How often a chunk has each term; most of a query's own chunks have the text of another."""
        text = chunk.embed_text if self._headers else chunk.text
        if text not in self._counts:
            self._counts[text] = Counter(self._tokenize(text))
        return self._counts[text]

    def _index_of(self, repo: str) -> _Index:
        if repo not in self._indexes:
            self._indexes[repo] = _Index(self._ids(repo), self._terms(repo), self._k1, self._b)
        return self._indexes[repo]

    def _postings_of(self, repo: str) -> Postings:
        if repo not in self._postings:
            self._postings[repo] = Postings(self._ids(repo), self._terms(repo), self._k1, self._b)
        return self._postings[repo]

    def _ids(self, repo: str) -> list[str]:
        return [chunk.chunk_id for chunk in self._chunks.get(repo, ())]

    def _terms(self, repo: str) -> list[list[str]]:
        chunks = self._chunks.get(repo, ())
        return [self._tokenize(chunk.embed_text if self._headers else chunk.text) for chunk in chunks]


class _Index:
    """bm25s's index, read through its arrays: all terms of a query at once, instead of one call a term."""

    def __init__(self, ids: list[str], terms: list[list[str]], k1: float, b: float) -> None:
        self.ids = ids
        self._vocabulary: dict[str, int] = {}
        if not any(terms):
            return
        import bm25s

        index = bm25s.BM25(k1=k1, b=b, method="lucene", backend="numpy", dtype="float64")
        index.index(terms, create_empty_token=False, show_progress=False)
        self._vocabulary = index.vocab_dict
        self._weights: NDArray[np.float64] = index.scores["data"]
        self._chunks: NDArray[np.integer] = index.scores["indices"]
        self._starts: NDArray[np.integer] = index.scores["indptr"]

    def scores(self, query: Counter[str]) -> NDArray[np.float64]:
        """Score of every chunk, float64 (n_chunks,), in the order of `ids`."""
        # In the order of the terms themselves: a sum's last bits must not depend on how they were numbered.
        known = [(self._vocabulary[term], count) for term, count in sorted(query.items()) if term in self._vocabulary]
        if not known:
            return np.zeros(len(self.ids))
        numbers, counts = (np.array(column, dtype=np.int64) for column in zip(*known, strict=True))
        starts = self._starts[numbers].astype(np.int64)
        lengths = self._starts[numbers + 1].astype(np.int64) - starts
        before = np.cumsum(lengths) - lengths
        entries = np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
        weights = self._weights[entries] * np.repeat(counts, lengths)
        scores: NDArray[np.float64] = np.bincount(self._chunks[entries], weights, minlength=len(self.ids)).astype(
            np.float64, copy=False
        )
        return scores
