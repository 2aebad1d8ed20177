"""Choose the executor that runs requests: this process and its pool, a number of processes, or one of a plug-in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.registry import entry_points, extension
from repoeval_bench.core.spec import nearest
from repoeval_bench.runs.executors import Executor, ProcessPool
from repoeval_bench.runs.jobs import Workers
from repoeval_bench.runs.parts import store_url
from repoeval_bench.runs.runner import Runner

if TYPE_CHECKING:
    from repoeval_bench.runs.problems import Problems
    from repoeval_bench.runs.request import ExecutionRequest, RunRequest

LOCAL = "local"

EXECUTORS = "repoeval_bench.executors"
"""The group of entry points that name executors of plug-ins."""


@contextmanager
def executor_of(execution: ExecutionRequest, *, out: Path, home: Path | None) -> Iterator[Executor | Workers]:
    """Yield workers on the executor that `execution` names; the pool of this machine if it names none."""
    if execution.executor is None:
        with ProcessPool() as pool:
            yield pool
        return
    with choose_executor(execution, home, store_url(out)) as executor:
        yield Workers(executor)


def check_execution(execution: ExecutionRequest) -> None:
    """Raise a UsageError for an executor that is not possible; nothing is started."""
    if execution.executor is not None:
        choose_executor(execution)


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


def choose_executor(
    execution: ExecutionRequest, home: Path | None = None, store: str | None = None
) -> AbstractContextManager[Executor]:
    """Return the executor that `execution` names, not yet entered.

    UsageError if it is unknown, or if a package that it needs is missing.
    """
    name, _, target = (execution.executor or "").partition(":")
    if name == LOCAL:
        if not target.isdecimal() or not 1 <= int(target) <= 10_000:
            raise UsageError(f"--executor {execution.executor}: give a number of processes, such as local:4")
        return ProcessPool(int(target))
    factory = extension(EXECUTORS, name)
    if factory is None:
        raise UsageError(nearest("executor", name, [LOCAL, *entry_points(EXECUTORS)]))
    executor: AbstractContextManager[Executor] = factory(target or None, home=home, store=store)
    return executor
