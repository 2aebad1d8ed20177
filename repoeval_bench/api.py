"""What a script calls; the command line calls the same three functions."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.config import BASELINE, DEPTH, Protocol, RunConfig
from repoeval_bench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from repoeval_bench.pipeline import Plan
    from repoeval_bench.store import StoredRun
    from repoeval_bench.types import Benchmark, Chunker, Comparison, Embedder

EMBEDDER = "minilm"
RETRIEVER = "dense"
PROTOCOL = "context"
NO_EMBEDDER = "none"
"""What stands in place of an embedder's spec where nothing was embedded."""
RESULTS = Path("results")


def home_folder(home: Path | None = None) -> Path:
    """Where data sets and vectors are kept: `home`, else $REPOEVAL_HOME, else the user's cache folder."""
    from repoeval_bench.dataset.install import data_home

    return data_home(home)


def load_benchmark(
    source: str = "auto",
    *,
    level: str = "function",
    context: str = "2k",
    tokenizer: str = "codex",
    repos: Sequence[str] | None = None,
    limit: int | None = None,
    home: Path | None = None,
    notify: Callable[[str], None] = lambda _: None,
) -> Benchmark:
    """Load RepoEval, fetching it first where it is not at hand.

    `source` is `auto`, `github`, `pypi`, a folder or a URL; `repos` and `limit` select. `notify` receives one
    line about what was taken and what is missing. Raises UsageError or DatasetError.
    """
    from repoeval_bench.dataset.loader import load

    return load(
        source, level=level, context=context, tokenizer=tokenizer, repos=repos, limit=limit, home=home, notify=notify
    )


def make_embedder(spec: str = EMBEDDER, *, home: Path | None = None) -> Embedder:
    """The embedder that a spec names, reading through the vector cache in `home`."""
    from repoeval_bench.embedding.cache import CachedEmbedder, VectorCache
    from repoeval_bench.embedding.encoder import SentenceTransformerEncoder
    from repoeval_bench.embedding.long_text import LongTextEmbedder, split_spec
    from repoeval_bench.embedding.models import locate

    model, policies = split_spec(spec)
    embedder = CachedEmbedder(SentenceTransformerEncoder(locate(model)), VectorCache(home_folder(home) / "vectors"))
    return embedder if set(policies.values()) == {"head"} else LongTextEmbedder(embedder, policies)


def needs_vectors(retriever: str, metrics: Sequence[str] | None = None) -> bool:
    """Whether a run embeds anything: its retriever or one of its measures may ask for vectors."""
    from repoeval_bench.metrics import Measure
    from repoeval_bench.retrieval.registry import choose_retriever

    return choose_retriever(retriever).vectors or any("vectors" in Measure.parse(name).needs for name in metrics or ())


def make_parts(protocol: Protocol, chunker: str | Chunker | None) -> tuple[Chunker, Chunker | None]:
    """(what makes the chunks, what makes the documents they are judged on if that is another) under a protocol.

    A chunker under a protocol whose documents are fixed, or none under another, is a UsageError.
    """
    from chunkers.registry import make_chunker

    if protocol.documents == "windows":
        from repoeval_bench.windows import CoderagWindows

        if chunker is None or isinstance(chunker, CoderagWindows):
            return CoderagWindows(), None
        raise UsageError(f"protocol {protocol.name} fixes its documents; name no chunker, or choose another protocol")
    if chunker is None:
        raise UsageError("no chunker was named; add --chunker ast, or see repoeval-bench list chunkers")
    baseline = make_chunker(BASELINE) if protocol.documents == "baseline" else None
    return make_chunker(chunker) if isinstance(chunker, str) else chunker, baseline


def plan_run(
    benchmark: Benchmark,
    chunker: str | Chunker | None,
    *,
    protocol: str | Protocol = PROTOCOL,
    skip_errors: bool = False,
) -> Plan:
    """Chunk the repositories and make the queries, and compute nothing else."""
    from repoeval_bench.pipeline import plan

    chosen = Protocol.parse(protocol) if isinstance(protocol, str) else protocol
    cutter, baseline = make_parts(chosen, chunker)
    return plan(benchmark, cutter, chosen, baseline=baseline, skip_errors=skip_errors)


def evaluate(
    benchmark: Benchmark,
    chunker: str | Chunker | None,
    *,
    protocol: str | Protocol = PROTOCOL,
    embedder: str | Embedder = EMBEDDER,
    retriever: str = RETRIEVER,
    k: int = DEPTH,
    metrics: Sequence[str] | None = None,
    out: Path | str = RESULTS,
    skip_errors: bool = False,
    reuse: bool = False,
    home: Path | None = None,
) -> StoredRun:
    """Chunk, embed, retrieve, score and store one run; returns what was stored.

    `chunker` is a spec, an object with `spec` and `chunk`, or None where the protocol has documents of its own. `k`
    is the depth that is ranked and stored. `embedder` takes no part where neither the retriever nor a measure asks
    for vectors. Every distinct text is embedded once and kept, so a second call is quick; with `reuse` a run that is
    stored already, made by this very code, is returned as it is. Raises a BenchError in one sentence.
    """
    from repoeval_bench import store
    from repoeval_bench.metrics import EVAL_MEASURES, Measure
    from repoeval_bench.pipeline import execute, plan
    from repoeval_bench.retrieval.registry import choose_retriever

    chosen = Protocol.parse(protocol) if isinstance(protocol, str) else protocol
    cutter, baseline = make_parts(chosen, chunker)
    searcher = choose_retriever(retriever)
    model = None
    if needs_vectors(retriever, metrics):
        model = make_embedder(embedder, home=home) if isinstance(embedder, str) else embedder
    config = RunConfig(
        dataset=benchmark.name,
        fingerprint=benchmark.fingerprint,
        protocol=chosen,
        chunker=cutter.spec,
        embedder=model.spec if model else NO_EMBEDDER,
        embedder_identity=model.identity if model else {},
        retriever=searcher.spec,
        k=k,
        measures=tuple(dict.fromkeys(str(Measure.parse(name)) for name in metrics or EVAL_MEASURES)),
        skip_errors=skip_errors,
    )
    if reuse and (stored := store.current(Path(out) / config.run_id)):
        return stored
    store.check_writable(Path(out))
    planned = plan(benchmark, cutter, chosen, baseline=baseline, skip_errors=skip_errors)
    outcome = execute(planned, config, model, searcher)
    return store.save(outcome, Path(out), created=datetime.now(UTC).isoformat(timespec="seconds"))


def compare(runs: Sequence[StoredRun], *, baseline: StoredRun | None = None) -> list[Comparison]:
    """Paired differences of every run against `baseline` (the first run unless given), measure by measure.

    Only runs over the same queries under one protocol are compared; anything else is a UsageError.
    """
    from repoeval_bench.compare import compare_runs

    return compare_runs(runs, baseline or runs[0])
