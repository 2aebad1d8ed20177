"""Work shared out to copies of this process, one for each further core.

A copy has all that is at hand here, made in milliseconds; what comes back is what its jobs return. Where a process
cannot be copied safely (another system than Linux, threads at work, a library in use that keeps threads of its own)
the jobs run here, one after another, with the same results.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
import warnings
from multiprocessing import get_context, parent_process
from typing import TYPE_CHECKING, TypeVar

from repoeval_bench.core.errors import BenchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkProcess

T = TypeVar("T")

_THREADED = frozenset({"faiss", "onnxruntime", "sklearn", "tokenizers", "torch"})
"""Libraries whose threads a copy lacks, and may wait for."""

_TOKEN_BYTES = 4

_INTERRUPTED = 130


def share_out(
    jobs: Sequence[Callable[[], T]], *, copies: bool = True, meanwhile: Callable[[], object] | None = None
) -> Iterator[T]:
    """What each job returns, in their order; here and in copies of this process, as many at once as there are cores.

    An error of a job is raised in its place. Without `copies`, and where nothing can be copied, each job is done when
    its result is asked for. `meanwhile` is done here before anything else once copies are at work, and not otherwise.
    """
    n_copies = min(len(jobs), _cores()) - 1
    if not copies or n_copies < 1 or not _can_copy():
        for job in jobs:
            yield job()
        return
    for done in _share_out(jobs, n_copies, meanwhile):
        if isinstance(done, BaseException):
            raise done
        yield done


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def _can_copy() -> bool:
    return (
        sys.platform == "linux"
        and parent_process() is None
        and threading.active_count() == 1
        and _THREADED.isdisjoint(sys.modules)
    )


def _share_out(
    jobs: Sequence[Callable[[], T]], n_copies: int, meanwhile: Callable[[], object] | None
) -> list[T | BaseException]:
    """A job's result or its error, for each job."""
    # Whoever is free takes the next number out of the pipe: so a long job keeps nobody waiting.
    take, give = os.pipe()
    os.write(give, b"".join(i.to_bytes(_TOKEN_BYTES) for i in range(len(jobs))))
    os.close(give)

    def work() -> dict[int, T | BaseException]:
        done: dict[int, T | BaseException] = {}
        while token := os.read(take, _TOKEN_BYTES):
            number = int.from_bytes(token)
            try:
                done[number] = jobs[number]()
            except Exception as error:  # noqa: BLE001 - raised by whoever asks for the result
                done[number] = error
        return done

    copies: list[tuple[ForkProcess, Connection]] = []
    try:
        for _ in range(n_copies):
            copies.append(_copy(work))  # noqa: PERF401 - those that were started are ended where a later one fails
        if meanwhile:
            meanwhile()
        done = work()
        for process, results in copies:
            try:
                done.update(results.recv())
            except EOFError as error:
                process.join()
                if process.exitcode == _INTERRUPTED:  # and the interrupt was lost here, as in imports that catch all
                    raise KeyboardInterrupt from error
                raise BenchError(
                    "a copy of this process that did part of the work was ended from outside; run the same command "
                    "again, with more memory free if the system ran out of it"
                ) from error
    except BaseException:
        for process, _ in copies:
            process.terminate()
        raise
    finally:
        os.close(take)
        for process, results in copies:
            process.join()
            results.close()
    return [done[i] for i in range(len(jobs))]


def _copy(work: Callable[[], object]) -> tuple[ForkProcess, Connection]:
    context = get_context("fork")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_in_copy, args=(work, send), daemon=True)
    with warnings.catch_warnings():
        # Of threads: there are none but those of numpy's products, which know of copies.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    send.close()
    return process, receive


def _in_copy(work: Callable[[], dict[int, object]], send: Connection) -> None:
    # So that what is half-written is removed; an interrupt may be ignored, as it is behind a shell's `&`.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        done = work()
        for error in done.values():
            if isinstance(error, Exception) and not isinstance(error, BenchError):
                error.add_note("".join(traceback.format_exception(error)))
        send.send(done)
    except (KeyboardInterrupt, BrokenPipeError):  # the process that this is a copy of is ending, and says so
        os._exit(_INTERRUPTED)
