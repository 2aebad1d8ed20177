"""The steps of a run, in order, on one screen. Parts come in as objects; files are written by `store`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING

from repoeval_bench.config import OUTSIDE_THE_SIX
from repoeval_bench.corpus import build_corpus
from repoeval_bench.errors import DatasetError
from repoeval_bench.metrics import score_run
from repoeval_bench.qrels import build_qrels
from repoeval_bench.queries import make_queries
from repoeval_bench.store import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from repoeval_bench.config import Protocol, RunConfig
    from repoeval_bench.corpus import Corpus
    from repoeval_bench.types import Benchmark, Chunker, Embedder, Query, Retriever, Role

    RetrieverFactory = Callable[[Corpus, Embedder], Retriever]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run will embed: made without a model, so that it can be shown before anything is computed."""

    benchmark: Benchmark
    chunker: str
    corpus: Corpus
    queries: tuple[Query, ...]
    seconds: dict[str, float]

    def texts(self) -> dict[Role, list[str]]:
        """Role -> the texts of that role, with repeats."""
        return {
            "query": [query.text for query in self.queries],
            "document": [chunk.embed_text for chunks in self.corpus.chunks.values() for chunk in chunks],
        }


def plan(benchmark: Benchmark, chunker: Chunker, protocol: Protocol, *, skip_errors: bool = False) -> Plan:
    """Select the protocol's repositories, chunk them, and make the queries."""
    started = perf_counter()
    selected = _select(benchmark, protocol)
    corpus = build_corpus(selected.files, chunker, skip_errors=skip_errors)
    queries = make_queries(selected.tasks, protocol.query)
    return Plan(selected, chunker.spec, corpus, queries, {"chunk": perf_counter() - started})


def execute(planned: Plan, config: RunConfig, embedder: Embedder, retriever: RetrieverFactory) -> Outcome:
    """Embed, retrieve, judge and score what was planned."""
    seconds = dict(planned.seconds)
    started = perf_counter()

    def lap(step: str) -> None:
        nonlocal started
        now = perf_counter()
        seconds[step] = now - started
        started = now

    texts = planned.texts()
    truncated = {role: _truncated(embedder, texts[role], role) for role in texts}
    lap("count tokens")
    searcher = retriever(planned.corpus, embedder)
    lap("embed and index")
    run = searcher.search(planned.queries, config.k)
    lap("embed queries and retrieve")
    qrels = build_qrels(planned.benchmark.tasks, planned.corpus.chunks, config.protocol.gold, config.protocol.relevance)
    lap("judge")
    scores = score_run(run.rankings, qrels, config.measures)
    lap("score")
    corpus, benchmark = planned.corpus, planned.benchmark
    counts = {
        "queries": len(planned.queries),
        "queries_truncated": truncated["query"],
        "queries_without_relevant": sum(not gains for gains in qrels.values()),
        "chunks": corpus.n_chunks,
        "chunks_truncated": truncated["document"],
        "files": corpus.n_files,
        "files_skipped": len(corpus.skipped),
        "files_undecodable": len(benchmark.undecodable),
        "lines_uncovered": corpus.uncovered_lines,
    }
    return Outcome(config, benchmark, corpus, planned.queries, qrels, run, scores, counts, seconds)


def _select(benchmark: Benchmark, protocol: Protocol) -> Benchmark:
    # "The six" are named at function level only; elsewhere all that is present is scored.
    if protocol.repositories == "all" or benchmark.level != "function":
        return benchmark
    files = {repo: files for repo, files in benchmark.files.items() if repo not in OUTSIDE_THE_SIX}
    tasks = tuple(task for task in benchmark.tasks if task.repo in files)
    if not tasks:
        raise DatasetError(
            f"protocol {protocol.name} scores none of {', '.join(benchmark.files)}; choose other repositories or "
            "repositories=all"
        )
    return replace(benchmark, tasks=tasks, files=files)


def _truncated(embedder: Embedder, texts: Sequence[str], role: Role) -> int:
    limit = embedder.max_tokens
    return 0 if limit is None else sum(count > limit for count in embedder.count_tokens(texts, role))
