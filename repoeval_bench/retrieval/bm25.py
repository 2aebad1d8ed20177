"""BM25 over the chunks of a repository, in Lucene's variant."""

from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from threading import Lock
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from repoeval_bench.core.fields import Doc
from repoeval_bench.core.run import Query, Ranking, Run
from repoeval_bench.core.source import Chunk
from repoeval_bench.core.terms import TOKENIZERS, TokenizerName
from repoeval_bench.retrieval.ranking import Chunks, Excluded, FloatArray, IntArray, rank_column, rank_each
from repoeval_bench.retrieval.registry import RETRIEVERS

# Lines whose terms are cached: about 8 MB of code.
_LINES = 1 << 18


@RETRIEVERS.register(meaning="BM25 as Lucene has it; reads texts whole and needs no model")
class Bm25Retriever:
    """BM25 whose term weights come from the chunks of the query's repository.

    For a query with chunks of its own they come from the chunks that it sees. A chunk's header counts among its terms
    unless `header` is `skip`.
    """

    def __init__(
        self,
        chunks: Chunks,
        own: Chunks,
        *,
        k1: Annotated[float, Ge(0), Le(100), Doc("how soon repeats of a term stop counting")] = 1.2,
        b: Annotated[float, Ge(0), Le(1), Doc("how much long chunks are discounted")] = 0.75,
        tokenizer: TokenizerName = "code",
        header: Annotated[
            Literal["skip"] | None,
            Doc("skip: the text before a chunk (a header, coderag's title) is not indexed; by default it is"),
        ] = None,
    ) -> None:
        self._headers = header is None
        self._chunks, self._own = chunks, own
        self._k1, self._b = k1, b
        self._vocabulary = _vocabulary(tokenizer)
        self._indexes: dict[str, _TermIndex] = {}  # of one repository, as all of them may not fit in memory

    def search(self, queries: Sequence[Query], k: int, excluded: Excluded | None = None) -> Run:
        """Return the k best chunks of each query's repository; one that shares no term scores 0."""
        # Before the clock starts, as the terms are cached for the next chunker of this process.
        terms = {query.query_id: self._vocabulary.query(query.text) for query in queries}

        def ranked(query: Query, unseen: frozenset[str]) -> Ranking:
            own = self._own.get(query.query_id)
            index = self._indexes[query.repo]
            ids, changed = index.ids, _UNCHANGED
            hidden = own_columns = _UNCHANGED[0]
            if own is not None:  # no other task's chunks may move its weights
                hidden = np.array([index.positions[name] for name in unseen if name in index.positions], dtype=np.int64)
                own_columns = np.array([index.columns[self._text(chunk)] for chunk in own], dtype=np.int64)
                ids = [*ids, *[chunk.chunk_id for chunk in own]]
                changed = _difference(own_columns, index.of_repo[hidden], index.size)
            of_text = index.scores(terms[query.query_id], *changed)
            scores = of_text[index.of_repo]
            scores[hidden] = 0.0
            scores = np.append(scores, of_text[own_columns])
            return rank_column(ids, scores, k, unseen)

        return rank_each(queries, excluded, "bm25", ranked, self._prepare)

    def _text(self, chunk: Chunk) -> str:
        return chunk.embed_text if self._headers and (chunk.header or chunk.rewritten) else chunk.text

    def _prepare(self, repo: str, queries: Sequence[Query]) -> None:
        """Index the distinct texts that these queries of a repository see."""
        # Most own chunks have a text of the file.
        own = set().union(*(map(self._text, self._own.get(query.query_id, ())) for query in queries))
        if repo in self._indexes and own <= self._indexes[repo].columns.keys():
            return
        chunks = self._chunks.get(repo, ())
        texts = [self._text(chunk) for chunk in chunks]
        columns = {text: column for column, text in enumerate(dict.fromkeys([*texts, *sorted(own)]))}
        self._indexes.clear()
        self._indexes[repo] = _TermIndex(
            [chunk.chunk_id for chunk in chunks],
            np.array([columns[text] for text in texts], dtype=np.int64),
            columns,
            [self._vocabulary.terms(text) for text in columns],
            self._k1,
            self._b,
        )


class _Vocabulary:
    """Numbers for terms, shared by all corpora of a process."""

    # Different chunkers cut the same lines.

    def __init__(self, tokenizer: str) -> None:
        self._words = TOKENIZERS[tokenizer].words
        self._names: list[str] = []
        self._of_word = _NumbersOfWords(TOKENIZERS[tokenizer].terms, self._names).__getitem__
        self._of_line = lru_cache(maxsize=_LINES)(self._read)
        self.query = lru_cache(maxsize=4096)(self._count)

    def terms(self, text: str) -> NDArray[np.int32]:
        """Return the terms of a text in order; int32 (n_terms,)."""
        return np.frombuffer(b"".join(map(self._of_line, text.splitlines())), dtype=np.int32)

    def _read(self, line: str) -> bytes:
        return b"".join(map(self._of_word, self._words(line)))

    def _count(self, text: str) -> tuple[IntArray, IntArray]:
        """Return (distinct terms of a query, ordered by name; how often each is in it)."""
        counts = Counter(self.terms(text).tolist())
        # In the order of the names: a sum's last bits must not depend on how terms were numbered.
        numbers = sorted(counts, key=self._names.__getitem__)
        return np.array(numbers, dtype=np.int64), np.array([counts[number] for number in numbers], dtype=np.int64)


class _NumbersOfWords(dict[str, bytes]):
    """The numbers of a word's terms as the bytes of an int32 array; a new term takes the next number.

    `names` lists the terms by number.
    """

    # Bytes are joined quickly, and small. All words of a process are kept: 300,000 of 100 MB of code take 40 MB.

    def __init__(self, terms: Callable[[str], tuple[str, ...]], names: list[str]) -> None:
        self._terms, self._names = terms, names
        self._numbers: dict[str, int] = {}
        self._numbering = Lock()

    def __missing__(self, word: str) -> bytes:
        with self._numbering:
            for term in (terms := self._terms(word)):
                if term not in self._numbers:
                    self._names.append(term)
                    self._numbers[term] = len(self._names) - 1
            self[word] = array("i", map(self._numbers.__getitem__, terms)).tobytes()
        return self[word]


_vocabulary = cache(_Vocabulary)


class _TermIndex:
    """Counts of each term in each text that queries of a repository see, built once for all queries.

    `columns` numbers the distinct texts, whose terms are `terms`; `of_repo` is the column of each of the repository's
    chunks, whose ids are `ids`.
    """

    def __init__(
        self,
        ids: Sequence[str],
        of_repo: IntArray,
        columns: Mapping[str, int],
        terms: Sequence[NDArray[np.int32]],
        k1: float,
        b: float,
    ) -> None:
        self.ids, self.of_repo, self.columns = ids, of_repo, columns
        self.positions = {chunk_id: position for position, chunk_id in enumerate(ids)}
        self.size = len(terms)
        self._k1, self._b = k1, b
        self._lengths = np.array(list(map(len, terms)), dtype=np.int64)
        # One number for a term in a text, so that equal ones can be counted; in 32 bits, where they do, it is quicker.
        numbers = np.concatenate([np.zeros(0, dtype=np.int32), *terms])
        fits = (int(numbers.max(initial=0)) + 1) * self.size < 1 << 31
        pairs: NDArray[Any] = numbers.astype(np.int32 if fits else np.int64)
        pairs *= self.size
        pairs += np.repeat(np.arange(self.size, dtype=pairs.dtype), self._lengths)
        pairs, counts = np.unique(pairs, return_counts=True)
        numbers, texts = np.divmod(pairs, self.size)
        self._texts, self._counts = texts.astype(np.int64), counts.astype(np.float64)
        self._of_text, self._known = terms, dict[int, IntArray]()
        starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        self._terms, self._starts = numbers[starts].astype(np.int64), np.append(starts, len(pairs))
        times = np.bincount(of_repo, minlength=self.size)
        self._n_chunks, self._total = len(of_repo), int((times * self._lengths).sum())
        self._n = np.add.reduceat(times[self._texts], starts) if len(starts) else starts
        self._shares: FloatArray | None = None

    def scores(self, query: tuple[IntArray, IntArray], columns: IntArray, times: IntArray) -> FloatArray:
        """Score every text, float64 (size,); the query sees the texts in `columns` `times` more or less often.

        The score is Lucene's (Kamphuis et al. 2020), a sum over the query's terms, repeats counted:

            idf tf / (tf + k1 (1 - b + b length / mean length)), with idf = ln(1 + (N - n + 0.5) / (n + 0.5))

        N, n and the lengths are those of the chunks that are seen. `query` are the numbers of its terms and how often
        each is in it.
        """
        n_seen, total = self._n_chunks + int(times.sum()), self._total + int((times * self._lengths[columns]).sum())
        numbers, repeats = query
        rows = np.searchsorted(self._terms, numbers)
        known = rows < len(self._terms)
        known[known] = self._terms[rows[known]] == numbers[known]
        rows, repeats = rows[known], repeats[known]
        if not total or not len(rows):
            return np.zeros(self.size)
        lengths = self._starts[rows + 1] - self._starts[rows]
        postings = [*map(slice, self._starts[rows].tolist(), self._starts[rows + 1].tolist())]
        n = self._n[rows]
        if len(columns):
            theirs = [self._distinct(column) for column in columns.tolist()]
            repeated = np.repeat(times, list(map(len, theirs)))
            n = n + np.bincount(np.concatenate(theirs), repeated, minlength=len(self._terms))[rows]
        weights = np.log(1 + (n_seen - n + 0.5) / (n + 0.5)) * repeats
        texts = np.concatenate([self._texts[of_row] for of_row in postings])
        norms = self._k1 * ((1 - self._b) + self._b * self._lengths / (total / n_seen))
        if len(columns):
            tf = np.concatenate([self._counts[of_row] for of_row in postings])
            shares = norms[texts]
            shares += tf
            np.divide(tf, shares, out=shares)
        else:  # the lengths are those of the repository: the same for all such queries
            if self._shares is None:
                self._shares = self._counts / (norms[self._texts] + self._counts)
            shares = np.concatenate([self._shares[of_row] for of_row in postings])
        shares *= np.repeat(weights, lengths)
        return np.bincount(texts, shares, minlength=self.size).astype(np.float64, copy=False)

    def _distinct(self, column: int) -> IntArray:
        # Cached, as the queries of a file share texts.
        if column not in self._known:
            self._known[column] = np.searchsorted(self._terms, np.unique(self._of_text[column]))
        return self._known[column]


_UNCHANGED = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


def _difference(more: IntArray, less: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """Return which of `size` texts a query sees more or less often than the repository has them, and how often."""
    times = np.bincount(more, minlength=size) - np.bincount(less, minlength=size)
    columns = np.flatnonzero(times)
    return columns, times[columns]
