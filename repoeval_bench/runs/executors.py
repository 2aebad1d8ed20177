"""Executors: this process, or a pool of worker processes. Both yield results in the order of the jobs.

A job is a callable that can be pickled: a `functools.partial` of a module's function over plain records.
"""

import gc
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker
from multiprocessing.synchronize import Event
from types import TracebackType
from typing import Protocol, Self, TypeVar

from repoeval_bench.chunkers.registry import row_of
from repoeval_bench.core.cores import usable_cores
from repoeval_bench.core.errors import BenchError

T = TypeVar("T")

_PRELOADED = [
    "__main__",
    "repoeval_bench.runs.runner",
    "repoeval_bench.embedding.cache",
    "repoeval_bench.embedding.encoder",
    "repoeval_bench.embedding.storage",
    "repoeval_bench.metrics.lines",
    "repoeval_bench.retrieval.bm25",
    "repoeval_bench.retrieval.dense",
]

# Workers are forked from a server without threads that has imported the modules of a run, whatever the caller has
# imported.
_METHOD = "forkserver" if hasattr(os, "fork") else "spawn"

# The variable of Python that keeps the current folder off the path.
_SAFE_PATH = "PYTHONSAFEPATH"


class Executor(Protocol):
    """Runs jobs somewhere."""

    def map(self, jobs: Sequence[Callable[[], T]]) -> Iterator[T]:
        """Yield the result of each job, in their order; an error of a job is raised in its place."""
        ...


class ProcessPool:
    """Runs as many jobs at once as there are cores, each in a worker process; a context that ends the workers.

    Workers start when two jobs or more are mapped, and so does their server, unless `start_server` has started it. If
    the context is left by an error or an interrupt, workers are ended at once. A killed worker is a BenchError.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or usable_cores()
        self._pool: ProcessPoolExecutor | None = None
        self._submitted: Event | None = None
        self._others: frozenset[int | None] = frozenset()

    @property
    def is_started(self) -> bool:
        """Return whether workers are started already."""
        return self._pool is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is None:
            return
        if kind is not None:
            for process in multiprocessing.active_children():
                if process.pid not in self._others:
                    process.terminate()
        self._pool.shutdown(cancel_futures=True)
        self._pool = None

    def map(self, jobs: Sequence[Callable[[], T]]) -> Iterator[T]:
        """Yield the result of each job, in their order; a single job, and every job on a single core, runs here."""
        if min(len(jobs), self.workers) < 2:
            yield from (job() for job in jobs)
            return
        try:
            futures = deque(map(self._submit, jobs))
            if self._submitted:
                self._submitted.set()
            while futures:
                yield futures.popleft().result()
        except BrokenProcessPool as error:
            raise BenchError(
                "a worker process was killed, as where memory runs out; give it more memory, and run the same command "
                "again: finished runs are stored"
            ) from error

    def _submit(self, job: Callable[[], T]) -> Future[T]:
        with _starting():  # a job may start another worker
            if self._pool is None:
                context = multiprocessing.get_context(_METHOD)
                context.set_forkserver_preload(_PRELOADED)
                self._others = frozenset(process.pid for process in multiprocessing.active_children())
                self._submitted = context.Event()
                self._pool = ProcessPoolExecutor(
                    self.workers, mp_context=context, initializer=_begin, initargs=(gc.get_threshold(), self._submitted)
                )
            return self._pool.submit(job)


IN_PROCESS = ProcessPool(1)
"""Runs each job in this process, when its result is read."""


def start_server(chunkers: Iterable[str]) -> None:
    """Start the server of workers, if there will be any, so that it imports their modules while the caller goes on.

    It also imports the modules of the chunkers that may cut in several processes.
    """
    if usable_cores() > 1 and _METHOD == "forkserver":
        multiprocessing.get_context(_METHOD).set_forkserver_preload([*_PRELOADED, *modules_of(chunkers)])
        with _starting():
            forkserver.ensure_running()


def modules_of(chunkers: Iterable[str]) -> list[str]:
    """Return the modules and libraries of the chunkers, named by specs, that may cut in several processes."""
    modules = []
    for spec in chunkers:
        row = row_of(spec)
        if row.parallel:
            modules += [row.part.__module__, *row.libraries]
    return modules


@contextmanager
def _starting() -> Iterator[None]:
    """Let processes start in the block that ignore Ctrl-C, and run no file of the current folder."""
    # It may be code to chunk, and Python would look there for modules first.
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    resource_tracker.ensure_running()  # which would unblock Ctrl-C
    # The processes inherit that Ctrl-C is blocked. The caller handles what came meanwhile: imports may take seconds.
    in_main = threading.current_thread() is threading.main_thread()
    came: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: came.append(number)) if in_main else None
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        if in_main:
            signal.signal(signal.SIGINT, handler)
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before
        if came:
            signal.raise_signal(signal.SIGINT)


def _begin(threshold: tuple[int, int, int], submitted: Event) -> None:
    """Prepare a worker: it ignores Ctrl-C, ends with the caller, and begins when all jobs are submitted."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(*threshold)
    os.environ.pop(_SAFE_PATH, None)  # programs of a chunker start as from the caller
    threading.Thread(target=_end_with_caller, daemon=True).start()
    # A worker that is killed while another is being started lets the pool of Python 3.11 wait for ever, or fail.
    submitted.wait()


def _end_with_caller() -> None:
    caller = multiprocessing.parent_process()
    assert caller is not None
    caller.join()
    os._exit(1)
