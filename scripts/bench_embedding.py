"""Embedding against plain `SentenceTransformer.encode` in fp32, on the same texts, side by side in one process."""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from _bench import Row

from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.embedding import models
from repoeval_bench.embedding.encoder import SentenceTransformerEncoder
from repoeval_bench.embedding.precision import choose_precision
from repoeval_bench.runs.parts import make_embedder
from repoeval_bench.runs.runner import evaluate, plan_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from repoeval_bench.core.benchmark import Benchmark

CHUNKERS = ("fixed", "ast", "chonkie")
SAMPLE = 192
SMALL = ("maxhumber_redframes", "lucidrains_imagen-pytorch")
"""Repositories on which a run in the machine's precision is compared with one in fp32."""


def ours(encoder: SentenceTransformerEncoder, texts: Sequence[str]) -> np.ndarray:
    """Embed texts as a run does, tokens counted first; float32 (n, dim)."""
    result: list[Any] = [None] * len(texts)
    tokens = encoder.count_tokens(texts, "document")
    for positions, vectors in encoder.encode_batches(texts, "document", tokens):
        for position, vector in zip(positions, vectors, strict=True):
            result[position] = vector
    return np.array(result)


def sample(benchmark: Benchmark) -> list[str]:
    """Return a sample of the distinct chunks of all three chunkers, always the same."""
    distinct = {text for spec in CHUNKERS for text in plan_run(benchmark, spec).texts()["document"]}
    return random.Random(0).sample(sorted(distinct), min(SAMPLE, len(distinct)))


def against_plain(benchmark: Benchmark) -> list[Row]:
    """Compare time and vectors with the plain library on a sample of the chunks, in turns."""
    from sentence_transformers import SentenceTransformer

    texts = sample(benchmark)
    files = models.locate("minilm")
    plain, encoder = SentenceTransformer(str(files.folder), device="cpu"), SentenceTransformerEncoder(files)
    plain.encode(texts[:16])
    ours(encoder, texts[:16])
    seconds: dict[str, list[float]] = {"plain": [], "ours": []}
    for _ in range(3):
        started = time.perf_counter()
        expected = plain.encode(texts)
        seconds["plain"].append(time.perf_counter() - started)
        started = time.perf_counter()
        vectors = ours(encoder, texts)
        seconds["ours"].append(time.perf_counter() - started)
    ratio = min(seconds["plain"]) / min(seconds["ours"])
    cosine = float((vectors * expected).sum(axis=1).min())
    fast = files.precision != "fp32"
    return [
        Row(
            f"{len(texts)} chunks: plain encode in fp32 / {files.precision}, time",
            f"{ratio:.1f} ({len(texts) / min(seconds['ours']):.0f} texts/s)",
            ">= 2" if fast else "",
            ratio >= 2 if fast else None,
        ),
        Row(f"least cosine of {files.precision} to plain fp32", f"{cosine:.6f}", ">= 0.9999", cosine >= 0.9999),
    ]


def score_distance(source: str, home: Path) -> Row:
    """Measure how much nDCG@10 differs between the machine's precision and fp32."""
    benchmark = load_benchmark(source, repos=SMALL)
    means = []
    for spec in ("minilm", "minilm:precision=fp32"):
        model = make_embedder(spec, home=home)
        runs = [evaluate(benchmark, chunker, embedder=model, out=home / "results") for chunker in ("ast", "fixed")]
        means.append([run.metrics.micro["ndcg@10"] for run in runs])
    distance = float(np.abs(np.subtract(*means)).max())
    what = f"nDCG@10 of ast and fixed on {len(benchmark.tasks)} tasks, distance to fp32"
    return Row(what, f"{distance:.4f}", "<= 0.005", distance <= 0.005)


def rows(source: str) -> list[Row]:
    """Every figure with its bar."""
    table = against_plain(load_benchmark(source))
    if choose_precision("auto", "cpu") == "fp32":
        return table
    with tempfile.TemporaryDirectory() as name:
        return [*table, score_distance(source, Path(name))]
