"""Jobs for executors: functions of a module that a worker process can import."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from repoeval_bench.core.progress import progress


def echo_process(i: int, folder: Path | None = None) -> tuple[int, int]:
    """The number and the process that this ran in; with a folder, once another process is in the same job's function."""
    if folder is not None:
        (folder / str(os.getpid())).touch()
        deadline = time.monotonic() + 60
        while len(list(folder.iterdir())) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    return i, os.getpid()


def fail(error: Exception) -> None:
    """Raise it."""
    raise error


class OddError(Exception):
    """One of the many that cannot be made again of their text alone."""

    def __init__(self, first: object, second: object) -> None:
        super().__init__(f"{first} and {second}")


def fail_with(error: Callable[[], Exception]) -> None:
    """Raise an error that is made in the worker."""
    raise error()


def divide() -> float:
    """An error that is not a user's."""
    return 1 / 0


def kill_oneself(folder: Path, times: int | None = None) -> int:
    """End the process that this runs in, as a system that is out of memory does, each time or so often.

    What is left is the file of each attempt in the folder; their number is given in the end.
    """
    attempts = len(list(folder.iterdir()))
    if times is not None and attempts == times:
        return attempts
    (folder / str(attempts)).touch()
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def kill_oneself_behind_a_bar(folder: Path) -> int:
    """The same, once, after a bar was made, as most jobs make one."""
    with progress(desc="a bar", unit="steps", total=1) as bar:
        bar.update()
    return kill_oneself(folder, 1)


def note(i: int, folder: Path) -> int:
    """The number; each attempt leaves a file of its own."""
    (folder / f"{i}-{os.getpid()}").touch()
    time.sleep(0.01)
    return i


def interrupt_and_wait(pid: int, folder: Path) -> None:
    """Ctrl-C for the process that waits for this job; what is begun is removed when this one is ended."""
    begun = folder / "begun"
    begun.touch()
    try:
        os.kill(pid, signal.SIGINT)
        time.sleep(60)
    finally:
        begun.unlink()


class Sleeper:
    """An object at whose end Python sleeps, and ignores exceptions."""

    def __del__(self) -> None:
        time.sleep(60)


def interrupt_and_be_deaf(pid: int, folder: Path) -> None:
    """As `interrupt_and_wait`, and Python ignores the exception that ends this process."""
    begun = folder / "begun"
    begun.touch()
    try:
        os.kill(pid, signal.SIGINT)
        Sleeper()
        time.sleep(60)
    finally:
        begun.unlink()
