"""Jobs for executors: functions of a module that a worker process can import."""

import os
import signal
import time
from pathlib import Path


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


def divide() -> float:
    """An error that is not a user's."""
    return 1 / 0


def kill_oneself() -> None:
    """End the process that this runs in, as a system that is out of memory does."""
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt_and_wait(pid: int) -> None:
    """Ctrl-C for the process that waits for this job."""
    os.kill(pid, signal.SIGINT)
    time.sleep(60)
