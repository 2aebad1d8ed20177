"""The runner: requests go in, run folders come out.

It chunks in parallel, embeds missing vectors, and makes and stores the runs. Requests over the same files share the
chunks of a chunker. An executor decides only where a job runs: the stored bytes are the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain, tee
from operator import itemgetter
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
from repoeval_bench.runs.planning import Plan, PlannedRun, is_large, make_plan, select
from repoeval_bench.runs.problems import Problems, check_requests, check_setting
from repoeval_bench.runs.records import EMBED_STEP, RunConfig
from repoeval_bench.runs.request import EMBEDDER, DataRequest, RunRequest, by_setting
from repoeval_bench.runs.results import Results, results_at, staging
from repoeval_bench.runs.stages import embed, execute

if TYPE_CHECKING:
    from tqdm import tqdm

    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.core.parts import Chunker, Embedder
    from repoeval_bench.retrieval.corpus import Corpus
    from repoeval_bench.retrieval.registry import ResolvedRetriever
    from repoeval_bench.runs.view import RunView


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
    same embedder. A chunker's runs are one job, and its chunks stay in its process.
    """
    retrievers = [make_retriever(setting.request.retriever, home=home) for setting in settings]
    cutters = [chunker_under(settings[0].protocol, chunker) for chunker in chunkers]
    rows = [[*map(partial(_config, cutter), settings, retrievers)] for cutter in cutters]
    done: dict[str, RunView | ChunkError] = {}
    if reuse:
        done |= {config.run_id: run for config in chain(*rows) if (run := results.find(config.run_id))}
    jobs = [
        [
            PlannedRun(
                config=config,
                chunker=cutter,
                parts=Parts(setting.embedder, retriever, home),
                inputs=setting.inputs,
                allow_sparse_qrels=setting.request.allow_sparse_qrels,
            )
            for config, setting, retriever in zip(row, settings, retrievers, strict=True)
            if config.run_id not in done
        ]
        for cutter, row in zip(cutters, rows, strict=True)
    ]
    new = _made([job for job in jobs if job], results, suited(executor, settings[0].selected, cutters, retrievers))
    for row, job in zip(rows, jobs, strict=True):
        done |= next(new) if job else {}
        yield [done[config.run_id] for config in row]


def _config(chunker: Chunker, setting: Setting, retriever: ResolvedRetriever) -> RunConfig:
    """Return the configuration of a chunker's run under a setting."""
    request, protocol, embedder = setting.request, setting.protocol, setting.embedder
    return RunConfig.of_run(
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


def suited(
    executor: Executor, benchmark: Benchmark, chunkers: Collection[Chunker], retrievers: Iterable[ResolvedRetriever]
) -> Executor:
    """Return the executor, or this process if others are not worth their start, or not possible.

    A chunker may have a process or a state of its own, unless its row in the registry says that it has none. A
    reranker's model uses all cores.
    """
    pays = (
        ((isinstance(executor, ProcessPool) and executor.is_started) or is_large(benchmark, len(chunkers)))
        and all(is_parallel(chunker.spec) for chunker in chunkers)
        and not any(retriever.scorer for retriever in retrievers)
    )
    return executor if pays else IN_PROCESS


def _made(
    jobs: Sequence[Sequence[PlannedRun]], results: Results, executor: Executor
) -> Iterator[dict[str, RunView | ChunkError]]:
    """Yield for each job, the runs of a chunker, the id of each run and the run, or the chunker's error."""
    store.check_writable(results.out)
    begun = executor.map([partial(_begin, job, results) for job in jobs])
    for job, (waiting, failed) in zip(jobs, begun, strict=True):
        if waiting and (embedder := job[0].parts.embedder):
            for run, plan in embed([(run, waiting[run.run_id]) for run in job if run.run_id in waiting], embedder):
                _store(run, plan, results)
        yield {run.run_id: failed.get(run.run_id) or results.open(run.run_id) for run in job}


def _begin(job: Sequence[PlannedRun], results: Results) -> tuple[dict[str, Plan], dict[str, ChunkError]]:
    """Cut each file, and each task's, once, and store the runs of a chunker.

    Returns the plans of runs that lack vectors, which this process does not embed, and the errors of the chunker; both
    by id.
    """
    plain: Corpus | None = None
    blanking = (run.inputs for run in job if run.inputs.protocol.blanks)
    blanked = {task.task_id: task for inputs in blanking for task in inputs.benchmark.tasks}.values()
    waiting, failed = dict[str, Plan](), dict[str, ChunkError]()
    for run in job:
        inputs, embedder = run.inputs, run.parts.embedder
        try:
            plan, plain = make_plan(
                inputs.benchmark,
                inputs.protocol,
                inputs.queries,
                run.chunker,
                skip_errors=run.config.skip_errors,
                corpus=plain,
                tasks=blanked,
            )
        except ChunkError as error:
            failed[run.run_id] = without_traceback(error)
            continue
        started = perf_counter()
        if embedder and any(embedder.pending(run.texts(plan)).values()):
            waiting[run.run_id] = plan
            continue
        looked_up = {EMBED_STEP: perf_counter() - started} if embedder else {}
        _store(run, replace(plan, seconds=plan.seconds | looked_up), results)
    return waiting, failed


def _store(run: PlannedRun, plan: Plan, results: Results) -> None:
    """Judge, retrieve, score and store a planned run; its folder appears complete."""
    outcome = execute(run, plan)
    with staging(results.out, run.run_id) as beside:
        results.keep(store.save(outcome, beside, created=datetime.now(UTC).isoformat(timespec="seconds")))


class Runner:
    """Makes the runs of requests: data is fetched, each model located, and each file cut once.

    One UsageError lists all mistakes in the requests, and earlier `problems`, before data is fetched. With `Workers`
    each run is a job of its own, whose worker reads the data that the request names. Any other executor makes the runs
    of the loaded data together. `benchmark` is data that is loaded already. At most `sample` tasks are drawn from those
    that a protocol scores. Notices name the sources of data, missing parts, and options without effect.

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
    ) -> None:
        problems = problems or Problems()
        check_requests(requests, home, problems, loaded=benchmark is not None)
        problems.check()
        store.check_writable(out)
        log_unread(requests)
        if isinstance(executor, Workers):  # each machine would take `auto` for another device
            requests = [request.on_this_device() for request in requests]
        self._members = by_setting(requests)
        self._executor, self._sample = executor, sample
        self._materials = Materials(
            requests[0],
            without=unscored_repositories(requests),
            results=results_at(out),
            home=home,
            benchmark=benchmark,
        )
        self.skipped: dict[str, str] = {}
        self.failed: dict[RunRequest, dict[str, ChunkError]] = {}
        self._chunkers: list[tuple[object, list[Chunker]]] = []
        self._columns: dict[RunRequest, Iterator[RunView | ChunkError]] = {}
        self._finished: Iterator[Finished] | None = None
        self._bar: tqdm[Any] | None = None
        if isinstance(executor, Workers):
            return
        # Embedders may fail, so they are made before the data is fetched.
        for setting in self.settings:
            self._materials.embedder(setting)
        for name, reason in skipped_for_language(self._materials.benchmark, unsized(requests)).items():
            self._skip(name, reason)

    @property
    def settings(self) -> list[RunRequest]:
        """Return the requests without their chunkers, each once."""
        return list(self._members)

    def skipped_of(self, setting: RunRequest) -> dict[str, str]:
        """Return the setting's chunkers that are skipped, with the reason."""
        return {name: self.skipped[name] for name in self._named(setting) if name in self.skipped}

    def failed_of(self, setting: RunRequest) -> dict[str, str]:
        """Return the setting's chunkers that failed, with the reason."""
        return {name: str(error) for name, error in self.failed.get(setting, {}).items()}

    def selected(self, setting: RunRequest) -> Benchmark:
        """Return the tasks that a setting scores, and their files."""
        return self._materials.setting(setting, self._sample).selected

    def run(self, setting: RunRequest, *, reuse: bool = True) -> list[RunView | None]:
        """Make (or with `reuse` find) the run of every chunker of a setting, in their order; None for one without.

        If all chunkers of one fail in this process, their error is raised.
        """
        runs = []
        for run in self.runs_of(setting, reuse=reuse):
            runs.append(run)
            if run is not None:
                NOTICES.info(f"{run.metrics.chunker} -> {shown_place(run.folder)}")
        errors = list(self.failed.get(setting, {}).values())
        if errors and not any(runs) and not isinstance(self._executor, Workers):
            # A new error: the original is in a local list, so raising it would keep the vector cache in a cycle.
            raise (type(errors[0]) if len(errors) == 1 else ChunkError)(all_mistakes(map(str, errors)))
        for name, reason in self.failed_of(setting).items():
            NOTICES.info(skipped_line(name, reason))
        return runs

    def runs_of(self, setting: RunRequest, *, reuse: bool = True) -> Iterator[RunView | None]:
        """Yield the runs of a setting in their order, each as soon as it is made; None for one without.

        Runs of other settings that have the same chunks are made with them.
        """
        is_worker = isinstance(self._executor, Workers)
        runs = self._finished_runs(reuse=reuse) if is_worker else self._runs(setting, reuse=reuse)
        total = sum(is_worker or name not in self.skipped for one in self.settings for name in self._named(one))
        # No lines: a run by a model takes as long as many others, and the steps of a run have lines.
        bar = self._bar = self._bar or progress(desc="runs", unit="runs", total=total, lines=False)
        for name in self._named(setting):
            if name in self.skipped and not is_worker:
                yield None
                continue
            run = next(runs)
            bar.update()
            bar.clear()  # a line is printed now
            if bar.n == bar.total:
                bar.close()
            if is_worker and isinstance(run, LanguageError):
                self._skip(name, str(run))
            elif isinstance(run, ChunkError):
                self.failed.setdefault(setting, {})[name] = run
            yield None if isinstance(run, ChunkError) else run
            bar.refresh()
        self._materials.share()

    def check(self) -> None:
        """Raise a ResultError that lists the failed runs, each with the reason.

        LanguageError if no chunker knows the languages of the data.
        """
        known = [name for setting in self.settings for name in self._named(setting) if name not in self.skipped]
        lines = [
            f"{' · '.join((request.chunker or 'no chunker', *request.combination().values()))}: {reason}"
            for setting, requests in self._members.items()
            for request in requests
            if (reason := self.failed_of(setting).get(str(request.chunker)))
        ]
        if lines:
            failed = f"{len(lines)} of {max(len(known), len(lines))} runs failed; the same command tries them again:"
            raise ResultError("\n  ".join([failed, *lines]))
        if not known:
            raise LanguageError(all_mistakes(self.skipped.values()))

    def _named(self, setting: RunRequest) -> list[str]:
        """Return the names of a setting's chunkers."""
        return [str(request.chunker) for request in self._members[setting]]

    def _skip(self, chunker: str, reason: str) -> None:
        if chunker not in self.skipped:
            self.skipped[chunker] = reason
            NOTICES.info(skipped_line(chunker, reason))

    def _runs(self, setting: RunRequest, *, reuse: bool) -> Iterator[RunView | ChunkError]:
        """Return the runs of a setting, made with those of the settings that have the same chunks and embedder."""
        if setting not in self._columns:
            first = self._materials.setting(setting, self._sample)
            together = [
                other
                for request in self.settings
                if self._named(request) == self._named(setting)
                for other in [self._materials.setting(request, self._sample)]
                if other.embedder is first.embedder and other.cut == first.cut
            ]
            rows = make_runs(
                together,
                self._cutters(first),
                self._materials.results,
                reuse=reuse,
                home=self._materials.home,
                executor=IN_PROCESS if isinstance(self._executor, Workers) else self._executor,
            )
            for i, (one, column) in enumerate(zip(together, tee(rows, len(together)), strict=True)):
                self._columns[one.request] = map(itemgetter(i), column)
        return self._columns.pop(setting)

    def _cutters(self, setting: Setting) -> list[Chunker]:
        """Return the chunkers of a setting at their final size; sizes are matched once for the same files."""
        specs = [request.chunker for request in self._members[setting.request] if request.chunker not in self.skipped]
        key = (specs, setting.cut)
        for known, cutters in self._chunkers:
            if known == key:
                return cutters
        cutters = make_chunkers(self._materials.benchmark, specs, setting.request)
        self._chunkers.append((key, cutters))
        return cutters

    def _finished_runs(self, *, reuse: bool) -> Iterator[RunView | ChunkError]:
        """Yield the runs of workers, from one setting to the next; the first call submits the jobs of all settings."""
        if self._finished is None:
            assert isinstance(self._executor, Workers)
            requests = [*chain.from_iterable(self._members.values())]
            shared = Shared.of(requests[0].data(), self._materials)
            self._finished = self._executor.map(
                [
                    Job(
                        shared=shared,
                        needs_model=request.needs_vectors and has_model(request.embedder),
                        make=partial(_make_one, request, reuse=reuse, sample=self._sample),
                    )
                    for request in requests
                ]
            )
        for finished in self._finished:
            if finished.run_id is not None:
                yield self._materials.results.open(finished.run_id)
            else:
                yield (LanguageError if finished.skipped else ChunkError)(str(finished.error))


def _make_one(request: RunRequest, materials: Materials, *, reuse: bool, sample: int | None) -> str:
    """Make the run of a checked request in a worker, and return its id."""
    return _only_run(request, [request.chunker], materials, reuse=reuse, sample=sample).run_id


def _only_run(
    request: RunRequest,
    chunkers: Sequence[str | Chunker | None],
    materials: Materials,
    *,
    reuse: bool,
    sample: int | None = None,
) -> RunView:
    cutters = make_chunkers(materials.benchmark, chunkers, request)
    setting = materials.setting(request.setting, sample)
    ((run,),) = make_runs([setting], cutters, materials.results, reuse=reuse, home=materials.home)
    if isinstance(run, ChunkError):
        raise without_traceback(run)
    return run


def plan_run(
    benchmark: Benchmark,
    chunker: str | Chunker | None,
    *,
    protocol: str | Protocol = "context",
    skip_errors: bool = False,
) -> Plan:
    """Chunk the repositories and make the queries, without a model; nothing is stored.

    `chunker` is as in `evaluate`; `protocol` a name or a `Protocol`. With `skip_errors`, files that the chunker cannot
    cut are left out and counted. UsageError: an unknown name. ChunkError: the chunker failed on a file.
    """
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
    text, the URL of a store (docs/performance.md). Notices say if the cache cannot store anything. `run.metrics.micro`
    has the means over queries, `run.per_query()` a row for each query. UsageError: an unknown name or value.
    ChunkError: the chunker failed on a file. DatasetError: no task is scored.
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
    return _only_run(request, [chunker], materials, reuse=reuse)
