"""Executors: this process, or a pool of worker processes. Both yield results in the order of the jobs.

A job is a callable that can be pickled: a `functools.partial` of a module's function over plain records. Workers are
forked from a server without threads that has imported the modules of a run, whatever the caller has imported.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import forkserver, resource_tracker
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.cores import usable_cores
from repoeval_bench.core.errors import BenchError, EndedError, SpecError, in_one_line
from repoeval_bench.core.spec import Spec

T = TypeVar("T")

LARGE = 16_000_000
"""The fewest characters to cut for which a pool is worth its start: two chunkers on RepoEval.

Fewer are cut in the second that the start takes, even if the server starts while the data is loaded.
"""

AHEAD = 64
"""Submitted jobs for each worker: enough to keep all busy behind a long one, few enough to keep in memory."""

TRIES = 5
"""A job has failed once it has lost its worker so often, for example because memory ran out."""

_PRELOADED = [
    "__main__",
    *(
        f"repoeval_bench.{name}"
        for name in (
            "runs.runner",
            "embedding.cache",
            "embedding.encoder",
            "embedding.storage",
            "metrics.lines",
            "retrieval.bm25",
            "retrieval.dense",
        )
    ),
]

_METHOD = "forkserver" if hasattr(os, "fork") else "spawn"

_SAFE_PATH = "PYTHONSAFEPATH"
"""The variable of Python that keeps the current folder off the path."""

_INTERRUPTED = 130

_SECONDS_TO_CLEAR_UP = 5


class Executor(Protocol):
    """Runs jobs somewhere."""

    def map(self, jobs: Sequence[Callable[[], T]]) -> Iterator[T]:
        """Yield the result of each job, in their order; an error of a job is raised in its place."""
        ...


class InProcess:
    """Runs each job in this process, when its result is read."""

    def map(self, jobs: Sequence[Callable[[], T]]) -> Iterator[T]:
        """Yield the result of each job, in their order."""
        for job in jobs:
            yield job()


@dataclass(slots=True)
class _Task(Generic[T]):
    """A submitted job; `losses` counts how often it has lost its worker while no other job was running."""

    job: Callable[[], T]
    future: Future[T] = field(default_factory=Future)
    losses: int = 0

    @property
    def is_lost(self) -> bool:
        """Return whether its pool broke before it was done."""
        return self.future.done() and isinstance(self.future.exception(), BrokenProcessPool)


class ProcessPool:
    """Runs as many jobs at once as there are cores, each in a worker process; a context that ends the workers.

    Workers start when two jobs or more are mapped, and so does their server, unless `start_server` has started it. If
    the context is left by an error or an interrupt, workers are ended at once, and incomplete files are removed.

    A killed worker breaks the pool. The jobs that were running are then tried again, one at a time, so that no job is
    blamed for another; then the rest goes on. A job that loses its worker `TRIES` times has failed: its result is
    `failed` of the reason, or else a BenchError.
    """

    def __init__(self, workers: int | None = None, *, failed: Callable[[str], Any] | None = None) -> None:
        self.workers = workers or usable_cores()
        self._failed = failed
        self._pool: ProcessPoolExecutor | None = None
        self._others: frozenset[int | None] = frozenset()
        self._tasks: deque[_Task[Any]] = deque()

    @property
    def is_started(self) -> bool:
        """Return whether workers are started already."""
        return self._pool is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and self._pool is not None and not all(task.future.done() for task in self._tasks):
            self._end_workers()
        self._end()

    def map(self, jobs: Sequence[Callable[[], T]]) -> Iterator[T]:
        """Yield the result of each job, in their order; a single job, and every job on a single core, runs here."""
        if min(len(jobs), self.workers) < 2:
            yield from InProcess().map(jobs)
            return
        coming = map(_Task, jobs)
        tasks: deque[_Task[T]] = deque()
        self._tasks = tasks
        for task in islice(coming, AHEAD * self.workers):
            tasks.append(self._submit(task))
        while tasks:
            try:
                result = tasks[0].future.result()
            except BrokenProcessPool:
                self._try_again([task for task in tasks if task.is_lost])
                continue
            yield result
            tasks.popleft()
            tasks.extend(map(self._submit, islice(coming, 1)))

    def _try_again(self, lost: Sequence[_Task[Any]]) -> None:
        """Run the jobs that the broken pool was running, one after the other, then submit the other lost ones."""
        self._end_broken()
        suspects = lost[: self.workers]  # jobs begin in their order, so only these had begun
        for task in suspects:
            task.losses += len(suspects) == 1
            while task.is_lost and task.losses < TRIES:
                wait([self._submit(task).future])
                if task.is_lost:
                    self._end_broken()
                    task.losses += 1
            if task.is_lost:
                self._fail(task)
        for task in lost[self.workers :]:
            self._submit(task)

    def _fail(self, task: _Task[Any]) -> None:
        reason = (
            f"its worker process was killed {TRIES} times, even with no other job running; give it more memory; in "
            "your own script start below if __name__ == '__main__'"
        )
        task.future = Future()
        if self._failed is None:
            task.future.set_exception(BenchError(f"a job failed: {reason}; what was stored so far is kept"))
        else:
            task.future.set_result(self._failed(reason))

    def _submit(self, task: _Task[T]) -> _Task[T]:
        with _ready_to_start():  # a job may start another worker
            pool = self._started()
            try:
                task.future = pool.submit(_run, task.job)
            except BrokenProcessPool as error:
                task.future = Future()
                task.future.set_exception(error)
            except OSError:
                # The queues were closed while a worker was starting, as another was just lost: then the next job gets
                # the error of a broken pool.
                task.future = Future()
                try:
                    pool.submit(int)
                except BrokenProcessPool as error:
                    task.future.set_exception(error)
                else:
                    raise
        return task

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context(_METHOD)
            context.set_forkserver_preload(_PRELOADED)
            self._others = frozenset(process.pid for process in multiprocessing.active_children())
            self._pool = ProcessPoolExecutor(
                self.workers,
                mp_context=context,
                initializer=_begin,
                initargs=(gc.get_threshold(), os.environ.get(_SAFE_PATH)),
            )
        return self._pool

    def _end_broken(self) -> None:
        """End a pool that has lost a worker, without the endless wait for another that may be starting."""
        self._end_workers()
        self._end()

    def _end_workers(self) -> None:
        ours = [process for process in multiprocessing.active_children() if process.pid not in self._others]
        for worker in ours:
            worker.terminate()
        for worker in ours:
            worker.join(_SECONDS_TO_CLEAR_UP)
            worker.kill()
            worker.join()

    def _end(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


IN_PROCESS = InProcess()


def start_server(chunkers: Iterable[str]) -> None:
    """Start the server of workers, if there will be any, so that it imports their modules while the caller goes on.

    It also imports the modules of the chunkers that may cut in several processes.
    """
    if usable_cores() > 1 and _METHOD == "forkserver":
        multiprocessing.get_context(_METHOD).set_forkserver_preload([*_PRELOADED, *modules_of(chunkers)])
        with _ready_to_start():
            forkserver.ensure_running()


def modules_of(chunkers: Iterable[str]) -> list[str]:
    """Return the modules and libraries of the chunkers, named by specs, that may cut in several processes."""
    modules = []
    for spec in chunkers:
        with suppress(SpecError):  # the command itself reports it
            row = CHUNKERS.known_or_none(Spec.parse(spec).name)
            if row is not None and row.parallel:
                modules += [row.part.__module__, *row.libraries]
    return modules


@contextmanager
def _ready_to_start() -> Iterator[None]:
    """Let processes start in the block that run no file of the current folder, which may be code to chunk.

    They would look there for modules first. Ctrl-C waits until the end of the block: during a worker's start its server
    would print a traceback. A process that starts in the block inherits the mask and never gets Ctrl-C; the caller ends
    it.
    """
    safe_path = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        with _interrupts_held():
            yield
    finally:
        _set_safe_path(safe_path)


def _set_safe_path(value: str | None) -> None:
    if value is None:
        os.environ.pop(_SAFE_PATH, None)
    else:
        os.environ[_SAFE_PATH] = value


@contextmanager
def _interrupts_held() -> Iterator[None]:
    ours = threading.current_thread() is threading.main_thread()
    interrupts: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number)) if ours else None
    if _METHOD == "forkserver":
        resource_tracker.ensure_running()  # before the mask, as its start would lift it
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if hasattr(signal, "pthread_sigmask") else None
    try:
        yield
    finally:
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if ours:
            signal.signal(signal.SIGINT, before)
    if interrupts:
        signal.raise_signal(signal.SIGINT)


def _begin(threshold: tuple[int, int, int], safe_path: str | None) -> None:
    """Prepare a worker: it ignores Ctrl-C, which the caller handles, and ends with the caller."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, _leave)
    sys.unraisablehook = _leave_again
    gc.set_threshold(*threshold)
    _set_safe_path(safe_path)  # programs of a chunker start as from the caller
    threading.Thread(target=_end_with_caller, daemon=True).start()


class _Worker:
    """State of a worker process: `busy` while it runs a job."""

    busy = False


def _leave(*_: object) -> None:
    if _Worker.busy:  # the exception lets the job remove incomplete files
        raise EndedError
    os._exit(_INTERRUPTED)


def _leave_again(ignored: sys.UnraisableHookArgs) -> None:
    """Leave soon where Python has just ignored the exception, as in `__del__`."""
    if isinstance(ignored.exc_value, EndedError):
        signal.setitimer(signal.ITIMER_REAL, 0.02)
    else:
        sys.__unraisablehook__(ignored)


def _end_with_caller() -> None:
    caller = multiprocessing.parent_process()
    assert caller is not None
    caller.join()
    os._exit(_INTERRUPTED)


def _run(job: Callable[[], T]) -> T:
    try:
        _Worker.busy = True
        try:
            return job()
        finally:
            _Worker.busy = False
    except EndedError:
        os._exit(_INTERRUPTED)
    except SystemExit as error:  # raised by a plug-in; it would end the caller
        raise BenchError(f"a job called sys.exit({error.code!r}); repair its plug-in") from error
    except Exception as error:
        if _can_be_sent(error):
            raise
        raise BenchError(f"a job failed with {in_one_line(error)}") from error


def _can_be_sent(error: Exception) -> bool:
    """Return whether an error can be pickled, and the caller does not take it for the loss of a worker."""
    with suppress(Exception):  # many errors cannot be unpickled, as their message is not their only argument
        return not isinstance(pickle.loads(pickle.dumps(error)), BrokenProcessPool)  # noqa: S301 - it was made here
    return False
