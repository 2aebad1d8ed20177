"""Measure the overhead of a job, the use of two workers, and the memory of the waiting command.

Simulated jobs return the result of a run's job, after no work or a given amount of it. With a source, real jobs follow
on the real data: the same runs together and as jobs.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _bench import Row, memory

from repoeval_bench.runs.executors import IN_PROCESS, ProcessPool
from repoeval_bench.runs.jobs import Workers
from repoeval_bench.runs.request import RunRequest
from repoeval_bench.runs.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

JOBS = 200
LOOPS = 600_000
"""Loops of a simulated job that works: about a fiftieth of a second."""

ROUNDS = 3
"""Measurements; the best counts, because other programs can only slow it."""

FEW, MANY = 100, 10_000


@dataclass(frozen=True)
class Worked:
    """The result of a job: the id of a run, the time it took, and the peak memory of its process."""

    run_id: str
    seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class Simulated:
    """A job with a given amount of work and a result of the usual size."""

    number: int
    loops: int = 0
    needs_model: bool = False

    def __call__(self, _placed: object = None) -> Worked:
        """Work, and return the id of a run."""
        started = time.perf_counter()
        total = 0
        for step in range(self.loops):
            total += step
        run_id = f"simulated-{self.number:05}_context_bm25-{total % 1000:08}"
        return Worked(run_id, time.perf_counter() - started, memory("VmHWM"))


def ray_on(cores: int) -> AbstractContextManager[Any]:
    """Return Ray on this machine."""
    from repoeval_bench.plugins.cluster.ray_executor import RayCluster

    return RayCluster(cores=cores)


def timed(executor: Any, number: int, loops: int = 0) -> tuple[float, list[Worked]]:
    """Return the seconds and the results of `number` jobs."""
    started = time.perf_counter()
    results = list(executor.map([Simulated(i, loops) for i in range(number)]))
    assert len({result.run_id for result in results}) == number, "each job once"
    return time.perf_counter() - started, results


def executor_rows(name: str, on: Callable[[int], AbstractContextManager[Any]], most: int, rounds: int) -> list[Row]:
    """Measure start, overhead, efficiency and memory of an executor; it gets up to `most` jobs at once."""
    began = time.perf_counter()
    with on(2) as two:
        timed(two, 4)
        ready = time.perf_counter() - began
        empty = statistics.median(timed(two, JOBS)[0] for _ in range(3)) / JOBS
        few, many = (_memory_after(two, number) for number in (FEW, most))
        shares = []
        for _ in range(rounds):
            wall, results = timed(two, JOBS, LOOPS)
            shares.append(sum(result.seconds for result in results) / 2 / wall)
    worker = max(result.peak_bytes for result in results) / 2**20
    return [
        Row(f"{name}: ready, with its workers", f"{ready:.1f} s"),
        Row(f"{name}: a job that does nothing, {JOBS} jobs", f"{1000 * empty:.1f} ms", "< 20 ms", empty < 0.02),
        Row(f"{name}: of two workers' time, the share in jobs", f"{max(shares):.2f}", ">= 0.8", max(shares) >= 0.8),
        Row(
            f"{name}: memory of the command, {FEW} -> {most:,} jobs",
            f"{few / 2**20:.0f} -> {many / 2**20:.0f} MiB",
            "< 1.2 x",
            many < 1.2 * few,
        ),
        Row(f"{name}: memory of a worker that has done nothing", f"{worker:.0f} MiB"),
    ]


def _memory_after(executor: Any, number: int) -> int:
    """Return the bytes of this process after `number` jobs."""
    for _ in executor.map([Simulated(i) for i in range(number)]):
        pass
    return memory("VmRSS")


def real_rows(source: str) -> list[Row]:
    """Make the same runs together and as jobs, all in this process, without and with (hashed) vectors."""
    requests = [
        RunRequest(chunker=chunker, protocol=protocol, retriever=retriever, source=source, embedder="hash")
        for protocol, retriever, chunker in product(("context", "body"), ("bm25", "dense"), ("ast", "fixed"))
    ]
    seconds = {}
    with tempfile.TemporaryDirectory() as name:
        home = Path(name) / "home"
        for method in ("first", "together", "jobs"):
            out = Path(name) / method
            started = time.perf_counter()
            executor = Workers(IN_PROCESS) if method == "jobs" else IN_PROCESS
            runner = Runner(requests, executor=executor, out=out, home=home)
            for setting in runner.settings:
                runner.run(setting)
            seconds[method] = time.perf_counter() - started
            shutil.rmtree(out)
    ratio = seconds["jobs"] / seconds["together"]
    return [
        Row(
            f"{len(requests)} runs as jobs in one process / the same together",
            f"{ratio:.2f} ({seconds['jobs'] / len(requests):.2f} s a run)",
            "< 1.2",
            ratio < 1.2,
        ),
    ]


def rows(source: str | None = None, *, most: int = MANY, rounds: int = ROUNDS) -> list[Row]:
    """Every figure with its bar."""
    table = real_rows(source) if source else []
    table += executor_rows("local", ProcessPool, most, rounds)
    if find_spec("ray") is not None:
        table += executor_rows("ray", ray_on, most, rounds)
    return table
