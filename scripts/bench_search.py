"""Exact search in a million vectors: time beside faiss and numpy, memory, and agreement with a brute-force product."""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from _bench import Row, memory

from repoeval_bench.retrieval.ranking import rank
from repoeval_bench.retrieval.vector_index import VectorIndex, stack

if TYPE_CHECKING:
    from collections.abc import Callable

DIM, N_QUERIES, K = 384, 1000, 100
BATCH = 4096
TURNS = 2
CHECKED = 20


class Measured(NamedTuple):
    """Seconds to add the vectors, seconds of each way to search, and peak memory over the vectors' bytes.

    `wrong` counts the queries, of `CHECKED`, whose ranking differs from that of a product in double precision.
    """

    added: float
    searched: dict[str, float]
    memory: float
    wrong: int


def unit_rows(n: int, seed: int) -> np.ndarray:
    """Return random unit rows, float32 (n, DIM)."""
    rows = np.random.default_rng(seed).standard_normal((n, DIM), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def plain_numpy(rows: np.ndarray, queries: np.ndarray) -> None:
    """Search by a product and argpartition, 64 queries at a time: more of them would take gigabytes."""
    for start in range(0, len(queries), 64):
        near = queries[start : start + 64] @ rows.T
        best = np.argpartition(near, len(rows) - K, axis=1)[:, len(rows) - K :]
        np.take_along_axis(near, best, axis=1)


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
    """Add n vectors and search in them, then in the same vectors with faiss and numpy, in turns."""
    warm = unit_rows(5000, 1)
    list(VectorIndex(warm).search(warm[:32], 10))
    before = memory("VmRSS")
    started = time.perf_counter()
    rows = stack(unit_rows(min(BATCH, n - start), 100 + start) for start in range(0, n, BATCH))
    added = time.perf_counter() - started
    queries = unit_rows(N_QUERIES, 2)
    searched: dict[str, float] = {"ours": 0, "faiss": 0, "numpy": 0}

    def timed(library: str, search: Callable[[], object]) -> None:
        started = time.perf_counter()
        search()
        searched[library] += time.perf_counter() - started

    results: list[tuple[np.ndarray, np.ndarray]] = []
    first, *others = np.array_split(queries, TURNS)
    timed("ours", lambda: results.extend(VectorIndex(rows).search(first, K)))
    ratio = (memory("VmHWM") - before) / rows.nbytes
    import faiss  # after our own search, which sets faiss's processor level

    flat = faiss.IndexFlatIP(DIM)
    flat.add(rows)
    for part in (first, *others):
        if part is not first:
            timed("ours", lambda part=part: results.extend(VectorIndex(rows).search(part, K)))
        timed("faiss", lambda part=part: flat.search(part, K))
        timed("numpy", lambda part=part: plain_numpy(rows, part))
    step = N_QUERIES // CHECKED
    return Measured(added, searched, ratio, count_wrong(rows, queries[::step], results[::step]))


def rows(n: int = 1_000_000) -> list[Row]:
    """Every figure with its bar, measured in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        added, searched, ratio, wrong = pool.submit(measure, n).result()
    what = f"{n:,} x {DIM}"
    table = [
        Row(f"{what}: made and added, in batches of {BATCH:,}", f"{added:.1f} s"),
        Row(f"{what}: {N_QUERIES:,} queries, the {K} best, exact", f"{searched['ours']:.1f} s"),
    ]
    for library, name in {"faiss": "faiss IndexFlatIP", "numpy": "numpy product and argpartition"}.items():
        ratio_to_ours = searched[library] / searched["ours"]
        table.append(Row(f"the same by {name} / ours, time", f"{ratio_to_ours:.1f} ({searched[library]:.1f} s)"))
    return [
        *table,
        Row(f"{what}: peak memory / the vectors", f"{ratio:.2f}", "< 1.1", ratio < 1.1),
        Row(f"{what}: rankings unlike a brute-force product, of {CHECKED}", f"{wrong}", "0", wrong == 0),
    ]
