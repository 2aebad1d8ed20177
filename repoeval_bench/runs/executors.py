"""Where jobs run: in this process, or in a pool of worker processes. Both give results in the order of the jobs.

A job is a callable that can be pickled: a `functools.partial` of a module's function over plain records. Workers are
forked from a server without threads that has imported what a run needs; what the caller has imported does not matter.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import forkserver, resource_tracker
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from repoeval_bench.core.cores import usable_cores
from repoeval_bench.core.errors import BenchError

T = TypeVar("T")

LARGE = 4_000_000
"""Characters of source times chunkers from which a pool pays: two chunkers on RepoEval.

Less is done in the second that its start takes, also where the server starts while the data is loaded.
"""

AHEAD = 64
"""Jobs that are handed over for each worker: enough to keep all busy behind a long one, few enough to hold."""

_PRELOADED = [
    "__main__",
    *(
        f"repoeval_bench.{name}"
        for name in (
            "runs.experiment",
            "chunkers.ast",
            "chunkers.chonkie",
            "chunkers.fixed",
            "embedding.cache",
            "embedding.encoder",
            "embedding.storage",
            "metrics.lines",
            "retrieval.bm25",
            "retrieval.dense",
        )
    ),
    "chonkie",
]

_METHOD = "forkserver" if hasattr(os, "fork") else "spawn"

_INTERRUPTED = 130

_SECONDS_TO_CLEAR_UP = 5


class Executor(Protocol):
    """Where jobs run."""

    def map(self, jobs: Sequence[Callable[[], T]]) -> Iterator[T]:
        """What each job returns, in their order; an error of a job is raised in its place."""
        ...


class InProcess:
    """Each job is done here, when its result is asked for."""

    def map(self, jobs: Sequence[Callable[[], T]]) -> Iterator[T]:
        """What each job returns, in their order."""
        for job in jobs:
            yield job()


class ProcessPool:
    """As many jobs at once as there are cores, each in a worker process; a context that ends the workers.

    Workers start with the first two jobs; with `soon` their server starts at once, while the caller does other things.
    Where the context is left by an error or an interrupt they are ended at once, and what they were writing is removed.
    A worker that is killed is a BenchError.
    """

    def __init__(self, workers: int | None = None, *, soon: bool = False) -> None:
        self.workers = workers or usable_cores()
        self._soon = soon
        self._pool: ProcessPoolExecutor | None = None
        self._others: frozenset[int | None] = frozenset()
        self._handed: deque[Future[Any]] = deque()

    def __enter__(self) -> Self:
        if self._soon and self.workers > 1 and _METHOD == "forkserver":
            multiprocessing.get_context(_METHOD).set_forkserver_preload(_PRELOADED)
            with _interrupts_held():
                forkserver.ensure_running()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is None:
            return
        if kind is not None and not all(each.done() for each in self._handed):
            ours = [each for each in multiprocessing.active_children() if each.pid not in self._others]
            for worker in ours:
                worker.terminate()
            for worker in ours:
                worker.join(_SECONDS_TO_CLEAR_UP)
                worker.kill()
                worker.join()
        self._pool.shutdown(cancel_futures=True)
        self._pool = None

    def map(self, jobs: Sequence[Callable[[], T]]) -> Iterator[T]:
        """What each job returns, in their order; a single job, and every job on a single core, is done here."""
        if min(len(jobs), self.workers) < 2:
            yield from InProcess().map(jobs)
            return
        futures: deque[Future[T]] = deque()
        self._handed = futures
        waiting = iter(jobs)
        try:
            futures.extend(map(self._submit, islice(waiting, AHEAD * self.workers)))
            while futures:
                yield futures[0].result()
                futures.popleft()
                futures.extend(map(self._submit, islice(waiting, 1)))
        except BrokenProcessPool as error:
            raise BenchError(
                "a worker process was killed; run the same command again, with more memory free if the system ran out "
                "of it: what was stored so far is kept"
            ) from error

    def _submit(self, job: Callable[[], T]) -> Future[T]:
        with _interrupts_held():  # a job may start another worker
            return self._started().submit(_run, job)

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context(_METHOD)
            context.set_forkserver_preload(_PRELOADED)
            self._others = frozenset(each.pid for each in multiprocessing.active_children())
            self._pool = ProcessPoolExecutor(
                self.workers, mp_context=context, initializer=_begin, initargs=(gc.get_threshold(),)
            )
        return self._pool


IN_PROCESS = InProcess()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back until the block is left: in the middle of a worker's start its server would print a traceback.

    A process that starts in the block never sees Ctrl-C: it inherits the mask. The caller ends it.
    """
    ours = threading.current_thread() is threading.main_thread()
    held: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: held.append(number)) if ours else None
    if _METHOD == "forkserver":
        resource_tracker.ensure_running()  # its start lifts the mask
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if hasattr(signal, "pthread_sigmask") else None
    try:
        yield
    finally:
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if ours:
            signal.signal(signal.SIGINT, before)
    if held:
        signal.raise_signal(signal.SIGINT)


def _begin(threshold: tuple[int, int, int]) -> None:
    """Prepare a worker: Ctrl-C is the caller's to handle, and a worker does not outlive the caller."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(*threshold)
    threading.Thread(target=_end_with_caller, daemon=True).start()


def _leave(*_: object) -> None:
    raise SystemExit(_INTERRUPTED)


def _end_with_caller() -> None:
    caller = multiprocessing.parent_process()
    assert caller is not None
    caller.join()
    os._exit(_INTERRUPTED)


def _run(job: Callable[[], T]) -> T:
    try:
        signal.signal(signal.SIGTERM, _leave)
        return job()
    except SystemExit:  # ended by the caller: what was half-written is removed by now
        os._exit(_INTERRUPTED)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
