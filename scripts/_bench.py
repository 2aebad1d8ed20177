"""Shared by all benchmarks: a row with its bar, the printed table, and the cost of a process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Row(NamedTuple):
    """One figure; `passed` says whether it meets the bar; None without a bar."""

    what: str
    figure: str
    bar: str = ""
    passed: bool | None = None


def print_rows(title: str, rows: Iterable[Row]) -> int:
    """Print a table, and return how many bars were missed."""
    print(f"\n{title}")
    missed = 0
    for row in rows:
        verdict = {True: "holds", False: "MISSED", None: ""}[row.passed]
        missed += row.passed is False
        print(f"  {row.what:66} {row.figure:>22}  {row.bar:14} {verdict}".rstrip())
    return missed


@contextmanager
def one_core() -> Iterator[None]:
    """Give one core to the processes that are started meanwhile, so that each does all its work in one process."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


class Spent(NamedTuple):
    """The cost of a process: seconds by the clock, seconds of processor time, and its peak memory in bytes.

    The last two are those of the process alone: the workers of a pool, which another process starts, do not count.
    """

    wall: float
    busy: float
    peak: int

    @property
    def time(self) -> str:
        """Both times, as a row shows them."""
        return f"{self.wall:.1f} s ({self.busy:.1f} s CPU)"


def spent(*words: str | Path, home: Path | None = None) -> Spent:
    """Run a Python process and return its cost; `home` is the folder of its data."""
    line = [sys.executable, *map(str, words)]
    env = os.environ if home is None else {**os.environ, "REPOEVAL_HOME": str(home)}
    started = time.perf_counter()
    process = subprocess.Popen(line, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    if status:
        # No SystemExit: it would end the process of the benchmark, without naming the command.
        raise RuntimeError(f"{' '.join(line)} failed; run it by hand to see why")
    return Spent(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def command(*words: str | Path, home: Path | None = None) -> Spent:
    """Run a command of `repoeval-bench` as a process and return its cost."""
    return spent("-m", "repoeval_bench", *words, home=home)


def memory(field: str) -> int:
    """Return bytes of this process, by Linux's own count; getrusage would include the parent's peak."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text("ascii").splitlines())
    return int(status[field].split()[0]) * 1024
