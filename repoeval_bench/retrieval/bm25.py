"""BM25 over the chunks of a repository, in Lucene's variant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.benchmark import Query
from repoeval_bench.core.progress import progress
from repoeval_bench.core.run import Ranking, Run
from repoeval_bench.core.source import Chunk
from repoeval_bench.core.terms import TOKENIZERS
from repoeval_bench.retrieval.ranking import rank_column
from repoeval_bench.retrieval.scope import Chunks, Excluded, excluded_from

NAME = "bm25"


class Bm25Retriever:
    """Terms are weighed within the query's repository, as its chunks are all that is searched.

    A query with chunks of its own is weighed by what it sees, so that no other task's chunks move its weights. A
    chunk's header counts among its terms unless `header` is `skip`.
    """

    def __init__(
        self, chunks: Chunks, own: Chunks, *, k1: float, b: float, tokenizer: str, header: str = "read"
    ) -> None:
        self._headers = header == "read"
        self._chunks, self._own = chunks, own
        self._k1, self._b = k1, b
        self._tokenize = TOKENIZERS[tokenizer]
        self._counts: dict[str, Counter[str]] = {}
        self._indexes: dict[str, _TermIndex] = {}

    def search(self, queries: Sequence[Query], k: int, excluded: Excluded | None = None) -> Run:
        """Return the k best chunks of each query's repository; one that shares no term scores 0."""
        rankings: dict[str, Ranking] = {}
        latency: dict[str, float] = {}
        for query in progress(queries, desc="retrieve", unit="queries"):
            unseen = excluded_from(query, excluded)
            own = self._own.get(query.query_id)
            index = self._index(query.repo)
            start = perf_counter()
            terms = Counter(self._tokenize(query.text))
            scores = index.scores(terms, () if own is None else unseen, [self._count(chunk) for chunk in own or ()])
            ids = [*index.ids, *(chunk.chunk_id for chunk in own or ())]
            rankings[query.query_id] = rank_column(ids, scores, k, unseen)
            latency[query.query_id] = (perf_counter() - start) * 1000
        return Run(tag=NAME, rankings=rankings, latency_ms=latency)

    def _text(self, chunk: Chunk) -> str:
        return chunk.embed_text if self._headers else chunk.text

    def _count(self, chunk: Chunk) -> Counter[str]:
        """Count the terms of a chunk; most of a query's own chunks have the text of another."""
        text = self._text(chunk)
        if text not in self._counts:
            self._counts[text] = Counter(self._tokenize(text))
        return self._counts[text]

    def _index(self, repo: str) -> _TermIndex:
        if repo not in self._indexes:
            chunks = self._chunks.get(repo, ())
            terms = [self._tokenize(self._text(chunk)) for chunk in chunks]
            self._indexes[repo] = _TermIndex([chunk.chunk_id for chunk in chunks], terms, self._k1, self._b)
        return self._indexes[repo]


class _TermIndex:
    """Counts of each term in each chunk of a repository, made once for all queries.

    `terms` are those of each chunk, in the order of `ids`.
    """

    def __init__(self, ids: Sequence[str], terms: Sequence[Sequence[str]], k1: float, b: float) -> None:
        self.ids = ids
        self._positions = {chunk_id: position for position, chunk_id in enumerate(ids)}
        self._k1, self._b = k1, b
        self._lengths = np.array(list(map(len, terms)), dtype=np.int64)
        self._numbers: dict[str, int] = {}
        numbers = self._numbers
        column = (numbers.setdefault(term, len(numbers)) for of_chunk in terms for term in of_chunk)
        term_of = np.fromiter(column, dtype=np.int64, count=int(self._lengths.sum()))
        # One number for a term in a chunk, so that equal ones can be counted.
        pairs = term_of * len(terms) + np.repeat(np.arange(len(terms)), self._lengths)
        pairs, counts = np.unique(pairs, return_counts=True)
        self._entries = np.stack([pairs % max(1, len(terms)), counts]).astype(np.int32)
        self._starts = np.searchsorted(pairs, np.arange(len(numbers) + 1) * len(terms))

    def scores(self, query: Counter[str], unseen: Iterable[str], own: Sequence[Counter[str]]) -> NDArray[np.float64]:
        """Score of every chunk of the repository, then of the query's own, float64; those `unseen` have none, 0.

        score = sum over the query's terms, repeats counted, of idf tf / (tf + k1 (1 - b + b length / mean length)),
        with idf = ln(1 + (N - n + 0.5) / (n + 0.5)) (Lucene's; Kamphuis et al. 2020), where N, n and the lengths are
        those of the chunks that are seen. `own` counts the terms of each of the query's own chunks.
        """
        lengths = np.append(self._lengths, np.array([count.total() for count in own], dtype=np.int64))
        seen = np.ones(len(lengths), dtype=np.bool_)
        seen[[self._positions[chunk_id] for chunk_id in unseen if chunk_id in self._positions]] = False
        n_seen, total = int(seen.sum()), int(lengths[seen].sum())
        # In the order of the terms: a sum's last bits must not depend on how they were numbered.
        terms = sorted(term for term in query if term in self._numbers or any(term in count for count in own))
        if not total or not terms:
            return np.zeros(len(lengths))
        term, chunk, tf = self._postings(terms, own)
        n = np.bincount(term[seen[chunk]], minlength=len(terms))
        weights = np.log(1 + (n_seen - n + 0.5) / (n + 0.5)) * np.array([query[term_name] for term_name in terms])
        norms = self._k1 * ((1 - self._b) + self._b * lengths / (total / n_seen))
        scores = np.bincount(chunk, weights[term] * (tf / (norms[chunk] + tf)), minlength=len(lengths))
        return np.where(seen, scores, 0.0)

    def _postings(
        self, terms: Sequence[str], own: Sequence[Counter[str]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return each pair of a term and a chunk that has it: (index of the term, ascending; of the chunk; count)."""
        numbers = np.array([self._numbers.get(term, -1) for term in terms])
        starts = self._starts[numbers]
        lengths = np.where(numbers < 0, 0, self._starts[numbers + 1] - starts)
        before = np.cumsum(lengths) - lengths
        chunk, tf = self._entries[:, np.arange(lengths.sum()) + np.repeat(starts - before, lengths)]
        term = np.repeat(np.arange(len(terms)), lengths)
        number_of = {name: number for number, name in enumerate(terms)}
        more = [
            (number_of[name], len(self.ids) + position, count[name])
            for position, count in enumerate(own)
            for name in count.keys() & number_of.keys()
        ]
        if not more:
            return term, chunk, tf
        columns = np.concatenate([np.stack([term, chunk, tf]), np.array(more, dtype=np.int64).T], axis=1)
        term, chunk, tf = columns[:, np.argsort(columns[0], kind="stable")]
        return term, chunk, tf
