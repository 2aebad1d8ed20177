"""Load the data of a stored run, and make the run again from it, with its ranking if possible."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import BenchError, UsageError
from repoeval_bench.core.run import Ranking, Run
from repoeval_bench.core.spec import Spec
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.pack import Pack
from repoeval_bench.dataset.reading.sampling import part_of
from repoeval_bench.dataset.repoeval import DEFAULT, task_set_of
from repoeval_bench.dataset.repoeval import NAME as REPOEVAL
from repoeval_bench.dataset.shipped import edition_of, shipped_pack
from repoeval_bench.embedding.choice import choose_embedder
from repoeval_bench.metrics import inputs_of
from repoeval_bench.protocols.exclusion import excluded_chunks
from repoeval_bench.protocols.protocol import Protocol, passed_over
from repoeval_bench.retrieval.choice import choose_retriever
from repoeval_bench.retrieval.dense import NAME as DENSE
from repoeval_bench.retrieval.ranking import DIGITS
from repoeval_bench.retrieval.scope import pooled, visible
from repoeval_bench.runs import store
from repoeval_bench.runs.config import NO_EMBEDDER, PACK, make_config
from repoeval_bench.runs.parts import (
    PACKS,
    choose_measures,
    chunker_under,
    make_embedder,
    make_retriever,
)
from repoeval_bench.runs.planning import Plan, cut_files, make_inputs, plan_of, select
from repoeval_bench.runs.problems import check_pack
from repoeval_bench.runs.records import PartRecord, RunConfig
from repoeval_bench.runs.stages import embed, execute, texts_of
from repoeval_bench.runs.view import Replay, RunView

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.embedding.cache import CachedEmbedder
    from repoeval_bench.retrieval.choice import ResolvedRetriever
    from repoeval_bench.runs.store import RunOutcome


HARMLESS = {"minilm", "hash"}
"""Embedders that run no code from outside the package and ask no server."""

ROUNDED = 1.01 * 10.0**-DIGITS
"""Tolerance for scores that differ in their last bits, and are rounded to two neighbouring values."""

FUSED = 3e-4
"""Tolerance for fused ranks of vectors, and for models that read pairs: if two neighbours swap, a reciprocal rank
changes by 1/61 - 1/62."""

HALF = 3e-3
"""Tolerance in half precision: twice what bf16 moved between two sets of a processor's instructions."""


def stored_config(run: RunView) -> RunConfig:
    """Return the configuration of a run; UsageError for an imported run, whose chunks cannot be cut again."""
    config = run.manifest.config
    if config is None:
        raise UsageError(f"{run.run_id} was imported, so it cannot be made again from the data; import its log again")
    return config


def data_of(run: RunView, source: str, *, questions: str | None = None, home: Path | None = None) -> Benchmark:
    """Load the data of a run from a source, and select the tasks that the run's protocol scores.

    The fingerprint differs if the source has other data. `questions` is the user's file of questions. Without a source,
    a run over a shipped pack gets that pack.
    """
    config, dataset = stored_config(run), run.manifest.dataset
    if source in {"", "auto"}:
        source = edition_of(config.pack) or source
    given = source not in {"", "auto"}
    is_needed = dataset.source == "pack" and not (shipped_pack(source) or Pack.find(source))
    if is_needed or not (given or dataset.name.startswith(f"{REPOEVAL}-")):
        # Packs beside the run, which `recommend` built, with the name of the run's data.
        beside = (Pack.find(str(path)) for path in sorted((run.folder.parent / PACKS).glob("[!.]*/")))
        same = [pack.root for pack in beside if pack and dataset.name.startswith(f"pack-{pack.content.name}-")]
        raise UsageError(
            f"the data of {run.run_id} is {dataset.name}"
            + (f", and {source} is not a pack" if given else "")
            + "; name its folder with --source"
            + "".join(f", such as {shlex.quote(str(folder))}" for folder in same[:1])
        )
    protocol = Protocol.parse(config.protocol.name)
    task_set = task_set_of(dataset.name) or DEFAULT
    part = dataset.part or PartRecord()
    loaded = load_benchmark(
        source,
        **asdict(task_set),
        repos=part.repositories or None,
        limit=part.limit,
        tests=part.tests,
        questions=questions,
        without=passed_over([protocol], task_set.level),
        home=home,
    )
    selected = select(loaded, protocol)
    drawn = part.sample
    return part_of(selected, drawn.most, drawn.seed, drawn.per_file) if drawn else selected


def code_named_by(config: RunConfig) -> list[str]:
    """Return the specs for which making a run again would run code from outside the package, or ask a server."""
    specs = [spec for spec in (config.protocol.name, *config.measures) if spec.startswith("py:")]
    if Spec.parse(config.chunker).name in {"py", "exec"}:
        specs.append(config.chunker)
    ranker = Spec.parse(config.retriever)
    if ranker.name == "py" or any(part.startswith("py:") for part in (ranker.target, ranker.params.get("first", ""))):
        specs.append(config.retriever)
    if not specs and "vectors" in inputs_of(config.measures) and Spec.parse(config.embedder).name not in HARMLESS:
        specs.append(config.embedder)
    return specs


def check_allowed(run: RunView, allowed: Collection[str]) -> RunConfig:
    """Return the configuration of a run; UsageError if it names code from outside or a server that is not `allowed`."""
    stored = stored_config(run)
    if refused := [spec for spec in code_named_by(stored) if spec not in allowed]:
        raise UsageError(
            f"{run.run_id} names code or a server of its own; give "
            f"{' '.join(f'--allow {shlex.quote(spec)}' for spec in refused)} if you trust it"
        )
    return stored


def replay(
    run: RunView, benchmark: Benchmark, into: Path, *, allowed: Collection[str] = (), home: Path | None = None
) -> Replay:
    """Make a run again in a folder, from the data and the stored request.

    Code that the run names is executed, so call `check_allowed` first. UsageError for a name or an option that does not
    exist. If a model is not `allowed`, not installed, or fails here, the stored ranking is used.
    """
    stored = stored_config(run)
    protocol = Protocol.parse(stored.protocol.name)
    check_names(stored, protocol)
    chunker = chunker_under(protocol, None if protocol.documents == "windows" else stored.chunker)
    inputs = make_inputs(select(benchmark, protocol), protocol)
    cut = cut_files(inputs.benchmark, protocol, chunker, skip_errors=stored.skip_errors)
    planned = plan_of(inputs.benchmark, protocol, inputs.queries, chunker.spec, cut)
    ranker = make_ranker(stored, planned, allowed, home=home)
    config = config_of(stored, ranker)
    # The original run has decided whether most queries have gold.
    run_again = partial(
        execute, ranker.planned, config, ranker.embedder, ranker.retriever, inputs, allow_sparse_qrels=True
    )
    outcome: RunOutcome | None = None
    reason = ranker.reason
    if not reason:
        try:
            outcome = run_again()
        except BenchError as error:
            if not has_model(ranker.retriever):
                raise
            reason = str(error)
    computed = outcome.run.rankings if outcome else None
    ranking, unseen = _seen_part(run, planned, stored.k)
    if outcome is None or ranking != computed:
        outcome = run_again(ranking=Run(tag=stored.chunker, rankings=ranking))
    return Replay(
        run=RunView(store.save(outcome, into, created=run.manifest.created)),
        unseen=unseen,
        stored=ranking,
        computed=computed,
        reason=reason,
        tolerance=tolerance_of(ranker.retriever, config),
        counts_tokens=ranker.embedder is not None or not ranker.retriever.vectors,
    )


def _seen_part(run: RunView, planned: Plan, k: int) -> tuple[dict[str, Ranking], dict[str, list[str]]]:
    """Return (query_id -> stored ranking of the chunks that the query may see, query_id -> the other ids in it)."""
    stored = {query_id: ranking[:k] for query_id, ranking in run.ranked().items()}
    chunks, queries = planned.corpus.chunks, planned.queries
    if planned.protocol.scope == "pooled":
        chunks, queries = pooled(chunks, queries)
    excluded = excluded_chunks(planned.benchmark.tasks, planned.corpus.chunks, planned.protocol.exclusion)
    rankings: dict[str, Ranking] = {}
    unseen: dict[str, list[str]] = {}
    for query in queries:
        seen = {chunk.chunk_id for chunk in visible(query, chunks, planned.corpus.own, excluded)}
        ranked = stored.get(query.query_id, ())
        rankings[query.query_id] = tuple(hit for hit in ranked if hit[0] in seen)
        if other := [chunk_id for chunk_id, _ in ranked if chunk_id not in seen]:
            unseen[query.query_id] = other
    return rankings, unseen


def benchmark_of(run: RunView, source: str = "auto", *, home: Path | None = None) -> Benchmark:
    """Return the tasks and files of a run that its protocol scores.

    UsageError if the run was imported, asks questions, or ran on other data.
    """
    config = stored_config(run)
    if config.protocol.tasks != "completion":
        raise UsageError(
            f"protocol {config.protocol.name} has questions and no code to complete; choose a run of another protocol"
        )
    selected = data_of(run, source, home=home)
    if selected.fingerprint == config.fingerprint:
        return selected
    raise UsageError(
        f"{run.run_id} ran on data {run.manifest.dataset.label}, this is {selected.label}; name the run's with --source"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranker:
    """The retriever of a stored run, and the plan with its vectors; with a `reason`, it cannot rank here."""

    planned: Plan
    retriever: ResolvedRetriever
    embedder: CachedEmbedder | None = None
    reason: str = ""


def has_model(retriever: ResolvedRetriever) -> bool:
    """Return whether ranking needs a model."""
    return retriever.vectors or bool(retriever.model)


def check_names(stored: RunConfig, protocol: Protocol) -> None:
    """Raise a UsageError for a name or an option in a stored request that does not exist, the chunker's apart."""
    retriever = choose_retriever(stored.retriever)
    choose_measures(stored.measures, stored.k, protocol.gold)
    check_pack(stored.pack)
    if retriever.vectors and Spec.parse(stored.embedder).name != "py":
        choose_embedder(stored.embedder)


def make_ranker(stored: RunConfig, planned: Plan, allowed: Collection[str], *, home: Path | None) -> Ranker:
    """Return the retriever that a run names, or the reason why its model is not allowed or not available."""
    retriever = choose_retriever(stored.retriever)
    measured = "vectors" in inputs_of(stored.measures)
    reason = _reason_unused(stored, retriever, allowed)
    embedder = None
    if measured or (retriever.vectors and not reason):
        try:
            embedder = make_embedder(stored.embedder, home=home)
            texts = texts_of([planned], ranked=retriever.vectors and not reason, measured=measured)
            (planned,) = embed([planned], embedder, texts)
        except BenchError as error:
            if measured:
                raise
            embedder, reason = None, str(error)
    if retriever.model and not reason:
        try:
            retriever = make_retriever(stored.retriever, home=home)
        except BenchError as error:
            reason = str(error)
    return Ranker(planned=planned, retriever=retriever, embedder=embedder, reason=reason)


def config_of(stored: RunConfig, ranker: Ranker) -> RunConfig:
    """Return the configuration of the run as it is made here; the identity of a model that is not here is as stored."""
    planned, retriever, embedder = ranker.planned, ranker.retriever, ranker.embedder
    pack = edition_of(stored.pack)  # the definition of a shipped pack holds for the pack's own data only
    if pack and not is_of_pack(planned.benchmark.name, pack):
        pack = PACK
    fields = stored.model_dump(exclude={"protocol"})
    fields |= {
        "dataset": planned.benchmark.name,
        "fingerprint": planned.benchmark.fingerprint,
        "chunker": planned.chunker,
        "retriever": retriever.spec,
        "measures": choose_measures(stored.measures, stored.k, planned.protocol.gold),
        "pack": pack or stored.pack,
    }
    if embedder:
        fields |= {"embedder": embedder.spec, "embedder_identity": embedder.identity}
    elif not retriever.vectors:
        fields |= {"embedder": NO_EMBEDDER, "embedder_identity": {}}
    if retriever.scorer or not retriever.model:
        fields["retriever_identity"] = retriever.scorer.identity if retriever.scorer else {}
    return make_config(planned.protocol, **fields)


def _reason_unused(stored: RunConfig, retriever: ResolvedRetriever, allowed: Collection[str]) -> str:
    """Return why a model or server that only the stored request names must not rank; empty if it may."""
    models = [stored.embedder] if retriever.vectors and Spec.parse(stored.embedder).name not in HARMLESS else []
    models += [stored.retriever] if retriever.model else []
    refused = [spec for spec in models if spec not in allowed]
    return f"{', '.join(refused)} is not used unless you name it with --allow" if refused else ""


def is_of_pack(name: str, pack: str) -> bool:
    """Return whether data of this name is that of a shipped pack."""
    return name.startswith(f"pack-{pack}-")


def tolerance_of(retriever: ResolvedRetriever, config: RunConfig) -> float:
    """Return the tolerance of scores between machines: a step of rounding, and more if a model ranks."""
    if not has_model(retriever):
        return ROUNDED
    if config.embedder_identity.get("precision", "fp32") != "fp32":
        return HALF
    return ROUNDED if retriever.part.row.name == DENSE else FUSED
