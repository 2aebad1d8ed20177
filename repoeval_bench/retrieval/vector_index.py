"""Exact search by inner product over rows that are held once, whose scores depend on the pair alone.

A matrix product's last bits change with its shape and with the number of threads. So products only propose
candidates, with a margin, and these are scored again one by one in a fixed order of summation: the result is that of
a brute-force product wherever two scores differ by more than 1e-5.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

MARGIN = 2e-5
"""What is that near to the last one wanted is kept too: rounding may make it a tie, and ids decide ties."""

SMALL = 4096
"""Up to so many rows a vector alone is searched for as fast as among others."""

AT_ONCE = 512
"""Vectors that are searched for together in a larger index."""

PRODUCTS = 1 << 22
"""Products that are looked at together: 16 MiB, which stay in the processor's cache."""


def stack(batches: Iterable[NDArray[np.float32]]) -> NDArray[np.float32]:
    """All rows of the batches in one array, float32 (n, dim), grown in place: there is never a second copy."""
    rows = np.zeros((0, 0), dtype=np.float32)
    for batch in batches:
        if batch.size:
            start = len(rows)
            rows.resize((start + len(batch), batch.shape[1]), refcheck=False)
            rows[start:] = batch
    return rows


class _Kept(NamedTuple):
    """Products worth keeping, one in each place of the three arrays: of which vector and row, and how large."""

    of: NDArray[np.int64]
    rows: NDArray[np.int64]
    near: NDArray[np.float32]

    def of_each(self, n: int) -> list[slice]:
        """Where those of each of `n` vectors stand, once they are sorted by vector."""
        return [slice(*ends) for ends in pairwise(np.searchsorted(self.of, np.arange(n + 1)).tolist())]


class VectorIndex:
    """Items that are searched for by their rows: an item's score is that of its best row.

    `rows` is float32 (n, dim); `owners` the item of each row, int64 (n,), ascending from 0 without a gap, or None
    where every row is an item.
    """

    def __init__(self, rows: NDArray[np.float32], owners: NDArray[np.int64] | None = None) -> None:
        self._rows = rows
        self._owners = owners
        self._n_items = len(rows) if owners is None else int(owners[-1]) + 1 if len(owners) else 0

    def __len__(self) -> int:
        """Items."""
        return self._n_items

    @property
    def at_once(self) -> int:
        """How many vectors are best searched for together; 1 where one alone is as fast."""
        return 1 if len(self._rows) <= SMALL else AT_ONCE

    def search(
        self, vectors: NDArray[np.float32], wanted: int
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """For each row of `vectors`, float32 (m, dim): (items, scores), the `wanted` best among them.

        Also given is every item whose score is within `MARGIN` of the last of those; in no order.
        """
        if not self._n_items:
            yield from ((np.zeros(0, dtype=np.int64), np.zeros(0)) for _ in vectors)
            return
        at_once = self.at_once
        for start in range(0, len(vectors), at_once):
            block = vectors[start : start + at_once]
            if wanted < self._n_items:
                candidates = self._candidates(block, wanted)
            else:
                candidates = [np.arange(len(self._rows))] * len(block)
            yield from (self._score(rows, vector) for rows, vector in zip(candidates, block, strict=True))

    def _score(
        self, rows: NDArray[np.int64], vector: NDArray[np.float32]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """(items of these rows, their best scores), every product summed in one order, in double precision."""
        products = self._rows.take(rows, axis=0).astype(np.float64)
        products *= vector.astype(np.float64)
        scores = products.sum(axis=1)
        if self._owners is None:
            return rows, scores
        starts = self._first_of_each(rows)
        return self._owners[rows[starts]], np.maximum.reduceat(scores, starts)

    def _first_of_each(self, rows: NDArray[np.int64] | slice) -> NDArray[np.int64]:
        """Where among these rows, which ascend, those of each item begin."""
        assert self._owners is not None
        return np.flatnonzero(np.diff(self._owners[rows], prepend=-1))

    def _candidates(self, vectors: NDArray[np.float32], wanted: int) -> list[NDArray[np.int64]]:
        """For each vector the rows, ascending, whose products are those of the `wanted` best items, or near the last.

        The rows are read once, in blocks. What was seen says how large a product has to be to be kept, so of a million
        a few hundred are.
        """
        n, size = len(vectors), max(1, PRODUCTS // len(vectors))
        products = np.empty(n * min(size, len(self._rows)), dtype=np.float32)
        large = np.empty(len(products), dtype=bool)
        bars = np.full(n, -np.inf, dtype=np.float32)
        parts: list[_Kept] = []
        for start in range(0, len(self._rows), size):
            block = self._rows[start : start + size]
            used = n * len(block)
            near = np.matmul(vectors, block.T, out=products[:used].reshape(n, -1))
            if not start:
                bars[:] = [self._bar(slice(0, size), each, wanted) for each in near]
            np.greater_equal(near, bars[:, np.newaxis], out=large[:used].reshape(n, -1))
            places = np.flatnonzero(large[:used])
            parts.append(_Kept(places // len(block), start + places % len(block), products[places]))
            if sum(len(part.rows) for part in parts[1:]) > n * wanted:
                parts = [self._sift(parts, bars, wanted)]
        kept = self._sift(parts, bars, wanted) if len(parts) > 1 else parts[0]
        return [kept.rows[mine] for mine in kept.of_each(n)]

    def _sift(self, parts: Sequence[_Kept], bars: NDArray[np.float32], wanted: int) -> _Kept:
        """The parts as one, sorted by vector, without what is too small; `bars` are raised on the way."""
        of, rows, near = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.argsort(of, kind="stable")
        kept = _Kept(of[order], rows[order], near[order])
        for i, mine in enumerate(kept.of_each(len(bars))):
            bars[i] = max(bars[i], self._bar(kept.rows[mine], kept.near[mine], wanted))
        stay = kept.near >= bars[kept.of]
        return _Kept(kept.of[stay], kept.rows[stay], kept.near[stay])

    def _bar(self, rows: NDArray[np.int64] | slice, near: NDArray[np.float32], wanted: int) -> float:
        """How large a product has to be to be kept, given those of some rows, ascending."""
        best = near if self._owners is None else np.maximum.reduceat(near, self._first_of_each(rows))
        if len(best) < wanted:
            return -np.inf
        return float(np.partition(best, len(best) - wanted)[len(best) - wanted]) - MARGIN
