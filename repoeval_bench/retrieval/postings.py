"""BM25 for queries that see part of a repository and chunks of their own: weights are made anew, counts are not."""

from __future__ import annotations

from collections import Counter
from math import log
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class Postings:
    """How often each term is in each chunk of a repository, counted once for however many queries."""

    def __init__(self, terms: Sequence[Sequence[str]], k1: float, b: float) -> None:
        self._k1, self._b = k1, b
        self._lengths = np.array([len(each) for each in terms], dtype=np.int64)
        found: dict[str, list[tuple[int, int]]] = {}
        for chunk, each in enumerate(terms):
            for term, count in Counter(each).items():
                found.setdefault(term, []).append((chunk, count))
        self._of = {term: np.array(entries, dtype=np.int64).T for term, entries in found.items()}

    def scores(
        self, query: Counter[str], seen: NDArray[np.bool_], own: Sequence[tuple[int, Counter[str]]]
    ) -> NDArray[np.float64]:
        """Score of every chunk that is seen, then of the query's own, float64.

        `seen` is one truth value per chunk of the repository, `own` (terms in all, count of each) of the own chunks.
        The formula, and the order of its sums, is that of `bm25`, with N, n and lengths of what the query sees.
        """
        n_seen = int(seen.sum())
        lengths = np.append(self._lengths[seen], np.array([length for length, _ in own], dtype=np.int64))
        if not lengths.sum():
            return np.zeros(len(lengths))
        at = np.cumsum(seen) - 1
        mean = lengths.mean()
        chunks: list[NDArray[np.int64]] = []
        weights: list[NDArray[np.float64]] = []
        # In the order of the terms: a sum's last bits must not depend on how they were numbered.
        for term, repeats in sorted(query.items()):
            entries = self._of.get(term)
            mine = [(n_seen + i, counts[term]) for i, (_, counts) in enumerate(own) if term in counts]
            columns = np.array(mine, dtype=np.int64).reshape(-1, 2).T
            if entries is not None:
                kept = entries[:, seen[entries[0]]]
                columns = np.concatenate([[at[kept[0]], kept[1]], columns], axis=1)
            chunk, tf = columns
            if len(chunk):
                idf = log(1 + (len(lengths) - len(chunk) + 0.5) / (len(chunk) + 0.5))
                norm = self._k1 * ((1 - self._b) + self._b * lengths[chunk] / mean)
                chunks.append(chunk)
                weights.append(idf * (tf / (norm + tf)) * repeats)
        if not chunks:
            return np.zeros(len(lengths))
        found = np.bincount(np.concatenate(chunks), np.concatenate(weights), minlength=len(lengths))
        return np.asarray(found, dtype=np.float64)
