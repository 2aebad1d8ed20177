"""Speed and memory of the whole job, and of protocol `uses`: each figure from a process of its own."""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from _bench import Row, Spent, command, one_core, spent

from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.embedding import models
from repoeval_bench.embedding.batches import batches
from repoeval_bench.embedding.encoder import SentenceTransformerEncoder
from repoeval_bench.runs.runner import plan_run

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNKERS = ("fixed", "ast", "chonkie")
THREE = [part for spec in CHUNKERS for part in ("-c", spec)]
ROUNDS = 3
CORES = 2
"""Cores that the limits of processor time allow for."""

_LOAD = (
    "import sys; from repoeval_bench import load_benchmark as load; assert load(sys.argv[1]).tasks[0].uses is not None"
)


def run(home: Path, out: Path, source: str, *words: str) -> Spent:
    """Run one `eval` or `compare`."""
    return command(*words, "--source", source, "--out", out, home=home)


def embed_alone(source: str, first: int) -> tuple[float, int]:
    """Return the seconds to embed the distinct texts of three chunkers and their queries, and the number of texts.

    Every sixteenth batch from the `first` on is embedded; the time of the others follows from their tokens, padding
    included. The time to load the model is not counted.
    """
    benchmark = load_benchmark(source)
    plans = [plan_run(benchmark, spec).texts() for spec in CHUNKERS]
    texts = list(dict.fromkeys(text for planned in plans for of_role in planned.values() for text in of_role))
    encoder = SentenceTransformerEncoder(models.locate("minilm"))
    tokens = encoder.count_tokens(texts, "document")
    planned_batches = [*batches(tokens, limit=encoder.files.max_tokens, tokens=encoder.batch_tokens)]
    sizes = [batch.width * batch.rows for batch in planned_batches]
    some = [position for batch in planned_batches[first::16] for position in batch.positions]
    _ = list(encoder.encode_batches(texts[:1], "document", tokens[:1]))
    started = time.perf_counter()
    for _ in encoder.encode_batches([texts[i] for i in some], "document", [tokens[i] for i in some]):
        pass
    seconds = time.perf_counter() - started
    return seconds * sum(sizes) / sum(sizes[first::16]), len(texts)


def rows(source: str) -> list[Row]:
    """Every figure with its bar."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        home = fetched(folder / "home", source)
        # Some texts before and some after, so that other load on the machine affects both.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            before, n_texts = pool.submit(embed_alone, source, 0).result()
            cold = run(home, folder / "cold", source, "compare", *THREE)
            after, _ = pool.submit(embed_alone, source, 8).result()
        alone = (before + after) / 2

        def warm(out: str, *words: str) -> float:
            return median(run(home, folder / out.format(i), source, *words).wall for i in range(ROUNDS))

        one = warm("eval{}", "eval", "-c", "ast")
        three = warm("compare{}", "compare", *THREE)
        again = warm("compare0", "compare", *THREE)
        one_by_terms = warm("eval-bm25-{}", "eval", "-c", "ast", "--retriever", "bm25")
        three_by_terms = warm("compare-bm25-{}", "compare", *THREE, "--retriever", "bm25")
    gib, share = cold.peak / 2**30, cold.wall / alone
    return [
        Row(f"embedding of {n_texts:,} distinct texts alone, by an eighth of the batches", f"{alone:.1f} s"),
        Row(
            "cold compare of three chunkers / embedding their texts alone",
            f"{share:.2f} ({cold.wall:.1f} s)",
            "<= 1.1",
            share <= 1.1,
        ),
        Row("its peak memory, of the process", f"{gib:.2f} GiB", "< 2 GiB", gib < 2),
        Row("eval of one, vectors cached, median of 3", f"{one:.2f} s", "< 3 s", one < 3),
        Row("compare of three, vectors cached, median of 3", f"{three:.2f} s", "< 1.6 s", three < 1.6),
        Row("compare of three, runs stored, median of 3", f"{again:.2f} s", "< 0.5 s", again < 0.5),
        Row("eval of one by BM25, no run stored, median of 3", f"{one_by_terms:.2f} s", "< 1.2 s", one_by_terms < 1.2),
        Row(
            "compare of three by BM25, no run stored, median of 3",
            f"{three_by_terms:.2f} s",
            "< 2 s",
            three_by_terms < 2,
        ),
    ]


def fetched(home: Path, source: str) -> Path:
    """Fetch the data into a home without vectors, and return the home."""
    command("data", "fetch", "--source", source, home=home)
    return home


def uses_rows(source: str) -> Iterator[Row]:
    """Measure protocol `uses` on RepoEval: resolving names with and without the index, and a comparison."""
    with tempfile.TemporaryDirectory() as name:
        build = Path(__file__).parent / "build_uses.py"
        resolved = spent(build, "--source", source, "--output", name).busy
        bar = CORES * 180
        yield Row(
            "resolving RepoEval's tasks from nothing, processor time", f"{resolved:.0f} s", f"< {bar} s", resolved < bar
        )
        indexed = spent("-c", _LOAD, source).busy
        yield Row("loading them with the index", f"{indexed:.1f} s", "< 5 s", indexed < 5)
        yield Row("from nothing, over with the index", f"{resolved / indexed:.0f}x")

        chunkers = ("-c", "fixed", "-c", "ast", "-c", "recursive", "--baseline", "fixed", "--retriever", "bm25")
        with one_core():
            compared = command("compare", *chunkers, "--protocol", "uses", "--source", source, "--out", name).busy
        what = "compare under uses by BM25, three chunkers, processor time"
        yield Row(what, f"{compared:.1f} s", "< 10 s", compared < 10)
