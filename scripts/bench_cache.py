"""The vector cache against one JSON file per text and plain diskcache, on the same vectors in one run.

python scripts/bench_cache.py [--quick]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from _bench import Row, print_rows
from diskcache import Cache

from repoeval_bench.embedding.storage import VectorCache

if TYPE_CHECKING:
    from collections.abc import Callable

VECTORS, DIM = 100_000, 384
ROWS_AT_ONCE = 1000
BATCHES = (4, 32)
"""Texts in a transaction of a run: batches of 256 tokens a text, and of 32 (1,024 in all)."""


class StorageCost(NamedTuple):
    """The cost of one way of storing vectors: vectors per second written and read, bytes on disk per byte of vector."""

    write: float
    read: float
    space: float


def fill(folder: Path, keys: list[bytes], vectors: np.ndarray, rows_at_once: int) -> None:
    """Write all in transactions of `rows_at_once`."""
    cache = VectorCache(folder)
    for start in range(0, len(keys), rows_at_once):
        part = zip(keys[start : start + rows_at_once], vectors[start : start + rows_at_once], strict=True)
        cache.write({key: vector.tobytes() for key, vector in part}, "vector", "random vectors")
    cache.close()


def ours(folder: Path, keys: list[bytes], vectors: np.ndarray) -> Callable[[], np.ndarray]:
    """Write in transactions of 1,000 rows; the reader opens the cache again and checks every seal."""
    fill(folder, keys, vectors, ROWS_AT_ONCE)

    def read() -> np.ndarray:
        cache = VectorCache(folder)
        values = cache.read(keys)
        cache.close()
        return np.frombuffer(b"".join(value or b"" for value in values), dtype="<f4").reshape(vectors.shape)

    return read


def written_in_batches(folder: Path, keys: list[bytes], vectors: np.ndarray, rows_at_once: int) -> float:
    """Return vectors per second in transactions of `rows_at_once`, as a run writes each batch of the model."""
    started = time.perf_counter()
    fill(folder, keys, vectors, rows_at_once)
    return len(keys) / (time.perf_counter() - started)


def json_files(folder: Path, keys: list[bytes], vectors: np.ndarray) -> Callable[[], np.ndarray]:
    """Write one file per text, named by its digest, with the vector in JSON."""
    folder.mkdir()
    for key, vector in zip(keys, vectors, strict=True):
        (folder / f"{key.hex()}.json").write_text(json.dumps(vector.tolist()))

    def read() -> np.ndarray:
        return np.array([json.loads((folder / f"{key.hex()}.json").read_text()) for key in keys], dtype="<f4")

    return read


def plain_diskcache(folder: Path, keys: list[bytes], vectors: np.ndarray) -> Callable[[], np.ndarray]:
    """Write arrays by the library's defaults: pickled, one at a time, without a limit on the size."""
    with Cache(str(folder), size_limit=2**40) as cache:
        for key, vector in zip(keys, vectors, strict=True):
            cache[key] = vector

    def read() -> np.ndarray:
        with Cache(str(folder)) as cache:
            return np.array([cache[key] for key in keys])

    return read


def measure(
    storage: Callable[[Path, list[bytes], np.ndarray], Callable[[], np.ndarray]],
    folder: Path,
    keys: list[bytes],
    vectors: np.ndarray,
) -> StorageCost:
    """Write all, read all, compare every byte, and count the bytes on disk.

    Reading is repeated up to three times, until it took ten seconds in all, and the median counts.
    """
    started = time.perf_counter()
    read = storage(folder, keys, vectors)
    written = time.perf_counter() - started
    seconds: list[float] = []
    while len(seconds) < 3 and sum(seconds) < 10:
        started = time.perf_counter()
        result = read()
        seconds.append(time.perf_counter() - started)
        assert np.array_equal(result, vectors)
    # Blocks, not lengths: a small file takes a whole block.
    blocks = sum(512 * path.stat().st_blocks for path in folder.rglob("*") if path.is_file())
    return StorageCost(len(keys) / written, len(keys) / median(seconds), blocks / vectors.nbytes)


def rows(*, n: int = VECTORS) -> list[Row]:
    """Every figure with its bar."""
    rng = np.random.default_rng(0)
    keys = [rng.bytes(32) for _ in range(n)]
    vectors = rng.standard_normal((n, DIM)).astype("<f4")
    with tempfile.TemporaryDirectory() as name:
        # What one costs does not depend on their number, and a hundred thousand take minutes.
        costs = {
            storage.__name__: measure(storage, Path(name) / storage.__name__, keys[:count], vectors[:count])
            for storage, count in ((ours, n), (json_files, n // 10), (plain_diskcache, n // 10))
        }
        batches = {
            rows: written_in_batches(Path(name) / f"batches{rows}", keys[: n // 5], vectors[: n // 5], rows)
            for rows in BATCHES
        }
    own = costs.pop("ours")
    table = [
        Row(f"write, {ROWS_AT_ONCE:,} a transaction, vectors/s", f"{own.write:,.0f}", "> 15,000", own.write > 15_000),
        *(
            Row(f"write, {rows} a transaction as a run with batches of {rows}, vectors/s", f"{written:,.0f}")
            for rows, written in batches.items()
        ),
        Row("read and checked, vectors/s", f"{own.read:,.0f}", "> 50,000", own.read > 50_000),
        Row("on disk / raw bytes", f"{own.space:.2f}", "< 1.2", own.space < 1.2),
    ]
    for way, other in costs.items():
        what = {
            "json_files": f"one JSON file per text, {n // 10:,}",
            "plain_diskcache": f"plain diskcache, {n // 10:,}",
        }[way]
        table += [
            Row(
                f"{what}: write one at a time, vectors/s (1,000 / its)",
                f"{other.write:,.0f} ({own.write / other.write:.1f}x)",
            ),
            Row(f"{what}: read, vectors/s (ours / its)", f"{other.read:,.0f} ({own.read / other.read:.1f}x)"),
            Row(f"{what}: on disk / raw bytes", f"{other.space:.2f}"),
        ]
    return table


def title(n: int = VECTORS) -> str:
    """Return the table's heading."""
    return f"Vector cache, {n:,} vectors of {DIM}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10,000 vectors instead of 100,000")
    count = VECTORS // 10 if parser.parse_args().quick else VECTORS
    print_rows(title(count), rows(n=count))
