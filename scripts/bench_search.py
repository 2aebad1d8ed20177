"""Exact search in a million vectors: time beside faiss, memory, and agreement with a brute-force product."""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from _bench import Row, memory

from repoeval_bench.retrieval.ranking import rank
from repoeval_bench.retrieval.vector_index import VectorIndex, stack

DIM, N_QUERIES, K = 384, 1000, 100
BATCH = 4096
TURNS = 2
CHECKED = 20


class Measured(NamedTuple):
    """Seconds to add the vectors, to search in them and by faiss, and peak memory over the vectors' bytes.

    `wrong` counts the queries, of `CHECKED`, whose ranking differs from that of a product in double precision.
    """

    added: float
    ours: float
    faiss: float
    memory: float
    wrong: int


def unit_rows(n: int, seed: int) -> np.ndarray:
    """Return random unit rows, float32 (n, DIM)."""
    rows = np.random.default_rng(seed).standard_normal((n, DIM), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def count_wrong(rows: np.ndarray, queries: np.ndarray, results: list[tuple[np.ndarray, np.ndarray]]) -> int:
    """Count the queries whose ranking differs at any rank from that of a product in double precision."""
    double = queries.astype(np.float64).T
    scores = np.concatenate([rows[i : i + 65536].astype(np.float64) @ double for i in range(0, len(rows), 65536)])
    wrong = 0
    for exact, ours in zip(scores.T, results, strict=True):
        near = np.argpartition(exact, len(rows) - 2 * K)[len(rows) - 2 * K :]
        first, second = (
            rank(((f"{item:09d}", float(score)) for item, score in zip(*scored, strict=True)), K)
            for scored in ((near, exact[near]), ours)
        )
        wrong += first != second
    return wrong


def measure(n: int) -> Measured:
    """Add n vectors and search in them, then in the same vectors with faiss, in turns."""
    warm = unit_rows(5000, 1)
    list(VectorIndex(warm).search(warm[:32], 10))
    before = memory("VmRSS")
    started = time.perf_counter()
    rows = stack(unit_rows(min(BATCH, n - start), 100 + start) for start in range(0, n, BATCH))
    added = time.perf_counter() - started
    queries = unit_rows(N_QUERIES, 2)
    results: list[tuple[np.ndarray, np.ndarray]] = []
    ours = theirs = ratio = 0.0
    flat: Any = None
    for part in np.array_split(queries, TURNS):
        started = time.perf_counter()
        results.extend(VectorIndex(rows).search(part, K))
        ours += time.perf_counter() - started
        if flat is None:
            ratio = (memory("VmHWM") - before) / rows.nbytes
            import faiss  # after our own search, which sets faiss's processor level

            flat = faiss.IndexFlatIP(DIM)
            flat.add(rows)
        started = time.perf_counter()
        flat.search(part, K)
        theirs += time.perf_counter() - started
    step = N_QUERIES // CHECKED
    return Measured(added, ours, theirs, ratio, count_wrong(rows, queries[::step], results[::step]))


def rows(n: int = 1_000_000) -> list[Row]:
    """Every figure with its bar, measured in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        added, ours, theirs, ratio, wrong = pool.submit(measure, n).result()
    what = f"{n:,} x {DIM}"
    return [
        Row(f"{what}: made and added, in batches of {BATCH:,}", f"{added:.1f} s"),
        Row(f"{what}: {N_QUERIES:,} queries, the {K} best, exact", f"{ours:.1f} s"),
        Row("the same by faiss IndexFlatIP / ours, time", f"{theirs / ours:.1f} ({theirs:.1f} s)"),
        Row(f"{what}: peak memory / the vectors", f"{ratio:.2f}", "< 1.1", ratio < 1.1),
        Row(f"{what}: rankings unlike a brute-force product, of {CHECKED}", f"{wrong}", "0", wrong == 0),
    ]
