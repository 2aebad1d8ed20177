"""Random numbers for resampling, in blocks: as many at once as is fast, never more than fits in memory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

    from numpy.typing import NDArray

_CELLS = 2_000_000
"""Draws x clusters that are held at once: 16 MB an array, up to 16,000 clusters."""

_ROWS = 128
"""Draws that are held at once beyond that: a product of matrices with fewer rows waits for memory."""

_MOST_CELLS = 32_000_000
"""Never more draws x clusters than that: 256 MB an array."""

_MANY = 4096
"""A row of so many clusters gets a call of its own, so that it stays in the processor's cache."""


def drawn(rng: np.random.Generator, below: int, kind: type, draws: int, clusters: int) -> Iterator[NDArray[Any]]:
    """Whole numbers from 0 up to `below`, (draws, clusters) of dtype `kind`, in blocks of rows.

    Each block is drawn while the caller works on the one before. A single thread asks the generator, in order, so
    the numbers are those of one thread.
    """
    size = max(1, _CELLS // clusters, min(_ROWS, _MOST_CELLS // clusters))
    with ThreadPoolExecutor(1) as pool:
        ahead: Future[NDArray[Any]] | None = None
        for start in range(0, draws, size):
            shape = (min(size, draws - start), clusters)
            block, ahead = ahead, pool.submit(rng.integers, 0, below, shape, dtype=kind)
            if block is not None:
                yield block.result()
        if ahead is not None:
            yield ahead.result()


def times_drawn(index: NDArray[Any]) -> NDArray[np.float64]:
    """How often each of n clusters is in each row of n draws: float64 (rows, n)."""
    rows, n = index.shape
    if n < _MANY:
        flat = index + np.arange(0, rows * n, n)[:, None]
        return np.bincount(flat.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)
    times = np.empty((rows, n))
    for row, clusters in enumerate(index):
        times[row] = np.bincount(clusters, minlength=n)
    return times
