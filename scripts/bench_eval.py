"""Speed and memory of the whole job, each figure from a process of its own.

python scripts/bench_eval.py --source SOURCE
"""

from __future__ import annotations

import argparse
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import numpy as np
from _bench import Row, Spent, command, print_rows

from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.embedding import models
from repoeval_bench.embedding.encoder import SentenceTransformerEncoder
from repoeval_bench.embedding.storage import VectorCache
from repoeval_bench.runs.runner import plan_run

CHUNKERS = ("fixed", "ast", "chonkie")
ROUNDS = 3


def run(home: Path, out: Path, source: str, *words: str) -> Spent:
    """One `eval` or `compare`."""
    return command(*words, "--source", source, "--out", out, home=home)


def embed_alone(source: str, half: int) -> tuple[float, int]:
    """(seconds to embed every second distinct text of three chunkers and their queries, the model loaded; texts)."""
    benchmark = load_benchmark(source)
    plans = [plan_run(benchmark, spec).texts() for spec in CHUNKERS]
    texts = list(dict.fromkeys(text for planned in plans for each in planned.values() for text in each))[half::2]
    encoder = SentenceTransformerEncoder(models.locate("minilm"))
    # What loading takes is the command's own.
    _ = list(encoder.encode_batches(texts[:1], "document", encoder.count_tokens(texts[:1], "document")))
    started = time.perf_counter()
    tokens = encoder.count_tokens(texts, "document")
    n = sum(len(positions) for positions, _ in encoder.encode_batches(texts, "document", tokens))
    return time.perf_counter() - started, n


def compare_rows(source: str, folder: Path) -> list[Row]:
    """Three chunkers, from an empty cache and from a full one."""
    chunkers = [part for spec in CHUNKERS for part in ("-c", spec)]
    home = fetched(folder / "compared", source)
    # Half of the texts before and half after, so that whatever else the machine does meets both.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        before, first = pool.submit(embed_alone, source, 0).result()
        cold = run(home, folder / "compare-cold", source, "compare", *chunkers).wall
        after, second = pool.submit(embed_alone, source, 1).result()
    alone, n_texts = before + after, first + second
    warm = median(run(home, folder / f"compare{i}", source, "compare", *chunkers).wall for i in range(ROUNDS))
    again = median(run(home, folder / "compare0", source, "compare", *chunkers).wall for _ in range(ROUNDS))
    by_terms = [
        median(
            run(home, folder / f"{words[0]}-bm25-{i}", source, *words, "--retriever", "bm25").wall
            for i in range(ROUNDS)
        )
        for words in (("eval", "-c", "ast"), ("compare", *chunkers))
    ]
    return [
        Row(f"embedding of {n_texts:,} distinct texts alone, the model loaded", f"{alone:.1f} s"),
        Row(
            "cold compare of three chunkers / embedding their texts alone",
            f"{cold / alone:.2f} ({cold:.1f} s)",
            "<= 1.1",
            cold / alone <= 1.1,
        ),
        Row("compare of three chunkers, vectors cached, median of 3", f"{warm:.2f} s", "< 1.6 s", warm < 1.6),
        Row("compare of three chunkers, runs stored, median of 3", f"{again:.2f} s", "< 0.5 s", again < 0.5),
        Row("eval of one by BM25, no run stored, median of 3", f"{by_terms[0]:.2f} s", "< 1.2 s", by_terms[0] < 1.2),
        Row("compare of three by BM25, no run stored, median of 3", f"{by_terms[1]:.2f} s", "< 2 s", by_terms[1] < 2),
    ]


def fetched(home: Path, source: str) -> Path:
    """A home with the data and no vector."""
    command("data", "fetch", "--source", source, home=home)
    return home


def cached_read(folder: Path, n: int = 2000, dim: int = 384) -> float:
    """Seconds to read n cached vectors from a fresh connection, median of five."""
    rng = np.random.default_rng(0)
    keys = [rng.bytes(32) for _ in range(n)]
    cache = VectorCache(folder)
    cache.write({key: rng.standard_normal(dim).astype("<f4").tobytes() for key in keys}, "vector", "random numbers")
    cache.close()
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        cache = VectorCache(folder)
        values = cache.read(keys)
        seconds.append(time.perf_counter() - started)
        assert all(value and len(value) == 4 * dim for value in values)
        cache.close()
    return median(seconds)


def rows(source: str) -> list[Row]:
    """Every figure with its bar."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        home = fetched(folder / "home", source)
        cold = run(home, folder / "cold", source, "eval", "-c", "ast")
        warm_wall = median(run(home, folder / f"warm{i}", source, "eval", "-c", "ast").wall for i in range(ROUNDS))
        read = cached_read(folder / "read")
        compared = compare_rows(source, folder)
    gib = cold.peak / 2**30
    return [
        Row("cold eval: peak memory of the process", f"{gib:.2f} GiB", "< 2 GiB", gib < 2),
        Row("warm eval: wall time of the process, median of 3", f"{warm_wall:.2f} s", "< 3 s", warm_wall < 3),
        Row("cold eval against warm", f"{cold.wall / warm_wall:.0f}x"),
        Row("2,000 cached vectors read, median of 5", f"{read:.3f} s", "< 0.3 s", read < 0.3),
        *compared,
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", default="auto")
    print_rows("The whole job", rows(parser.parse_args().source))
