"""Exact search by inner product, in which the score of a pair depends on the pair alone.

Products only propose candidates, with a margin. These are scored again one by one in a fixed order of summation. The
result is that of a brute-force product if two scores differ by more than 1e-5.
"""

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.retrieval.ranking import FloatArray, IntArray

# Items this close to the last score are returned too: rounding may make a tie, and ids decide ties.
MARGIN = 2e-5

# Up to this number of rows numpy multiplies them all, a vector at a time; faiss takes longer to be imported.
SMALL = 4096

# Extra rows of the first fetch, so that items within the margin seldom need a second one.
SPARE = 64

Scored = tuple[IntArray, FloatArray]
"""Items, and the score of each."""

AT_ONCE = 512
"""Vectors that are searched together in a larger index."""


def stack(batches: Iterable[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return all rows of the batches in one array, float32 (n, dim)."""
    # Grown in place: there is never a second copy.
    rows = np.zeros((0, 0), dtype=np.float32)
    for batch in batches:
        if batch.size:
            start = len(rows)
            rows.resize((start + len(batch), batch.shape[1]), refcheck=False)
            rows[start:] = batch
    return rows


# Name of a processor in numpy's OpenBLAS -> the best name for it that faiss's OpenBLAS knows.
_CORES = {core: core for core in ("Haswell", "Zen", "SkylakeX")} | dict.fromkeys(
    ("Cooperlake", "SapphireRapids"), "SkylakeX"
)


class VectorIndex:
    """Items that are searched by their vectors; `rows` is float32 (n, dim)."""

    # A matrix product's last bits change with its shape and with the number of threads.

    def __init__(self, rows: NDArray[np.float32]) -> None:
        self._rows = rows

    @property
    def at_once(self) -> int:
        """Number of vectors that are best searched together; 1 where that is not faster."""
        return 1 if len(self._rows) <= SMALL else AT_ONCE

    def search(self, vectors: NDArray[np.float32], n_best: int) -> Iterator[Scored]:
        """For each row of `vectors`, float32 (m, dim): (items, scores), the `n_best` best among them.

        Also given is every item whose score is within `MARGIN` of the last of those; in no order.
        """
        if n_best >= len(self._rows):
            yield from (self._score(np.arange(len(self._rows)), vector) for vector in vectors)
        elif len(self._rows) <= SMALL:
            yield from (self._score(self._candidate_rows(vector, n_best), vector) for vector in vectors)
        else:
            faiss = _faiss()
            n_threads = faiss.omp_get_max_threads()
            # Every thread has vectors of its own: threads that share a product mostly wait for each other.
            with ThreadPoolExecutor(n_threads, initializer=lambda: faiss.omp_set_num_threads(1)) as pool:
                for start in range(0, len(vectors), AT_ONCE):
                    parts = np.array_split(vectors[start : start + AT_ONCE], n_threads)
                    for results in pool.map(lambda part: self._search_large(part, n_best), parts):
                        yield from results

    def _score(self, rows: IntArray, vector: NDArray[np.float32]) -> Scored:
        """Return (these rows, their scores), each product summed in one order, in float64."""
        wide = vector.astype(np.float64)
        scores = np.empty(len(rows))
        for start in range(0, len(rows), SMALL):
            part = rows[start : start + SMALL]
            # Nothing is copied that need not be: a product widens its rows in small steps.
            some = self._rows if len(part) == len(self._rows) else self._rows.take(part, axis=0)
            scores[start : start + SMALL] = (some * wide).sum(axis=1)
        return rows, scores

    def _candidate_rows(self, vector: NDArray[np.float32], n_best: int) -> IntArray:
        """Return the `n_best` best rows, ascending, and those near the last, by one product."""
        near = self._rows @ vector
        return np.flatnonzero(near >= _nth_largest(near, n_best) - MARGIN)

    def _search_large(self, vectors: NDArray[np.float32], n_best: int) -> list[Scored]:
        """Return what `search` gives for these vectors, by faiss's exact search over the rows where they lie."""
        done: dict[int, Scored] = {}
        fetch = n_best + SPARE
        while left := [i for i in range(len(vectors)) if i not in done]:
            fetch = min(fetch, len(self._rows))
            near, rows = _faiss().knn(vectors[left], self._rows, fetch, metric=_faiss().METRIC_INNER_PRODUCT)
            for i, (last, near_rows) in zip(left, zip(near[:, -1], np.sort(rows), strict=True), strict=True):
                items, scores = self._score(near_rows, vectors[i])
                whole = fetch == len(self._rows)
                if whole or (len(items) >= n_best and last < _nth_largest(scores, n_best) - MARGIN):
                    done[i] = items, scores
            fetch *= 4
        return [done[i] for i in range(len(vectors))]


def _nth_largest(values: NDArray[np.floating], n: int) -> float:
    return float(np.partition(values, len(values) - n)[len(values) - n])


@cache
def _faiss() -> Any:
    """Return faiss, with the type of this processor set; a core type that the user set stays."""
    # The OpenBLAS in faiss's wheels is of 2021. It takes newer processors for one of 2004 and multiplies at half their
    # speed; numpy's is newer and knows them.
    from threadpoolctl import threadpool_info

    name = "OPENBLAS_CORETYPE"
    known = next(
        (library["architecture"] for library in threadpool_info() if library["internal_api"] == "openblas"), ""
    )
    core = _CORES.get(known)
    if core is None or name in os.environ:
        import faiss
    else:
        os.environ[name] = core
        try:
            import faiss
        finally:
            del os.environ[name]
    # faiss compares vector by vector up to its own threshold of 128,000 queries; by blocks it is faster.
    faiss.cvar.distance_compute_blas_threshold = AT_ONCE // 8
    return faiss
