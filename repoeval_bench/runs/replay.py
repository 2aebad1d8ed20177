"""The data of a stored run loaded again, and the run made again from it, its ranking too where that can be."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import BenchError, UsageError
from repoeval_bench.core.run import Ranking, Run
from repoeval_bench.core.spec import Spec
from repoeval_bench.dataset.build.sampling import part_of
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.pack import Pack
from repoeval_bench.dataset.repoeval import DEFAULT
from repoeval_bench.dataset.shipped import edition_of, shipped_pack
from repoeval_bench.metrics import inputs_of
from repoeval_bench.protocols.exclusion import excluded_chunks
from repoeval_bench.protocols.protocol import Protocol, passed_over
from repoeval_bench.retrieval.scope import pooled, visible
from repoeval_bench.runs import store
from repoeval_bench.runs.parts import PACKS, make_parts, silent
from repoeval_bench.runs.planning import Plan, cut_files, make_inputs, plan_of, select
from repoeval_bench.runs.ranker import HARMLESS, check_names, config_of, has_model, make_ranker, tolerance_of
from repoeval_bench.runs.stages import execute
from repoeval_bench.runs.view import RunView

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.runs.records import RunConfig
    from repoeval_bench.runs.store import Outcome


def stored_config(run: RunView) -> RunConfig:
    """What was asked of a run; a UsageError for an imported one, whose chunks cannot be cut again."""
    config = run.manifest.config
    if config is None:
        raise UsageError(f"{run.run_id} was imported, so it cannot be made again from the data; import its log again")
    return config


def _packs_beside(run: RunView) -> list[Path]:
    """Packs of the name of a run's data that `recommend` keeps beside the run."""
    found = [pack for path in sorted((run.folder.parent / PACKS).glob("[!.]*/")) if (pack := Pack.at(str(path)))]
    return [pack.root for pack in found if run.manifest.dataset.name.startswith(f"pack-{pack.content.name}-")]


def data_of(
    run: RunView,
    source: str,
    *,
    questions: str | None = None,
    home: Path | None = None,
    notify: Callable[[str], None] = silent,
) -> Benchmark:
    """The data that a run is about, from a source, as the run's protocol selects it.

    Its fingerprint is another where the source has other data. `questions` is a file of your own. Without a source, a
    run over a shipped pack has that pack.
    """
    config, dataset = stored_config(run), run.manifest.dataset
    if source in {"", "auto"}:
        source = edition_of(config.pack) or source
    if dataset.source == "pack" and not (shipped_pack(source) or Pack.at(source)):
        raise UsageError(
            f"the data of {run.run_id} is {dataset.name}"
            + (f", and {source} is not a pack" if source not in {"", "auto"} else "")
            + "; name its folder with --source"
            + "".join(f", such as {folder}" for folder in _packs_beside(run)[:1])
        )
    protocol = Protocol.parse(config.protocol.name)
    named = combination_of(run)
    without = passed_over([protocol], named.get("level", DEFAULT.level))

    def load(repos: Sequence[str], limit: int | None) -> Benchmark:
        found = load_benchmark(
            source,
            **named,
            repos=repos or None,
            limit=limit,
            questions=questions,
            without=without,
            home=home,
            notify=notify,
        )
        return select(found, protocol)

    if not dataset.part:
        return _unnamed(run, protocol, load)
    selected = load(dataset.part.repositories, dataset.part.limit)
    sample = dataset.part.sample
    return part_of(selected, sample.most, sample.seed) if sample else selected


def combination_of(run: RunView) -> dict[str, str]:
    """The level, context and tokenizer in the name of a run's data; nothing where it names none."""
    _, *combination = run.manifest.dataset.name.rsplit("-", 3)
    return dict(zip(("level", "context", "tokenizer"), combination, strict=False)) if len(combination) == 3 else {}


def _unnamed(run: RunView, protocol: Protocol, load: Callable[[Sequence[str], int | None], Benchmark]) -> Benchmark:
    """The whole, as of every run that names no part; else the part of a folder that is older than such names."""
    config, dataset, unscored = stored_config(run), run.manifest.dataset, run.manifest.counts.tasks_unscored

    def fits(found: Benchmark) -> bool:
        counted = found.unscored == unscored or not protocol.counts_unscored
        return found.fingerprint == config.fingerprint and found.whole_tasks == dataset.whole_tasks and counted

    whole = load((), None)
    # Functions whose docstring asks nothing are not tasks that a limit counts.
    limit = dataset.tasks + (0 if protocol.tasks == "docstring" else unscored)
    parts: list[tuple[Sequence[str], int | None]] = [((), limit)]
    if whole.files.keys() >= set(dataset.repositories):
        parts += [(dataset.repositories, None), (dataset.repositories, limit)]
    tried = (
        replace(each, repos=(), limit=None, sample=None)
        for each in chain([part_of(whole, dataset.tasks)], (load(*part) for part in parts))
    )
    return next(filter(fits, chain([whole], tried)), whole)


def code_named_by(config: RunConfig) -> list[str]:
    """The specs of a run that would run code from outside the package, or ask a server, to make it again."""
    found = [spec for spec in (config.protocol.name, *config.measures) if spec.startswith("py:")]
    if Spec.parse(config.chunker).name in {"py", "exec"}:
        found.append(config.chunker)
    ranker = Spec.parse(config.retriever)
    if ranker.name == "py" or any(part.startswith("py:") for part in (ranker.target, ranker.params.get("first", ""))):
        found.append(config.retriever)
    if not found and "vectors" in inputs_of(config.measures) and Spec.parse(config.embedder).name not in HARMLESS:
        found.append(config.embedder)
    return found


def check_allowed(run: RunView, allowed: Collection[str]) -> RunConfig:
    """What was asked of a run; a UsageError where it names code of others that is not `allowed`."""
    stored = stored_config(run)
    if refused := [spec for spec in code_named_by(stored) if spec not in allowed]:
        raise UsageError(
            f"{run.run_id} names code or a server of its own; give "
            f"{' '.join(f'--allow {shlex.quote(spec)}' for spec in refused)} if you trust it"
        )
    return stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A run made again in a folder: what follows from its stored ranking, and where it can be had the ranking itself.

    `unseen` is query_id -> ids that were ranked and that the query cannot see. `stored` is the ranking without these,
    `computed` the one that the request gives here, None where it is taken over as stored, for a `reason`. Scores of the
    two may differ by `tolerance`. `counts_tokens` is False where the tokens of texts are not known.
    """

    run: RunView
    unseen: dict[str, list[str]]
    stored: Mapping[str, Ranking]
    computed: Mapping[str, Ranking] | None
    reason: str
    tolerance: float
    counts_tokens: bool


def replay(
    run: RunView,
    benchmark: Benchmark,
    into: Path,
    *,
    allowed: Collection[str] = (),
    home: Path | None = None,
    notify: Callable[[str], None] = silent,
) -> Replay:
    """Make a run again in a folder, from the data and from what was asked.

    What the run names is run: `check_allowed` comes first. A UsageError for a name or an option that does not exist.
    A model that is not `allowed`, not installed or fails here leaves the ranking as it is stored.
    """
    stored = stored_config(run)
    protocol = Protocol.parse(stored.protocol.name)
    check_names(stored, protocol)
    cutters = make_parts(protocol, None if protocol.documents == "windows" else stored.chunker)
    inputs = make_inputs(select(benchmark, protocol), protocol)
    cut = cut_files(inputs.benchmark, protocol, cutters, skip_errors=stored.skip_errors)
    planned = plan_of(inputs.benchmark, protocol, inputs.queries, cutters[0].spec, cut)
    ranker = make_ranker(stored, planned, allowed, home=home, notify=notify)
    config = config_of(stored, ranker)
    # Whether most queries have gold was decided when it ran.
    made = partial(execute, ranker.planned, config, ranker.embedder, ranker.retriever, inputs, few_gold=True)
    outcome: Outcome | None = None
    reason = ranker.reason
    if not reason:
        try:
            outcome = made()
        except BenchError as error:
            if not has_model(ranker.retriever):
                raise
            reason = str(error)
    computed = outcome.run.rankings if outcome else None
    ranking, unseen = _seen_part(run, planned, stored.k)
    if outcome is None or ranking != computed:
        outcome = made(ranking=Run(tag=stored.chunker, rankings=ranking))
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
    """(query_id -> stored ranking of the documents that the query sees, query_id -> the other ids in it)."""
    stored = {row.query_id: [(each.chunk_id, each.score) for each in row.topk][:k] for row in run.log_rows()}
    documents = planned.documents
    chunks, queries = documents.chunks, planned.queries
    if planned.protocol.scope == "pooled":
        chunks, queries = pooled(chunks, queries)
    excluded = excluded_chunks(planned.benchmark.tasks, documents.chunks, planned.protocol.exclusion)
    rankings: dict[str, Ranking] = {}
    unseen: dict[str, list[str]] = {}
    for query in queries:
        seen = {chunk.chunk_id for chunk in visible(query, chunks, documents.own, excluded)}
        ranked = stored.get(query.query_id, [])
        rankings[query.query_id] = tuple(each for each in ranked if each[0] in seen)
        if other := [chunk_id for chunk_id, _ in ranked if chunk_id not in seen]:
            unseen[query.query_id] = other
    return rankings, unseen


def benchmark_of(
    run: RunView, source: str = "auto", *, home: Path | None = None, notify: Callable[[str], None] = silent
) -> Benchmark:
    """The benchmark of a run that was made here, as far as its protocol scores it.

    A UsageError where the run was imported, asks questions, or ran on other data.
    """
    config = stored_config(run)
    if config.protocol.tasks != "completion":
        raise UsageError(
            f"protocol {config.protocol.name} asks questions, and nothing is to be completed; choose a run of another "
            "protocol"
        )
    selected = data_of(run, source, home=home, notify=notify)
    if selected.fingerprint == config.fingerprint:
        return selected
    raise UsageError(
        f"{run.run_id} ran on data {run.manifest.dataset.label}, this is {selected.label}; name the run's with --source"
    )
