"""What a script calls; the command line calls the same three functions."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repoeval_bench.config import DEPTH, Protocol, RunConfig
from repoeval_bench.errors import SpecError
from repoeval_bench.spec import Spec, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from repoeval_bench.embedding.cache import CachedEmbedder
    from repoeval_bench.pipeline import Plan, RetrieverFactory
    from repoeval_bench.store import StoredRun
    from repoeval_bench.types import Benchmark, Chunker, Comparison

RETRIEVERS = {"dense": "exact cosine similarity (faiss) between query and chunk vectors, per repository"}

EMBEDDER = "minilm"
RETRIEVER = "dense"
PROTOCOL = "context"
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


def make_embedder(spec: str = EMBEDDER, *, home: Path | None = None) -> CachedEmbedder:
    """The embedder that a spec names, reading through the vector cache in `home`."""
    from repoeval_bench.embedding.cache import CachedEmbedder, VectorCache
    from repoeval_bench.embedding.encoder import SentenceTransformerEncoder
    from repoeval_bench.embedding.models import locate

    return CachedEmbedder(SentenceTransformerEncoder(locate(spec)), VectorCache(home_folder(home) / "vectors"))


def make_retriever(spec: str) -> tuple[str, RetrieverFactory]:
    """A retriever's printed spec and how to build it over a corpus."""
    parsed = Spec.parse(spec)
    if parsed.name not in RETRIEVERS:
        raise SpecError(nearest("retriever", parsed.name, RETRIEVERS))
    if parsed.target or parsed.params:
        raise SpecError(f"retriever {spec!r}: {parsed.name} takes no options")

    def dense(corpus: Any, embedder: Any) -> Any:
        from repoeval_bench.retrieval.dense import DenseRetriever

        return DenseRetriever(corpus.chunks, embedder)

    return parsed.name, dense


def plan_run(
    benchmark: Benchmark, chunker: str | Chunker, *, protocol: str | Protocol = PROTOCOL, skip_errors: bool = False
) -> Plan:
    """Chunk the repositories and make the queries, and compute nothing else."""
    from chunkers.registry import make_chunker
    from repoeval_bench.pipeline import plan

    cutter = make_chunker(chunker) if isinstance(chunker, str) else chunker
    chosen = Protocol.parse(protocol) if isinstance(protocol, str) else protocol
    return plan(benchmark, cutter, chosen, skip_errors=skip_errors)


def evaluate(
    benchmark: Benchmark,
    chunker: str | Chunker,
    *,
    protocol: str | Protocol = PROTOCOL,
    embedder: str | CachedEmbedder = EMBEDDER,
    retriever: str = RETRIEVER,
    k: int = DEPTH,
    metrics: Sequence[str] | None = None,
    out: Path | str = RESULTS,
    skip_errors: bool = False,
    reuse: bool = False,
    home: Path | None = None,
) -> StoredRun:
    """Chunk, embed, retrieve, score and store one run; returns what was stored.

    `chunker` is a spec or an object with `spec` and `chunk`. `k` is the depth that is ranked and stored. Every
    distinct text is embedded once and kept, so a second call is quick; with `reuse` a run that is stored already,
    made by this very code, is returned as it is. Raises a BenchError in one sentence.
    """
    from chunkers.registry import make_chunker
    from repoeval_bench import store
    from repoeval_bench.metrics import DEFAULT_MEASURES, Measure
    from repoeval_bench.pipeline import execute, plan

    chosen = Protocol.parse(protocol) if isinstance(protocol, str) else protocol
    cutter = make_chunker(chunker) if isinstance(chunker, str) else chunker
    retriever_spec, factory = make_retriever(retriever)
    model = make_embedder(embedder, home=home) if isinstance(embedder, str) else embedder
    config = RunConfig(
        dataset=benchmark.name,
        fingerprint=benchmark.fingerprint,
        protocol=chosen,
        chunker=cutter.spec,
        embedder=model.spec,
        embedder_identity=model.identity,
        retriever=retriever_spec,
        k=k,
        measures=tuple(str(Measure.parse(name)) for name in metrics or DEFAULT_MEASURES),
        skip_errors=skip_errors,
    )
    if reuse and (stored := store.current(Path(out) / config.run_id)):
        return stored
    store.check_writable(Path(out))
    planned = plan(benchmark, cutter, chosen, skip_errors=skip_errors)
    outcome = execute(planned, config, model, factory)
    return store.save(outcome, Path(out), created=datetime.now(UTC).isoformat(timespec="seconds"))


def compare(runs: Sequence[StoredRun], *, baseline: StoredRun | None = None) -> list[Comparison]:
    """Paired differences of every run against `baseline` (the first run unless given), measure by measure.

    Only runs over the same queries under one protocol are compared; anything else is a UsageError.
    """
    from repoeval_bench.compare import compare_runs

    return compare_runs(runs, baseline or runs[0])
