"""The runner: requests go in, run folders come out.

It chunks in parallel, embeds missing vectors, and makes and stores the runs. Requests over the same files share the
chunks of a chunker. An executor decides only where a job runs: the stored bytes are the same.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from repoeval_bench.chunkers.registry import row_of
from repoeval_bench.core.benchmark import Benchmark, check_loaded
from repoeval_bench.core.errors import (
    ChunkError,
    LanguageError,
    ResultError,
    UsageError,
    all_mistakes,
    without_traceback,
)
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.parts import Chunker, Embedder
from repoeval_bench.core.progress import progress
from repoeval_bench.embedding.choice import has_model
from repoeval_bench.protocols.protocol import Protocol, passed_over
from repoeval_bench.protocols.queries import make_queries
from repoeval_bench.retrieval.corpus import Corpus
from repoeval_bench.retrieval.registry import ResolvedRetriever
from repoeval_bench.runs import parts, planning, store
from repoeval_bench.runs.executors import IN_PROCESS, Executor, ProcessPool
from repoeval_bench.runs.jobs import Finished, Job, Shared, Workers, executor_of
from repoeval_bench.runs.problems import Problems, check_requests, check_setting
from repoeval_bench.runs.records import RunConfig
from repoeval_bench.runs.request import EMBEDDER, NO_EMBEDDER, DataRequest, ExecutionRequest, RunRequest, by_setting
from repoeval_bench.runs.results import Results, results_at, staging
from repoeval_bench.runs.stages import embed, execute
from repoeval_bench.runs.view import RunView


class ChunkerRuns(NamedTuple):
    """The runs of a chunker that were made or reused, and its errors, both by setting."""

    runs: dict[RunRequest, RunView]
    failed: dict[RunRequest, ChunkError]


def make_runs(
    settings: Sequence[planning.Setting],
    chunkers: Sequence[Chunker],
    results: Results,
    *,
    reuse: bool,
    home: Path | None = None,
    executor: Executor = IN_PROCESS,
) -> Iterator[ChunkerRuns]:
    """Yield for each chunker its runs under the settings; each is stored when it is done.

    With `reuse`, stored runs that exactly this code made are used unchanged. The settings have the same chunks and the
    same embedder. A chunker's runs are one job, and its chunks stay in its process.
    """
    retrievers = [parts.make_retriever(setting.request.retriever, home=home) for setting in settings]
    cutters = [parts.chunker_under(settings[0].protocol, chunker) for chunker in chunkers]
    reused: list[dict[RunRequest, RunView]] = []
    jobs: list[list[planning.PlannedRun]] = []
    for cutter in cutters:
        reused.append({})
        jobs.append([])
        for setting, retriever in zip(settings, retrievers, strict=True):
            config = _config(cutter, setting, retriever)
            if reuse and (stored := results.find(config.run_id)):
                reused[-1][setting.request] = stored
            else:
                jobs[-1].append(
                    planning.PlannedRun(
                        request=setting.request,
                        config=config,
                        chunker=cutter,
                        parts=parts.Parts(setting.embedder, retriever, home),
                        inputs=setting.inputs,
                    )
                )
    where = suited(executor, settings[0].selected, cutters, retrievers)
    missing = [job for job in jobs if job]
    if missing:
        from repoeval_bench.chunkers.together import together  # imports the grammars, which stored runs do not need

        store.check_writable(results.out)
        shared = together([job[0].chunker for job in missing])
        missing = [[replace(run, chunker=one) for run in job] for job, one in zip(missing, shared, strict=True)]
    begun = where.map([partial(_begin, job, results) for job in missing])
    for runs, job in zip(reused, jobs, strict=True):
        waiting, failed = next(begun) if job else ({}, {})
        # Embedded here and together: a text of several runs is computed once, and the model uses all cores.
        plans = [(run, waiting[run.request]) for run in job if run.request in waiting]
        if plans and (embedder := settings[0].embedder):
            embed(plans, embedder)
            for run, plan in plans:
                _store(run, plan, results)
        new = {run.request: results.open(run.config.run_id) for run in job if run.request not in failed}
        yield ChunkerRuns(runs | new, failed)


def _config(chunker: Chunker, setting: planning.Setting, retriever: ResolvedRetriever) -> RunConfig:
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
        measures=parts.choose_measures(request.measures, request.k, protocol.gold),
        retriever_identity=retriever.scorer.identity if retriever.scorer else {},
    )


def suited(
    executor: Executor, benchmark: Benchmark, chunkers: Collection[Chunker], retrievers: Iterable[ResolvedRetriever]
) -> Executor:
    """Return the executor, or this process if others are not worth their start, or not possible."""
    pays = (
        ((isinstance(executor, ProcessPool) and executor.is_started) or planning.is_large(benchmark, len(chunkers)))
        # A chunker may have a process or a state of its own, unless its row says that it has none.
        and all(row_of(chunker.spec).parallel for chunker in chunkers)
        # A reranker's model uses all cores.
        and not any(retriever.scorer for retriever in retrievers)
    )
    return executor if pays else IN_PROCESS


def _begin(
    job: Sequence[planning.PlannedRun], results: Results
) -> tuple[dict[RunRequest, planning.Plan], dict[RunRequest, ChunkError]]:
    """Cut all once, and store a chunker's runs; return the plans of those that lack vectors, and the errors."""
    plain: Corpus | None = None
    blanking = (run.inputs for run in job if run.inputs.protocol.blanks)
    blanked = {task.task_id: task for inputs in blanking for task in inputs.benchmark.tasks}.values()
    waiting, failed = dict[RunRequest, planning.Plan](), dict[RunRequest, ChunkError]()
    for run in job:
        inputs, embedder = run.inputs, run.parts.embedder
        try:
            plan, plain = planning.make_plan(
                inputs.benchmark,
                inputs.protocol,
                inputs.queries,
                run.chunker,
                skip_errors=run.config.skip_errors,
                corpus=plain,
                tasks=blanked,
            )
        except ChunkError as error:
            failed[run.request] = without_traceback(error)
            continue
        if embedder and any(embedder.pending(run.texts(plan)).values()):
            waiting[run.request] = plan
        else:
            _store(run, plan, results)
    return waiting, failed


def _store(run: planning.PlannedRun, plan: planning.Plan, results: Results) -> None:
    """Judge, retrieve, score and store a planned run; its folder appears complete."""
    outcome = execute(run, plan)
    # Written beside and renamed: a killed command leaves no half of a run, and the same command goes on.
    with staging(results.out, run.config.run_id) as beside:
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
        out: Path = parts.RESULTS,
        home: Path | None = None,
        problems: Problems | None = None,
        executor: Executor | Workers = IN_PROCESS,
        benchmark: Benchmark | None = None,
        sample: int | None = None,
    ) -> None:
        problems = problems or Problems()
        check_requests(requests, problems, loaded=benchmark is not None)
        problems.check()
        store.check_writable(out)
        planning.log_unread(requests)
        self._members = by_setting(requests)
        self._executor, self._sample = executor, sample
        self._materials = planning.Materials(
            requests[0],
            without=passed_over((request.resolved_protocol() for request in requests), requests[0].level),
            results=results_at(out),
            home=home,
            benchmark=benchmark,
        )
        self.skipped: dict[str, str] = {}
        self.failed: dict[RunRequest, dict[str, ChunkError]] = {}
        self._chunkers: dict[object, list[Chunker]] = {}
        self._coming: dict[RunRequest, tuple[Iterator[ChunkerRuns], list[ChunkerRuns]]] = {}
        self._finished: Iterator[Finished] | None = None
        self._bar: tqdm[Any] | None = None
        if isinstance(executor, Workers):
            return
        # Embedders may fail, so they are made before the data is fetched.
        for setting in self.settings:
            self._materials.embedder(setting)
        for name, reason in parts.skipped_for_language(self._materials.benchmark, planning.unsized(requests)).items():
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
                NOTICES.info(f"{run.metrics.chunker} -> {parts.shown_place(run.folder)}")
        errors = list(self.failed.get(setting, {}).values())
        if errors and not any(runs) and not isinstance(self._executor, Workers):
            # A new error: the original is in a local list, so raising it would keep the vector cache in a cycle.
            raise (type(errors[0]) if len(errors) == 1 else ChunkError)(all_mistakes(map(str, errors)))
        for name, reason in self.failed_of(setting).items():
            NOTICES.info(parts.skipped_line(name, reason))
        return runs

    def runs_of(self, setting: RunRequest, *, reuse: bool = True) -> Iterator[RunView | None]:
        """Yield the runs of a setting in their order, each as soon as it is made; None for one without.

        Runs of other settings that have the same chunks are made with them.
        """
        is_worker = isinstance(self._executor, Workers)
        coming = self._by_workers(reuse=reuse) if is_worker else self._here(setting, reuse=reuse)
        total = sum(is_worker or name not in self.skipped for one in self.settings for name in self._named(one))
        # No lines: a run by a model takes as long as many others, and the steps of a run have lines.
        bar = self._bar = self._bar or progress(desc="runs", unit="runs", total=total, lines=False)
        for name in self._named(setting):
            if name in self.skipped and not is_worker:
                yield None
                continue
            run, error = next(coming)
            bar.update()
            bar.clear()  # a line is printed now
            if bar.n == bar.total:
                bar.close()
            if is_worker and isinstance(error, LanguageError):
                self._skip(name, str(error))
            elif error:
                self.failed.setdefault(setting, {})[name] = error
            yield run
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
        return [str(request.chunker) for request in self._members[setting]]

    def _skip(self, chunker: str, reason: str) -> None:
        if chunker not in self.skipped:
            self.skipped[chunker] = reason
            NOTICES.info(parts.skipped_line(chunker, reason))

    def _here(self, setting: RunRequest, *, reuse: bool) -> Iterator[tuple[RunView | None, ChunkError | None]]:
        """Yield the run of each chunker, or its error; the settings with the same chunks and embedder are made too."""
        if setting not in self._coming:
            first = self._materials.setting(setting, self._sample)
            others = [one for one in self.settings if self._named(one) == self._named(setting)]
            together = [
                other
                for other in (self._materials.setting(one, self._sample) for one in others)
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
            self._coming |= dict.fromkeys([one.request for one in together], (rows, []))
        coming, done = self._coming.pop(setting)
        for position in range(len(set(self._named(setting)) - self.skipped.keys())):
            if position == len(done):
                done.append(next(coming))
            # Taken out: a run that was read holds the scores of its queries.
            yield done[position].runs.pop(setting, None), done[position].failed.get(setting)

    def _cutters(self, setting: planning.Setting) -> list[Chunker]:
        """Return the chunkers of a setting at their final size; sizes are matched once for the same files."""
        specs = [request.chunker for request in self._members[setting.request] if request.chunker not in self.skipped]
        key = (tuple(specs), setting.cut)
        if key not in self._chunkers:
            self._chunkers[key] = planning.make_chunkers(self._materials.benchmark, specs, setting.request)
        return self._chunkers[key]

    def _by_workers(self, *, reuse: bool) -> Iterator[tuple[RunView | None, ChunkError | None]]:
        """Yield each worker's run or error, from one setting to the next; the first call submits all jobs."""
        if self._finished is None:
            assert isinstance(self._executor, Workers)
            requests = [*chain.from_iterable(self._members.values())]
            shared = Shared.of(requests[0].data(), self._materials)
            self._finished = self._executor.map(
                [
                    Job(
                        shared=shared,
                        needs_model=request.needs_vectors and has_model(request.embedder),
                        make=partial(_only_run, request, [request.chunker], reuse=reuse, sample=self._sample),
                    )
                    for request in requests
                ]
            )
        for done in self._finished:
            yield self._materials.results.open(done.run_id) if done.run_id else None, done.error


@contextmanager
def runner_on(
    execution: ExecutionRequest, requests: Sequence[RunRequest], *, problems: Problems | None = None, **folders: Any
) -> Iterator[Runner]:
    """Yield the runner of these requests on the executor that `execution` names; `folders` are `out` and `home`.

    At the end of the context, one ResultError lists the runs that failed.
    """
    with executor_of(execution, **folders) as executor:
        runner = Runner(requests, **folders, problems=problems, executor=executor)
        yield runner
    runner.check()


def _only_run(
    request: RunRequest,
    chunkers: Sequence[str | Chunker | None],
    materials: planning.Materials,
    *,
    reuse: bool,
    sample: int | None = None,
) -> RunView:
    cutters = planning.make_chunkers(materials.benchmark, chunkers, request)
    setting = materials.setting(request.setting, sample)
    ((runs, failed),) = make_runs([setting], cutters, materials.results, reuse=reuse, home=materials.home)
    for error in failed.values():
        raise without_traceback(error)
    return runs[setting.request]


def plan_run(
    benchmark: Benchmark,
    chunker: str | Chunker | None,
    *,
    protocol: str | Protocol = "context",
    skip_errors: bool = False,
) -> planning.Plan:
    """Chunk the repositories and make the queries, without a model; nothing is stored.

    `chunker` is as in `evaluate`; `protocol` a name or a `Protocol`. With `skip_errors`, files that the chunker cannot
    cut are left out and counted. UsageError: an unknown name. ChunkError: the chunker failed on a file.
    """
    check_loaded(benchmark)
    resolved = Protocol.parse(protocol) if isinstance(protocol, str) else protocol
    cutter, selected = parts.chunker_under(resolved, chunker), planning.select(benchmark, resolved)
    queries = make_queries(selected.tasks, resolved.query)
    return planning.make_plan(selected, resolved, queries, cutter, skip_errors=skip_errors)[0]


def evaluate(
    benchmark: Benchmark,
    chunker: str | Chunker | None,
    *,
    embedder: str | Embedder = EMBEDDER,
    out: Path | str = parts.RESULTS,
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
    check_loaded(benchmark)
    given = fields if not isinstance(embedder, str) else fields | {"embedder": embedder}
    if wrong := sorted(DataRequest.model_fields.keys() & given.keys()):
        raise UsageError(f"{', '.join(wrong)}: the data is loaded already; give it to load_benchmark")
    request = RunRequest.of(given)
    problems = Problems()
    check_setting(request, problems)
    problems.check()
    materials = planning.Materials(
        request,
        without=frozenset(),
        results=results_at(out, home),
        home=home,
        benchmark=benchmark,
        embedder=None if isinstance(embedder, str) else embedder,
    )
    return _only_run(request, [chunker], materials, reuse=reuse)
