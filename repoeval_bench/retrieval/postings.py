"""BM25 for queries that see part of a repository and chunks of their own: weights are made anew, counts are not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections import Counter


class Postings:
    """How often each term is in each chunk of a repository, counted once for however many queries.

    `terms` are those of each chunk, in the order of `ids`.
    """

    def __init__(self, ids: Sequence[str], terms: Sequence[Sequence[str]], k1: float, b: float) -> None:
        self.ids = ids
        self._at = {chunk_id: at for at, chunk_id in enumerate(ids)}
        self._k1, self._b = k1, b
        self._lengths = np.array([len(each) for each in terms], dtype=np.int64)
        self._numbers: dict[str, int] = {}
        numbers = self._numbers
        column = (numbers.setdefault(term, len(numbers)) for each in terms for term in each)
        term_of = np.fromiter(column, dtype=np.int64, count=int(self._lengths.sum()))
        # One number for a term in a chunk, so that equal ones can be counted.
        pairs = term_of * len(terms) + np.repeat(np.arange(len(terms)), self._lengths)
        pairs, counts = np.unique(pairs, return_counts=True)
        self._entries = np.stack([pairs % max(1, len(terms)), counts]).astype(np.int32)
        self._starts = np.searchsorted(pairs, np.arange(len(numbers) + 1) * len(terms))

    def _of(self, term: str) -> NDArray[np.int32]:
        """The chunks that have a term, ascending, and how often each has it: int32 (2, n)."""
        number = self._numbers.get(term)
        return self._entries[:, slice(0) if number is None else slice(*self._starts[number : number + 2])]

    def scores(
        self, query: Counter[str], unseen: Iterable[str], own: Sequence[tuple[int, Counter[str]]]
    ) -> NDArray[np.float64]:
        """Score of every chunk of the repository, then of the query's own, float64; those `unseen` have none, 0.

        `own` is (terms in all, count of each) of the own chunks. The formula, and the order of its sums, is that of
        `bm25`, with N, n and lengths of what the query sees.
        """
        n_held = len(self._lengths)
        lengths = np.append(self._lengths, np.array([length for length, _ in own], dtype=np.int64))
        seen = np.ones(len(lengths), dtype=np.bool_)
        seen[[self._at[chunk_id] for chunk_id in unseen if chunk_id in self._at]] = False
        n_seen, total = int(seen.sum()), int(lengths[seen].sum())
        if not total:
            return np.zeros(len(lengths))
        norms = self._k1 * ((1 - self._b) + self._b * lengths / (total / n_seen))
        chunks: list[NDArray[np.int32]] = []
        counts: list[NDArray[np.int32]] = []
        weights: list[tuple[float, int]] = []
        # In the order of the terms: a sum's last bits must not depend on how they were numbered.
        for term, repeats in sorted(query.items()):
            mine = [(n_held + i, counted[term]) for i, (_, counted) in enumerate(own) if term in counted]
            entries = self._of(term)
            if mine:
                entries = np.concatenate([entries, np.array(mine, dtype=np.int32).T], axis=1)
            n = int(seen[entries[0]].sum())
            chunks.append(entries[0])
            counts.append(entries[1])
            weights.append((log(1 + (n_seen - n + 0.5) / (n + 0.5)), repeats))
        if not chunks:
            return np.zeros(len(lengths))
        chunk, tf = np.concatenate(chunks), np.concatenate(counts)
        idf, repeated = (np.repeat(np.array(column), list(map(len, chunks))) for column in zip(*weights, strict=True))
        found = np.bincount(chunk, idf * (tf / (norms[chunk] + tf)) * repeated, minlength=len(lengths))
        return np.where(seen, found, 0.0)
