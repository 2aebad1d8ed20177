"""Runs that belong together: the same data, chunked, embedded in one pass, executed side by side, each stored."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.chunkers.registry import BUILT_IN
from repoeval_bench.core.spec import Spec
from repoeval_bench.embedding.choice import needs_files
from repoeval_bench.metrics import inputs_of
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.runs import store
from repoeval_bench.runs.config import DEPTH, NO_EMBEDDER, PACK, RunConfig
from repoeval_bench.runs.executors import IN_PROCESS
from repoeval_bench.runs.parts import (
    RESULTS,
    Parts,
    choose_measures,
    make_embedder,
    make_parts,
    make_retriever,
    needs_vectors,
    silent,
)
from repoeval_bench.runs.stages import Plan, embed, execute, is_large, plan, plan_all, select
from repoeval_bench.runs.view import RunView, current_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.core.parts import Chunker, Embedder
    from repoeval_bench.runs.executors import Executor
    from repoeval_bench.runs.shared import Given


def plan_run(
    benchmark: Benchmark,
    chunker: str | Chunker | None,
    *,
    protocol: str | Protocol = "context",
    skip_errors: bool = False,
) -> Plan:
    """Chunk the repositories and make the queries, and compute nothing else."""
    chosen = Protocol.parse(protocol) if isinstance(protocol, str) else protocol
    cutter, baseline = make_parts(chosen, chunker)
    return plan(benchmark, cutter, chosen, baseline=baseline, skip_errors=skip_errors)


def evaluate(
    benchmark: Benchmark,
    chunker: str | Chunker | None,
    *,
    protocol: str | Protocol = "context",
    embedder: str | Embedder = "minilm",
    retriever: str = "dense",
    k: int = DEPTH,
    metrics: Sequence[str] | None = None,
    out: Path | str = RESULTS,
    skip_errors: bool = False,
    reuse: bool = False,
    home: Path | None = None,
    pack: str = PACK,
    notify: Callable[[str], None] = silent,
) -> RunView:
    """Chunk, embed, retrieve, score and store one run; returns what was stored.

    `chunker` is a spec, an object with `spec` and `chunk`, or None where the protocol has documents of its own. `k`
    is the depth that is ranked and stored. `embedder` takes no part where neither the retriever nor a measure asks
    for vectors. Every distinct text is embedded once and kept, so a second call is quick; with `reuse` a run that is
    stored already, made by this very code, is returned as it is. `pack` is what the run's definition of the benchmark
    is called; runs of two packs are not compared. `notify` receives a line where the cache cannot keep anything, and
    one on the tokens that a server says it embedded. Raises a BenchError in one sentence.
    """
    (run,) = evaluate_all(
        benchmark,
        [chunker],
        protocol=protocol,
        embedder=embedder,
        retriever=retriever,
        k=k,
        metrics=metrics,
        out=out,
        skip_errors=skip_errors,
        reuse=reuse,
        home=home,
        pack=pack,
        notify=notify,
    )
    return run


def evaluate_all(
    benchmark: Benchmark,
    chunkers: Sequence[str | Chunker | None],
    *,
    protocol: str | Protocol = "context",
    embedder: str | Embedder = "minilm",
    retriever: str = "dense",
    k: int = DEPTH,
    metrics: Sequence[str] | None = None,
    out: Path | str = RESULTS,
    skip_errors: bool = False,
    reuse: bool = False,
    home: Path | None = None,
    pack: str = PACK,
    notify: Callable[[str], None] = silent,
    executor: Executor = IN_PROCESS,
) -> Iterator[RunView]:
    """The runs of several chunkers, in their order, each stored when it is done; options as `evaluate` has them.

    All that is missing of all of them is embedded in one pass, each distinct text once, before the first is ranked.
    """
    RunConfig.check_depth(k)
    measures = choose_measures(metrics, k)
    chosen = Protocol.parse(protocol) if isinstance(protocol, str) else protocol
    parts = [make_parts(chosen, chunker) for chunker in chunkers]
    searcher = make_retriever(retriever, chosen, home=home, notify=notify)
    model = None
    if needs_vectors(retriever, metrics):
        model = (
            make_embedder(embedder, home=home, benchmark=benchmark, notify=notify)
            if isinstance(embedder, str)
            else embedder
        )
    benchmark = select(benchmark, chosen)
    configs = [
        RunConfig(
            dataset=benchmark.name,
            fingerprint=benchmark.fingerprint,
            protocol=chosen,
            chunker=cutter.spec,
            embedder=model.spec if model else NO_EMBEDDER,
            embedder_identity=model.identity if model else {},
            retriever=searcher.spec,
            k=k,
            measures=measures,
            skip_errors=skip_errors,
            pack=pack,
            retriever_identity=searcher.scorer.identity if searcher.scorer else {},
        )
        for cutter, _ in parts
    ]
    stored = [current_run(Path(out) / config.run_id) if reuse else None for config in configs]
    if not all(stored):
        store.check_writable(Path(out))
    missing = [(config, each) for config, each, run in zip(configs, parts, stored, strict=True) if run is None]
    made: Iterator[Path] = iter(())
    if missing:
        found = Parts(model, (searcher,), home)
        executor = fitting(executor, benchmark, [cutter for _, (cutter, _) in missing], found)
        given, planned = plan_all(
            benchmark, [each for _, each in missing], chosen, skip_errors=skip_errors, executor=executor
        )
        if model:
            planned = embed(planned, model, ranked=searcher.vectors, measured="vectors" in inputs_of(measures))
            if usage := planned[0].usage:
                told = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in usage.items())
                notify(f"{planned[0].encoded:,} texts embedded: {told}, as the server counts them")
        # A model that has something to do is loaded once and has the cores to itself.
        if any(each.encoded for each in planned):
            executor = IN_PROCESS
        jobs = [
            partial(_make_run, each, config, given, Path(out), found)
            for (config, _), each in zip(missing, planned, strict=True)
        ]
        made = executor.map(jobs)
    for run in stored:
        yield run or RunView(next(made))


def fitting(executor: Executor, benchmark: Benchmark, chunkers: Iterable[Chunker], parts: Parts) -> Executor:
    """The executor, or this process where others do not pay or cannot make the same parts.

    Other people's chunkers may have a process or a state of their own, and a fitted embedder is made from the files.
    """
    elsewhere = (
        is_large(benchmark)
        and all(Spec.parse(chunker.spec).name in BUILT_IN for chunker in chunkers)
        and not (parts.embedder and needs_files(parts.embedder.spec))
        and not any(each.scorer for each in parts.retrievers)  # a model has the cores to itself
    )
    return executor if elsewhere else IN_PROCESS


def _make_run(planned: Plan, config: RunConfig, given: Given, out: Path, parts: Parts) -> Path:
    outcome = execute(planned, config, parts.embedder, parts.retrievers[0], given)
    return store.save(outcome, out, created=datetime.now(UTC).isoformat(timespec="seconds"))
