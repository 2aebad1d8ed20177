"""Exact search in a million vectors: time, memory, and agreement with a brute-force product.

python scripts/bench_search.py [--vectors 1000000]
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING

import numpy as np
from _bench import Row, memory, print_rows

from repoeval_bench.retrieval.ranking import rank
from repoeval_bench.retrieval.vector_index import VectorIndex, stack

if TYPE_CHECKING:
    from collections.abc import Iterator

DIM, N_QUERIES, K = 384, 1000, 100
BATCH = 4096


def unit_rows(n: int, seed: int) -> np.ndarray:
    """float32 (n, DIM), unit rows, the same for a seed."""
    rows = np.random.default_rng(seed).standard_normal((n, DIM), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def measure(n: int) -> tuple[float, float, float, int]:
    """(seconds to add, to search, peak memory over the vectors' bytes, queries unlike brute force) for n vectors."""
    import faiss

    warm = unit_rows(5000, 1)
    list(VectorIndex(warm).search(warm[:32], 10))
    before = memory("VmRSS")
    started = time.perf_counter()
    sizes = [min(BATCH, n - start) for start in range(0, n, BATCH)]

    def batches() -> Iterator[np.ndarray]:
        yield from (unit_rows(size, 100 + i) for i, size in enumerate(sizes))

    rows = stack(batches())
    added = time.perf_counter() - started
    queries = unit_rows(N_QUERIES, 2)
    started = time.perf_counter()
    found = list(VectorIndex(rows).search(queries, K))
    searched = time.perf_counter() - started
    ratio = (memory("VmHWM") - before) / rows.nbytes
    faiss.omp_set_num_threads(1)
    wrong = 0
    for query in range(0, N_QUERIES, N_QUERIES // 20):
        scores = np.concatenate([rows[i : i + 65536].astype(np.float64) @ queries[query] for i in range(0, n, 65536)])
        near = np.argpartition(scores, n - 2 * K)[n - 2 * K :]
        expected = rank(((f"{item:09d}", float(scores[item])) for item in near.tolist()), K)
        ours = rank(((f"{item:09d}", score) for item, score in zip(*found[query], strict=True)), K)
        wrong += ours != expected
    return added, searched, ratio, wrong


def rows(n: int = 1_000_000) -> list[Row]:
    """Every figure with its bar, measured in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        added, searched, ratio, wrong = pool.submit(measure, n).result()
    what = f"{n:,} x {DIM}"
    return [
        Row(f"{what}: made and added, in batches of {BATCH:,}", f"{added:.1f} s"),
        Row(f"{what}: {N_QUERIES:,} queries, the {K} best, exact", f"{searched:.1f} s"),
        Row(f"{what}: peak memory / the vectors", f"{ratio:.2f}", "< 1.1", ratio < 1.1),
        Row(f"{what}: rankings unlike a brute-force product, of 20", f"{wrong}", "0", wrong == 0),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=int, default=1_000_000)
    print_rows("Search", rows(parser.parse_args().vectors))
