"""The vector cache: vectors a second written and checked, and its size on disk."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from _bench import Row

from repoeval_bench.embedding.storage import VectorCache

VECTORS, DIM = 100_000, 384
TITLE = f"Vector cache, vectors of {DIM}"
ROWS_AT_ONCE = 1000
BATCHES = (4, 32)
"""Texts in a transaction of a run: batches of 256 tokens a text, and of 32 (1,024 in all)."""


def rows(*, n: int = VECTORS) -> list[Row]:
    """Every figure with its bar."""
    rng = np.random.default_rng(0)
    keys = [rng.bytes(32) for _ in range(n)]
    vectors = rng.standard_normal((n, DIM)).astype("<f4")

    def written(folder: Path, count: int, rows_at_once: int) -> float:
        """Return vectors per second in transactions of `rows_at_once`."""
        started = time.perf_counter()
        cache = VectorCache(folder)
        for start in range(0, count, rows_at_once):
            end = min(start + rows_at_once, count)
            part = zip(keys[start:end], vectors[start:end], strict=True)
            cache.write({key: vector.tobytes() for key, vector in part}, "vector", "random vectors")
        cache.close()
        return count / (time.perf_counter() - started)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "whole"
        write = written(folder, n, ROWS_AT_ONCE)
        seconds = []
        for _ in range(3):
            started = time.perf_counter()
            cache = VectorCache(folder)
            values = cache.read(keys)
            cache.close()
            seconds.append(time.perf_counter() - started)
            assert b"".join(value or b"" for value in values) == vectors.tobytes()
        read = n / median(seconds)
        # Blocks, not lengths: a small file takes a whole block.
        space = sum(512 * path.stat().st_blocks for path in folder.rglob("*") if path.is_file()) / vectors.nbytes
        batches = {rows: written(Path(name) / f"batches{rows}", n // 5, rows) for rows in BATCHES}
    return [
        Row(f"write, {ROWS_AT_ONCE:,} a transaction, vectors/s", f"{write:,.0f}", "> 15,000", write > 15_000),
        *(
            Row(f"write, {rows} a transaction as a run with batches of {rows}, vectors/s", f"{rate:,.0f}")
            for rows, rate in batches.items()
        ),
        Row("read and checked, vectors/s", f"{read:,.0f}", "> 30,000", read > 30_000),
        Row("on disk / raw bytes", f"{space:.2f}", "< 1.2", space < 1.2),
    ]
