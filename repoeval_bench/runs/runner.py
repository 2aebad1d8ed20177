"""The runner: requests go in, run folders come out.

It chunks in parallel, embeds missing vectors in one pass, and makes and stores the runs. Requests over the same files
share the chunks of a chunker. An executor decides only where a job runs: the stored bytes are the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from repoeval_bench.chunkers.registry import is_parallel
from repoeval_bench.core.errors import (
    ChunkError,
    LanguageError,
    ResultError,
    UsageError,
    all_mistakes,
    without_traceback,
)
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.progress import progress
from repoeval_bench.embedding.choice import has_model
from repoeval_bench.metrics import inputs_of
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.protocols.queries import make_queries
from repoeval_bench.runs import store
from repoeval_bench.runs.config import NO_EMBEDDER
from repoeval_bench.runs.executors import IN_PROCESS, Executor, ProcessPool
from repoeval_bench.runs.jobs import Finished, Job, Shared, Workers
from repoeval_bench.runs.materials import Materials, Setting, log_unread, make_chunkers, unscored_repositories, unsized
from repoeval_bench.runs.parts import (
    RESULTS,
    Parts,
    choose_measures,
    chunker_under,
    make_retriever,
    shown_place,
    skipped_for_language,
    skipped_line,
)
from repoeval_bench.runs.planning import Inputs, Plan, is_large, make_plan, select, texts_of
from repoeval_bench.runs.problems import Problems, check_requests, check_setting
from repoeval_bench.runs.records import EMBED_STEP, RunConfig
from repoeval_bench.runs.request import EMBEDDER, DataRequest, RunRequest, by_setting
from repoeval_bench.runs.results import Results, results_at, staging
from repoeval_bench.runs.stages import embed, execute

if TYPE_CHECKING:
    from tqdm import tqdm

    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.core.parts import Chunker, Embedder, Role
    from repoeval_bench.retrieval.corpus import Corpus
    from repoeval_bench.runs.view import RunView


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """A run to make."""

    chunker: Chunker
    config: RunConfig
    parts: Parts
    allow_sparse_qrels: bool

    @property
    def run_id(self) -> str:
        """Return the name of its folder."""
        return self.config.run_id

    def texts(self, planned: Plan) -> dict[Role, list[str]]:
        """Return the texts whose vectors it needs, by role."""
        texts, ranked = planned.texts(), self.parts.retrievers[0].vectors
        measured = "vectors" in inputs_of(self.config.measures)
        return {"query": texts["query"] if ranked else [], "document": texts["document"] if ranked or measured else []}


if TYPE_CHECKING:
    Work = Sequence[tuple[PlannedRun, Inputs]]
    """The runs of one chunker over the same files."""


def make_runs(
    settings: Sequence[Setting],
    chunkers: Sequence[Chunker],
    results: Results,
    *,
    reuse: bool,
    home: Path | None = None,
    executor: Executor = IN_PROCESS,
) -> Iterator[list[RunView | ChunkError]]:
    """Yield for each chunker its run under each setting, or the chunker's error there; each run is stored when done.

    With `reuse`, stored runs that exactly this code made are used unchanged. The settings have the same chunks and the
    same embedder. A chunker's runs are one job, and its chunks stay in its process. Runs that lack vectors wait until
    all chunkers have cut; these vectors are then embedded in one pass. Raises a BenchError in one sentence.
    """
    rows = list(zip(*(_planned_runs(setting, chunkers, home) for setting in settings), strict=True))
    stored = [[results.find(run.run_id) if reuse else None for run in row] for row in rows]
    new_runs: Iterator[list[str | ChunkError]] = iter(())
    if not all(map(all, stored)):
        store.check_writable(results.out)
        executor = suited(executor, settings[0].selected, chunkers, [run.parts for run in rows[0]])
        jobs = [
            [(run, setting.inputs) for run, setting, view in zip(row, settings, views, strict=True) if not view]
            for row, views in zip(rows, stored, strict=True)
            if not all(views)
        ]
        new_runs = _make(jobs, settings[0].embedder, results, executor)
    for views in stored:
        fresh = iter(() if all(views) else next(new_runs))
        runs = (run or next(fresh) for run in views)
        yield [results.open(run) if isinstance(run, str) else run for run in runs]


def _planned_runs(setting: Setting, chunkers: Sequence[Chunker], home: Path | None) -> list[PlannedRun]:
    """Return the run of each chunker under a setting."""
    request, protocol, embedder = setting.request, setting.protocol, setting.embedder
    retriever = make_retriever(request.retriever, home=home)
    planned = []
    for chunker in [chunker_under(protocol, chunker) for chunker in chunkers]:
        config = RunConfig.of_run(
            request,
            protocol,
            dataset=setting.selected.name,
            fingerprint=setting.selected.fingerprint,
            chunker=chunker.spec,
            embedder=embedder.spec if embedder else NO_EMBEDDER,
            embedder_identity=embedder.identity if embedder else {},
            retriever=retriever.spec,
            measures=choose_measures(request.measures, request.k, protocol.gold),
            retriever_identity=retriever.scorer.identity if retriever.scorer else {},
        )
        parts = Parts(embedder, (retriever,), home)
        planned.append(
            PlannedRun(chunker=chunker, config=config, parts=parts, allow_sparse_qrels=request.allow_sparse_qrels)
        )
    return planned


def suited(executor: Executor, benchmark: Benchmark, chunkers: Collection[Chunker], parts: Iterable[Parts]) -> Executor:
    """Return the executor, or this process if others are not worth their start, or not possible.

    A chunker may have a process or a state of its own, unless its row in the registry says that it has none. A
    reranker's model uses all cores.
    """
    pays = (
        ((isinstance(executor, ProcessPool) and executor.is_started) or is_large(benchmark, len(chunkers)))
        and all(is_parallel(chunker.spec) for chunker in chunkers)
        and not any(retriever.scorer for of_run in parts for retriever in of_run.retrievers)
    )
    return executor if pays else IN_PROCESS


def _make(
    jobs: Sequence[Work], embedder: Embedder | None, results: Results, executor: Executor
) -> Iterator[list[str | ChunkError]]:
    """Yield for each job the ids of its runs, or the chunker's error instead."""
    begun = executor.map([partial(_begin, work, results) for work in jobs])
    if embedder is None:
        for work, plans in zip(jobs, begun, strict=True):
            yield _finish(work, plans, results)
        return
    begun_all = [*progress(begun, desc="cut", unit="chunkers", total=len(jobs))]
    waiting = [
        (run, plan)
        for work, plans in zip(jobs, begun_all, strict=True)
        for (run, _), plan in zip(work, plans, strict=True)
        if isinstance(plan, Plan)
    ]
    embedded = iter(_embed(waiting, embedder))
    plans_of = [[next(embedded) if isinstance(plan, Plan) else plan for plan in plans] for plans in begun_all]
    # Workers read the vectors from the cache.
    finished = [partial(_finish, work, plans, results) for work, plans in zip(jobs, plans_of, strict=True)]
    yield from (executor if waiting else IN_PROCESS).map(finished)


def _begin(work: Work, results: Results) -> list[str | Plan | ChunkError]:
    """Make the runs of one chunker, and return their ids; return the plan of a run instead if a vector is missing."""
    begun: list[str | Plan | ChunkError] = []
    for (run, inputs), plan in zip(work, _plans(work), strict=True):
        if isinstance(plan, ChunkError):
            begun.append(plan)
            continue
        started, embedder = perf_counter(), run.parts.embedder
        if embedder is None:
            begun.append(_store(run, inputs, plan, results))
        elif any(embedder.pending(run.texts(plan)).values()):
            begun.append(plan)
        else:
            ready = replace(plan, seconds=plan.seconds | {EMBED_STEP: perf_counter() - started})
            begun.append(_store(run, inputs, ready, results))
    return begun


def _finish(work: Work, plans: Sequence[str | Plan | ChunkError], results: Results) -> list[str | ChunkError]:
    """Make the runs that are only planned."""
    return [
        _store(run, inputs, plan, results) if isinstance(plan, Plan) else plan
        for (run, inputs), plan in zip(work, plans, strict=True)
    ]


def _plans(work: Work) -> Iterator[Plan | ChunkError]:
    """Yield the plan for each run of a chunker; it cuts each file, and each task's, once."""
    plain: Corpus | None = None
    blanked = [task for _, inputs in work if inputs.protocol.blanks for task in inputs.benchmark.tasks]
    tasks = {task.task_id: task for task in blanked}.values()
    for run, inputs in work:
        try:
            plan, plain = make_plan(
                inputs.benchmark,
                inputs.protocol,
                inputs.queries,
                run.chunker,
                skip_errors=run.config.skip_errors,
                corpus=plain,
                tasks=tasks,
            )
        except ChunkError as error:
            yield without_traceback(error)
        else:
            yield plan


def _embed(waiting: Sequence[tuple[PlannedRun, Plan]], embedder: Embedder) -> list[Plan]:
    """Embed each distinct text that has no vector once; return the plans with what it took."""
    allowed = all(run.allow_sparse_qrels for run, _ in waiting)
    return embed(
        [plan for _, plan in waiting],
        embedder,
        texts_of(run.texts(plan) for run, plan in waiting),
        allow_sparse_qrels=allowed,
    )


def _store(run: PlannedRun, inputs: Inputs, plan: Plan, results: Results) -> str:
    """Judge, retrieve, score and store a planned run, and return its id; its folder appears complete."""
    (retriever,) = run.parts.retrievers
    outcome = execute(
        plan, run.config, run.parts.embedder, retriever, inputs, allow_sparse_qrels=run.allow_sparse_qrels
    )
    with staging(results.out, run.run_id) as beside:
        folder = store.save(outcome, beside, created=datetime.now(UTC).isoformat(timespec="seconds"))
        return results.keep(folder).run_id


class Runner:
    """Makes the runs of requests: data is fetched, each model located, and each file cut once.

    One UsageError lists all mistakes in the requests, and earlier `problems`, before data is fetched. With `Workers`
    each run is a job of its own, whose worker reads the data that the request names. Any other executor makes the runs
    of the loaded data together. `benchmark` is data that is loaded already. At most `sample` tasks are drawn from those
    that a protocol scores. With `ahead` False, settings follow each other, and each run is made when it is read.
    Notices name the sources of data, missing parts, and options without effect.

    `skipped` is chunker -> the reason, for chunkers that do not know a language of the data; LanguageError if none is
    left. `failed` is setting -> chunker -> its error, which ends this run alone.
    """

    def __init__(
        self,
        requests: Sequence[RunRequest],
        *,
        out: Path = RESULTS,
        home: Path | None = None,
        problems: Problems | None = None,
        executor: Executor | Workers = IN_PROCESS,
        benchmark: Benchmark | None = None,
        sample: int | None = None,
        ahead: bool = True,
    ) -> None:
        self._workers = executor if isinstance(executor, Workers) else None
        self._executor: Executor = IN_PROCESS if isinstance(executor, Workers) else executor
        problems = problems or Problems()
        check_requests(requests, home, problems, loaded=benchmark is not None)
        problems.check()
        store.check_writable(out)
        log_unread(requests)
        if self._workers:  # each machine would take `auto` for another device
            requests = [request.on_this_device() for request in requests]
        self._members = by_setting(requests)
        self._requests = list(chain.from_iterable(self._members.values()))
        self._without = unscored_repositories(requests)
        self._results, self._home = results_at(out), home
        self._sample, self._ahead = sample, ahead
        self._materials = Materials(
            requests[0], without=self._without, results=self._results, home=home, benchmark=benchmark
        )
        self.skipped: dict[str, str] = {}
        self.failed: dict[RunRequest, dict[str, ChunkError]] = {}
        self._chunkers: list[tuple[Setting, list[str | None], list[Chunker]]] = []
        self._ready: dict[RunRequest, list[RunView | ChunkError]] = {}
        self._finished: Iterator[Finished] | None = None
        self._bar: tqdm[Any] | None = None
        if self._workers:
            return
        # Embedders may fail, so they are made before the data is fetched.
        for setting in self.settings:
            self._materials.embedder(setting)
        for name, reason in skipped_for_language(self.benchmark, unsized(requests)).items():
            self._skip(name, reason)

    @property
    def benchmark(self) -> Benchmark:
        """Return the tasks and files, fetched on first use."""
        return self._materials.benchmark

    @property
    def settings(self) -> list[RunRequest]:
        """Return the requests without their chunkers, each once."""
        return list(self._members)

    def skipped_of(self, setting: RunRequest) -> dict[str, str]:
        """Return the setting's chunkers that are skipped, with the reason."""
        named = [str(request.chunker) for request in self._members[setting]]
        return {name: self.skipped[name] for name in named if name in self.skipped}

    def failed_of(self, setting: RunRequest) -> dict[str, str]:
        """Return the setting's chunkers that failed, with the reason."""
        return {name: str(error) for name, error in self.failed.get(setting, {}).items()}

    def selected(self, setting: RunRequest) -> Benchmark:
        """Return the tasks that a setting scores, and their files."""
        return self._setting(setting).selected

    def chunkers(self, setting: RunRequest) -> list[Chunker]:
        """Return the chunkers of a setting at their final size; sizes are matched once for the same files."""
        specs = [request.chunker for request in self._members[setting] if request.chunker not in self.skipped]
        current = self._setting(setting)
        for other, named, cutters in self._chunkers:
            if named == specs and replace(other, embedder=current.embedder).is_cut_like(current):
                return cutters
        cutters = make_chunkers(self.benchmark, specs, setting)
        self._chunkers.append((current, specs, cutters))
        return cutters

    def run(self, setting: RunRequest, *, reuse: bool = True) -> list[RunView | None]:
        """Make (or with `reuse` find) the run of every chunker of a setting, in their order; None for one without.

        Call it for the settings in their order. If all chunkers of one fail in this process, their error is raised.
        """
        runs = []
        for run in self.runs_of(setting, reuse=reuse):
            runs.append(run)
            if run is not None:
                NOTICES.info(f"{run.metrics.chunker} -> {shown_place(run.folder)}")
        errors = list(self.failed.get(setting, {}).values())
        if errors and not any(runs) and not self._workers:
            # A new error: the original is in a local list, so raising it would keep the vector cache in a cycle.
            raise (type(errors[0]) if len(errors) == 1 else ChunkError)(all_mistakes(map(str, errors)))
        for name, reason in self.failed_of(setting).items():
            NOTICES.info(skipped_line(name, reason))
        return runs

    def runs_of(self, setting: RunRequest, *, reuse: bool = True) -> Iterator[RunView | None]:
        """Yield the runs of a setting in their order, each as soon as it is made."""
        runs = self._job_runs(reuse=reuse) if self._workers else self._runs_here(setting, reuse=reuse)
        for request in self._members[setting]:
            if request.chunker in self.skipped and not self._workers:
                yield None
                continue
            run = next(runs)
            if self._workers and isinstance(run, LanguageError):
                self._skip(str(request.chunker), str(run))
            elif isinstance(run, ChunkError):
                self.failed.setdefault(setting, {})[str(request.chunker)] = run
            yield None if isinstance(run, ChunkError) else run
        self._materials.share()

    def check(self) -> None:
        """Raise a ResultError that lists the failed runs, each with the reason.

        LanguageError if no chunker knows the languages of the data.
        """
        known = [request for request in self._requests if request.chunker not in self.skipped]
        lines = [
            f"{' · '.join((request.chunker or 'no chunker', *request.combination().values()))}: {reason}"
            for request in self._requests
            if (reason := self.failed_of(request.setting).get(str(request.chunker)))
        ]
        if lines:
            failed = f"{len(lines)} of {max(len(known), len(lines))} runs failed; the same command tries them again:"
            raise ResultError("\n  ".join([failed, *lines]))
        if not known:
            raise LanguageError(all_mistakes(self.skipped.values()))

    def _skip(self, chunker: str, reason: str) -> None:
        if chunker not in self.skipped:
            self.skipped[chunker] = reason
            NOTICES.info(skipped_line(chunker, reason))

    def _setting(self, request: RunRequest) -> Setting:
        return self._materials.setting(request, self._sample)

    def _together(self, setting: RunRequest) -> list[RunRequest]:
        """Return the setting and the later ones whose runs are made with its own."""
        first, specs = self._setting(setting), [request.chunker for request in self._members[setting]]
        later = self.settings[self.settings.index(setting) + 1 :] if self._ahead else []
        return [setting] + [
            other
            for other in later
            if other not in self._ready
            and [request.chunker for request in self._members[other]] == specs
            and self._setting(other).is_cut_like(first)
        ]

    def _runs_here(self, setting: RunRequest, *, reuse: bool) -> Iterator[RunView | ChunkError]:
        """Yield the runs of a setting, and store in `_ready` those of later settings that were made with them."""
        bar = self._bar = self._bar or progress(
            desc="runs",
            unit="runs",
            total=sum(request.chunker not in self.skipped for request in self._requests),
            lines=False,  # a run by a model takes as long as many others, and the steps of a run have lines
        )
        for run in self._ready.pop(setting, None) or self._new_runs(setting, reuse=reuse):
            bar.update()
            bar.clear()  # a line is printed now
            if bar.n == bar.total:
                bar.close()
            yield run
            bar.refresh()

    def _new_runs(self, setting: RunRequest, *, reuse: bool) -> Iterator[RunView | ChunkError]:
        together, chunkers = self._together(setting), self.chunkers(setting)
        later = [self._ready.setdefault(member, []) for member in together[1:]]
        # Without `ahead`, each run is made when it is read.
        for part in [chunkers] if self._ahead else [[chunker] for chunker in chunkers]:
            for run, *others in make_runs(
                [self._setting(member) for member in together],
                part,
                self._results,
                reuse=reuse,
                home=self._home,
                executor=self._executor,
            ):
                for ready, other in zip(later, others, strict=True):
                    ready.append(other)
                yield run

    def _job_runs(self, *, reuse: bool) -> Iterator[RunView | ChunkError]:
        """Yield the runs of workers, from one setting to the next; the first call submits the jobs of all settings."""
        if self._finished is None:
            assert self._workers is not None
            self._finished = self._workers.map(self._jobs(reuse=reuse))
        for finished in self._finished:
            if finished.run_id is not None:
                yield self._results.open(finished.run_id)
            else:
                yield (LanguageError if finished.skipped else ChunkError)(str(finished.error))

    def _jobs(self, *, reuse: bool) -> list[Job]:
        shared = Shared.here(self._requests[0].data(), without=self._without, results=self._results, home=self._home)
        return [
            Job(
                shared=shared,
                needs_model=request.needs_vectors and has_model(request.embedder),
                make=partial(_make_one, request, reuse=reuse, sample=self._sample),
            )
            for request in self._requests
        ]


def _make_one(request: RunRequest, materials: Materials, *, reuse: bool, sample: int | None) -> str:
    """Make the run of a checked request in a worker, and return its id."""
    chunkers = make_chunkers(materials.benchmark, [request.chunker], request)
    setting = materials.setting(request.setting, sample)
    ((run,),) = make_runs([setting], chunkers, materials.results, reuse=reuse, home=materials.home)
    if isinstance(run, ChunkError):
        raise without_traceback(run)
    return run.run_id


def plan_run(
    benchmark: Benchmark,
    chunker: str | Chunker | None,
    *,
    protocol: str | Protocol = "context",
    skip_errors: bool = False,
) -> Plan:
    """Chunk the repositories and make the queries, without a model."""
    resolved = Protocol.parse(protocol) if isinstance(protocol, str) else protocol
    cutter, selected = chunker_under(resolved, chunker), select(benchmark, resolved)
    queries = make_queries(selected.tasks, resolved.query)
    return make_plan(selected, resolved, queries, cutter, skip_errors=skip_errors)[0]


def evaluate(
    benchmark: Benchmark,
    chunker: str | Chunker | None,
    *,
    embedder: str | Embedder = EMBEDDER,
    out: Path | str = RESULTS,
    reuse: bool = False,
    home: Path | None = None,
    **fields: Any,
) -> RunView:
    """Chunk, embed, retrieve, score and store one run, and return it.

    A chunker is a spec, an object with `spec` and `chunk`, or None if the protocol has documents of its own. `embedder`
    is a spec or an object. `fields` are other fields of `RunRequest`: protocol, retriever, k, measures, match_size,
    header … With `reuse`, a stored run made by exactly this code is returned unchanged. `out` is a folder or, as a
    text, the URL of a store (docs/cluster.md). Notices say if the cache cannot store anything, and how many tokens a
    server counted. Raises a BenchError in one sentence.
    """
    given = fields if not isinstance(embedder, str) else fields | {"embedder": embedder}
    if wrong := sorted(DataRequest.model_fields.keys() & given.keys()):
        raise UsageError(f"{', '.join(wrong)}: the data is loaded already; give it to load_benchmark")
    request = RunRequest.of(given)
    problems = Problems()
    check_setting(request, problems)
    problems.check()
    materials = Materials(
        request,
        without=frozenset(),
        results=results_at(out, home),
        home=home,
        benchmark=benchmark,
        embedder=None if isinstance(embedder, str) else embedder,
    )
    chunkers = make_chunkers(benchmark, [chunker], request)
    setting = materials.setting(request)
    ((run,),) = make_runs([setting], chunkers, materials.results, reuse=reuse, home=home)
    if isinstance(run, ChunkError):
        raise without_traceback(run)
    return run
