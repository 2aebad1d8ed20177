"""Where the runs of an experiment are made: as they always were, or each as a job of an executor that was named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.extension_points import entry_points, extension
from repoeval_bench.core.numbers import is_whole
from repoeval_bench.core.spec import nearest
from repoeval_bench.runs.executors import ProcessPool
from repoeval_bench.runs.experiment import Experiment
from repoeval_bench.runs.job import failed
from repoeval_bench.runs.jobs import JobLog, RunJobs
from repoeval_bench.runs.parts import store_url

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from repoeval_bench.runs.job import JobExecutor
    from repoeval_bench.runs.request import ExecutionRequest, RunRequest

LOCAL = "local"

EXECUTORS = "repoeval_bench.executors"
"""The group of entry points that name executors of plug-ins."""


def untold(_: JobLog) -> None:
    """Nobody is told how the jobs ended."""


@contextmanager
def log_on(
    execution: ExecutionRequest,
    *,
    out: Path,
    home: Path | None,
    notify: Callable[[str], None],
    unit: str,
    told: Callable[[JobLog], None] = untold,
) -> Iterator[JobLog | None]:
    """What hands jobs to the executor that `execution` names; None where it names none.

    At the end, also after an error, `told` is called with the log of the jobs.
    """
    check_execution(execution)
    if execution.executor is None:
        yield None
        return
    with choose_executor(execution, home, store_url(out)) as chosen:
        log = JobLog(chosen, notify, unit=unit)
        try:
            yield log
        finally:
            told(log)


def check_execution(execution: ExecutionRequest) -> None:
    """A UsageError for what is not possible, and for options that no executor reads; nothing is started."""
    if execution.executor is not None:
        choose_executor(execution)
        return
    if execution.job_page is not None:
        raise UsageError(f"--job-page {execution.job_page} is about jobs; add --executor local:2 or ray")


@contextmanager
def runs_on(
    execution: ExecutionRequest,
    *,
    out: Path,
    home: Path | None,
    notify: Callable[[str], None],
    told: Callable[[JobLog], None] = untold,
    **options: Any,
) -> Iterator[Callable[[Sequence[RunRequest]], RunJobs] | None]:
    """What makes the runs of requests as jobs of the executor that is named; None where none is.

    `options` are those of `RunJobs`. At the end of the context, the runs that could not be made are one ResultError.
    """
    with log_on(execution, out=out, home=home, notify=notify, unit="runs", told=told) as log:
        if log is None:
            yield None
            return
        yield lambda requests: RunJobs(requests, log, out=out, home=home, **options)
    log.check()


@contextmanager
def experiment_on(
    execution: ExecutionRequest, requests: Sequence[RunRequest], **options: Any
) -> Iterator[Experiment | RunJobs]:
    """The experiment of these requests, made where `execution` says; `options` are those of `runs_on`.

    Without an executor, runs are made together: chunked side by side and embedded in one pass. With one, each is a job.
    At the end of the context, the runs that could not be made are one ResultError.
    """
    with runs_on(execution, **options) as as_jobs:
        if as_jobs is not None:
            yield as_jobs(requests)
            return
        options.pop("told", None)
        with ProcessPool() as pool:
            experiment = Experiment(requests, executor=pool, **options)
            yield experiment
        experiment.check()


def choose_executor(
    execution: ExecutionRequest, home: Path | None = None, store: str | None = None
) -> AbstractContextManager[JobExecutor]:
    """Return the executor that was named, not yet entered.

    A UsageError for an unknown one, or where a package is missing that it needs.
    """
    name, _, target = (execution.executor or "").partition(":")
    if name == LOCAL:
        if not is_whole(target) or not 1 <= int(target) <= 10_000:
            raise UsageError(f"--executor {execution.executor}: give a number of processes, such as local:4")
        return ProcessPool(int(target), failed=failed)
    factory = extension(EXECUTORS, name)
    if factory is None:
        raise UsageError(nearest("executor", name, [LOCAL, *entry_points(EXECUTORS)]))
    made: AbstractContextManager[JobExecutor] = factory(target or None, home=home, store=store)
    return made
