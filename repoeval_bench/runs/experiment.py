"""Runs that belong together: the same data, chunked, embedded in one pass, executed side by side, each stored."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repoeval_bench.chunkers.registry import BUILT_IN
from repoeval_bench.core.errors import ChunkError, ResultError, UsageError, all_mistakes, anew
from repoeval_bench.core.progress import progress
from repoeval_bench.core.spec import Spec
from repoeval_bench.core.words import count
from repoeval_bench.metrics import inputs_of
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.runs import store
from repoeval_bench.runs.asked import Asked
from repoeval_bench.runs.config import NO_EMBEDDER, id_of, make_config
from repoeval_bench.runs.executors import IN_PROCESS, Executor
from repoeval_bench.runs.materials import Materials, left_out, tell_unread
from repoeval_bench.runs.parts import (
    RESULTS,
    Parts,
    choose_measures,
    left_out_for_language,
    left_out_line,
    make_chunkers,
    make_embedder,
    make_parts,
    make_retriever,
    shared_vectors,
    shown_place,
    silent,
    unsized,
)
from repoeval_bench.runs.planning import Inputs, Plan, asked_of, is_large, plan, plan_each, select
from repoeval_bench.runs.problems import Problems, check_requests, check_setting
from repoeval_bench.runs.publish import staging
from repoeval_bench.runs.request import EMBEDDER, DataRequest, RunRequest
from repoeval_bench.runs.run_store import Results
from repoeval_bench.runs.stages import embed, execute
from repoeval_bench.runs.view import RunView

if TYPE_CHECKING:
    from tqdm import tqdm

    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.core.parts import Chunker, Embedder
    from repoeval_bench.runs.planning import Corpora
    from repoeval_bench.runs.records import RunConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """Where runs are made: the folder they are stored in, the user's data, who receives notices, and the executor.

    `corpora` keeps what was chunked.
    """

    out: Path = RESULTS
    home: Path | None = None
    notify: Callable[[str], None] = silent
    executor: Executor = IN_PROCESS
    corpora: Corpora | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A run that is asked for: what cuts its chunks and, where they are another's, its documents; what ranks them."""

    cut: tuple[Chunker, Chunker | None]
    protocol: Protocol
    config: RunConfig
    parts: Parts
    few_gold: bool

    @property
    def run_id(self) -> str:
        """The name of its folder."""
        return id_of(self.config)


class Experiment(Asked):
    """Requests with what they need: the data is fetched and each model located once.

    Everything that is wrong with the requests, and `problems` that were found before, is one UsageError, before data
    is fetched. `notify` receives a line about what was taken, what is missing and what changes nothing. `executor` runs
    chunkers side by side.

    Of several chunkers those that do not know a language of the data are `left_out`. Where none is left that is a
    LanguageError. A chunker that fails ends its own run; where all of a setting fail, or at the end by `check`, that is
    an error.
    """

    def __init__(
        self,
        requests: Sequence[RunRequest],
        *,
        out: Path = RESULTS,
        home: Path | None = None,
        notify: Callable[[str], None] = silent,
        problems: Problems | None = None,
        executor: Executor = IN_PROCESS,
    ) -> None:
        problems = problems or Problems()
        check_requests(requests, home, problems)
        problems.check()
        super().__init__(requests)
        self._chunkers: dict[tuple[object, ...], list[Chunker]] = {}
        self._bar: tqdm[Any] | None = None
        store.check_writable(out)
        tell_unread(requests, notify)
        shared = Results.at(out).store
        self._materials = Materials(requests[0], without=left_out(requests), home=home, notify=notify, store=shared)
        self._place = Workplace(out=out, home=home, notify=notify, executor=executor, corpora=self._materials.corpora)
        # What can fail before the data is fetched is made before.
        for setting in self.settings:
            if setting.needs_vectors:
                self._materials.embedder(setting)
        self.benchmark = self._materials.benchmark
        self.left_out |= left_out_for_language(self.benchmark, unsized(requests))
        for name, reason in self.left_out.items():
            notify(left_out_line(name, reason))

    def embedder(self, setting: RunRequest) -> Embedder | None:
        """The embedder of a setting, None where nothing needs vectors."""
        return self._materials.embedder(setting)

    def chunkers(self, setting: RunRequest) -> list[Chunker]:
        """The chunkers of a setting, of their final size; sizes are matched, and that is said, once for equal files."""
        specs = tuple(each.chunker for each in self._kept(setting))
        key = (specs, self._files_of(setting.resolved_protocol()), setting.match_size, setting.header)
        if key not in self._chunkers:
            self._chunkers[key] = make_chunkers(self.benchmark, specs, setting, self._place.notify)
        return self._chunkers[key]

    def _kept(self, setting: RunRequest) -> list[RunRequest]:
        return [each for each in self._members[setting] if each.chunker not in self.left_out]

    def _files_of(self, protocol: Protocol) -> tuple[str, ...]:
        """What is equal for protocols that have the same files: repositories and documents, else the name."""
        if protocol.tasks != "completion":  # its files are changed
            return (protocol.name,)
        return (protocol.documents, *select(self.benchmark, protocol).files)

    def run(self, setting: RunRequest, *, reuse: bool = False) -> list[RunView | None]:
        """Make (or with `reuse` find) the run of every chunker of a setting, in their order; None for one not made."""
        made = iter(self._run(setting, reuse=reuse))
        return [None if each.chunker in self.left_out else next(made) for each in self._members[setting]]

    def check(self) -> None:
        """A ResultError that lists the runs that were not made, each with the reason."""
        lines = [
            f"{' · '.join([name, *setting.combination().values()])}: {reason}"
            for setting, of_setting in self.failed.items()
            for name, reason in of_setting.items()
        ]
        if lines:
            total = sum(len(self._kept(each)) for each in self._members)
            raise ResultError("\n  ".join([f"{len(lines)} of {total} runs failed:", *lines]))

    def _run(self, setting: RunRequest, *, reuse: bool) -> list[RunView | None]:
        runs: list[RunView | None] = []
        if not (kept := self._kept(setting)):
            return runs
        total = sum(len(self._kept(each)) for each in self._members)
        bar = self._bar = self._bar or progress(desc="runs", unit="runs", total=total)
        chunkers, embedder = self.chunkers(setting), self.embedder(setting)
        made = evaluate_each(self.benchmark, chunkers, setting, embedder, self._place, reuse=reuse)
        for request, run in zip(kept, made, strict=True):
            bar.update()
            bar.clear()  # a line is printed now
            if isinstance(run, ChunkError):
                self._fail(request, str(run))
                self._place.notify(left_out_line(str(request.chunker), str(run)))
            else:
                self._place.notify(f"{run.metrics.chunker} -> {shown_place(run.folder)}")
            bar.refresh()
            runs.append(None if isinstance(run, ChunkError) else run)
        self._materials.share()
        bar.clear()
        if bar.n == bar.total:
            bar.close()
        return runs


def make_run(
    request: RunRequest,
    materials: Materials,
    results: Results,
    *,
    reuse: bool,
    notify: Callable[[str], None] = silent,
    sample: int | None = None,
) -> RunView:
    """Make (or with `reuse` find) the one run of a checked request; nobody ever finds half of it.

    Of more tasks than `sample` so many are asked.
    """
    protocol = request.resolved_protocol()
    (cutter,) = make_chunkers(materials.benchmark, [request.chunker], request, notify)
    selected = asked_of(select(materials.benchmark, protocol), protocol, sample)
    place = Workplace(home=materials.home, notify=notify, corpora=materials.corpora)
    (wanted,) = wanted_runs(selected, request, [cutter], materials.embedder(request), place)
    if reuse and (stored := results.find(wanted.run_id)):
        return stored
    with staging(results.out, wanted.run_id) as beside:
        made = next(_make_all(selected, [wanted], replace(place, out=beside)))
        assert isinstance(made, Path), "the error of a single chunker is raised"
        return results.keep(made)


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


def evaluate(benchmark: Benchmark, chunker: str | Chunker | None, **options: Any) -> RunView:
    """Chunk, embed, retrieve, score and store one run; returns what was stored. Options are those of `evaluate_all`."""
    (run,) = evaluate_all(benchmark, [chunker], **options)
    return run


def evaluate_all(
    benchmark: Benchmark,
    chunkers: Sequence[str | Chunker | None],
    *,
    embedder: str | Embedder = EMBEDDER,
    out: Path | str = RESULTS,
    reuse: bool = False,
    home: Path | None = None,
    notify: Callable[[str], None] = silent,
    executor: Executor = IN_PROCESS,
    corpora: Corpora | None = None,
    **asked: Any,
) -> Iterator[RunView]:
    """The runs of several chunkers, in their order, each stored when it is done.

    A chunker is a spec, an object with `spec` and `chunk`, or None where the protocol has documents of its own.
    `embedder` is a spec or an object. `asked` are further fields of `RunRequest`: protocol, retriever, k, measures,
    match_size, header … What is missing of all runs is embedded in one pass, each distinct text once ever; with
    `reuse` a stored run made by exactly this code is returned unchanged. `out` is a folder or, as a text, the URL of a
    store (docs/cluster.md). `executor` runs chunkers side by side.
    `corpora`, a dict that is given to several calls, keeps what was chunked. `notify` receives a line where the cache
    cannot keep anything, and one on the tokens that a server says it embedded. Raises a BenchError in one sentence.
    """
    fields = asked if not isinstance(embedder, str) else asked | {"embedder": embedder}
    if wrong := sorted(DataRequest.model_fields.keys() & fields.keys()):
        raise UsageError(f"{', '.join(wrong)}: the data is loaded already; give it to load_benchmark")
    request = RunRequest.of(fields)
    found = Problems()
    check_setting(request, found)
    found.check()
    results = Results.at(out, home)
    cutters = make_chunkers(benchmark, chunkers, request, notify)
    model = embedder if not isinstance(embedder, str) else None
    if request.needs_vectors and model is None:
        cache = shared_vectors(results.store, home, notify)
        model = make_embedder(request.resolved_embedder(), home=home, notify=notify, cache=cache)
    elif not request.needs_vectors:
        model = None
    place = Workplace(out=results.out, home=home, notify=notify, executor=executor, corpora=corpora)
    for run in evaluate_each(benchmark, cutters, request, model, place, reuse=reuse):
        if isinstance(run, ChunkError):
            raise anew(run)
        yield run


def evaluate_each(
    benchmark: Benchmark,
    chunkers: Sequence[Chunker],
    request: RunRequest,
    embedder: Embedder | None,
    place: Workplace,
    *,
    reuse: bool,
    some: bool = False,
) -> Iterator[RunView | ChunkError]:
    """The run of each chunker of a checked request, or why it failed.

    The error is raised where all of them did, unless there are `some` others.
    """
    selected = select(benchmark, request.resolved_protocol())
    wanted = wanted_runs(selected, request, chunkers, embedder, place)
    results = Results.at(place.out)
    stored = [results.find(each.run_id) if reuse else None for each in wanted]
    made: Iterator[Path | ChunkError] = iter(())
    if not all(stored):
        store.check_writable(place.out)
        missing = [each for each, run in zip(wanted, stored, strict=True) if not run]
        made = _make_all(selected, missing, place, some=some or len(missing) < len(wanted))
    for run in stored:
        found = run or next(made)
        yield RunView(found) if isinstance(found, Path) else found


def wanted_runs(
    selected: Benchmark,
    request: RunRequest,
    chunkers: Sequence[str | Chunker | None],
    embedder: Embedder | None,
    place: Workplace,
) -> list[Wanted]:
    """The run of each chunker that a request asks for, over the tasks that `select` gave."""
    protocol = request.resolved_protocol()
    retriever = make_retriever(request.retriever, protocol, home=place.home, notify=place.notify)
    found = []
    for chunker in chunkers:
        cut = make_parts(protocol, chunker)
        config = make_config(
            protocol,
            dataset=selected.name,
            fingerprint=selected.fingerprint,
            chunker=cut[0].spec,
            embedder=embedder.spec if embedder else NO_EMBEDDER,
            embedder_identity=embedder.identity if embedder else {},
            retriever=retriever.spec,
            k=request.k,
            measures=choose_measures(request.measures, request.k, protocol.gold),
            skip_errors=request.skip_errors,
            pack=request.pack,
            retriever_identity=retriever.scorer.identity if retriever.scorer else {},
            expand=request.expand,
        )
        parts = Parts(embedder, (retriever,), place.home)
        found.append(Wanted(cut=cut, protocol=protocol, config=config, parts=parts, few_gold=request.few_gold))
    return found


def _make_all(
    selected: Benchmark, wanted: Sequence[Wanted], place: Workplace, *, some: bool = False
) -> Iterator[Path | ChunkError]:
    """The folders of these runs of one request, each stored when it is done, or why its chunker failed.

    A ChunkError where all of them failed, unless there are `some` others.
    """
    first, cut = wanted[0], [each.cut for each in wanted]
    parts, config = first.parts, first.config
    executor = fitting(place.executor, selected, [chunker for chunker, _ in cut], parts)
    inputs, found = plan_each(
        selected, cut, first.protocol, skip_errors=config.skip_errors, executor=executor, corpora=place.corpora
    )
    planned = [each for each in found if isinstance(each, Plan)]
    errors = [each for each in found if isinstance(each, ChunkError)]
    if not planned and not some:
        # A new error: one that a local names would keep this frame, and with it the vector cache, in a cycle.
        raise (type(errors[0]) if len(errors) == 1 else ChunkError)(all_mistakes(map(str, errors)))
    if parts.embedder and planned:
        ranked, measured = parts.retrievers[0].vectors, "vectors" in inputs_of(config.measures)
        planned = embed(planned, parts.embedder, ranked=ranked, measured=measured, few_gold=first.few_gold)
        if usage := planned[0].usage:
            told = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in usage.items())
            place.notify(f"{count(planned[0].encoded, 'text')} embedded: {told}, as the server counts them")
    # A model that has something to do is loaded once and has the cores to itself.
    if any(each.encoded for each in planned):
        executor = IN_PROCESS
    cut_well = [each for each, plan in zip(wanted, found, strict=True) if isinstance(plan, Plan)]
    made = executor.map(
        [partial(execute_and_store, *each, inputs, place.out) for each in zip(planned, cut_well, strict=True)]
    )
    return (each if isinstance(each, ChunkError) else next(made) for each in found)


def fitting(executor: Executor, benchmark: Benchmark, chunkers: Collection[Chunker], parts: Parts) -> Executor:
    """The executor, or this process where others do not pay.

    Other people's chunkers may have a process or a state of their own.
    """
    elsewhere = (
        is_large(benchmark, len(chunkers))
        and all(Spec.parse(chunker.spec).name in BUILT_IN for chunker in chunkers)
        and not any(each.scorer for each in parts.retrievers)  # a model has the cores to itself
    )
    return executor if elsewhere else IN_PROCESS


def execute_and_store(planned: Plan, wanted: Wanted, inputs: Inputs, out: Path) -> Path:
    """Judge, retrieve, score and store what was planned; its folder."""
    embedder, (retriever,) = wanted.parts.embedder, wanted.parts.retrievers
    outcome = execute(planned, wanted.config, embedder, retriever, inputs, few_gold=wanted.few_gold)
    return store.save(outcome, out, created=datetime.now(UTC).isoformat(timespec="seconds"))
