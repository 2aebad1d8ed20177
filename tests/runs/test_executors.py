"""Jobs in this process and in a pool of processes: results in order, errors in their place, and no worker left."""

import multiprocessing
import os
import signal
import time
from functools import partial
from multiprocessing import forkserver
from pathlib import Path

import pytest

from repoeval_bench.core.errors import BenchError, ChunkError
from repoeval_bench.runs import executors
from repoeval_bench.runs.executors import IN_PROCESS, ProcessPool
from support import jobs
from support.command import python
from support.killer import wait_until
from support.planted import compare_in_planted_folder

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture
def pool():
    before = set(multiprocessing.active_children())
    with ProcessPool(2) as executor:
        yield executor
    assert set(multiprocessing.active_children()) == before


def test_results_come_in_the_order_of_the_jobs_from_two_processes(pool, tmp_path):
    """Each worker takes the next job when it is free; no job runs in this process."""
    result = list(pool.map([partial(jobs.echo_process, i, tmp_path) for i in range(5)]))
    assert [i for i, _ in result] == [0, 1, 2, 3, 4]
    processes = {pid for _, pid in result}
    assert len(processes) == 2
    assert os.getpid() not in processes
    again = {pid for _, pid in pool.map([partial(jobs.echo_process, i) for i in range(2)])}
    assert again <= processes  # they are there for the next jobs


@pytest.mark.parametrize("workers", [None, 2])
def test_an_error_is_raised_in_its_place(workers):
    """What was done before it is given first; a user's mistake is as it was."""
    jobs_ = [
        partial(jobs.echo_process, 0),
        partial(jobs.fail, ChunkError("r/a.py: odd")),
        partial(jobs.echo_process, 2),
    ]
    with ProcessPool(workers) as pool:
        result = (pool if workers else IN_PROCESS).map(jobs_)
        assert next(result)[0] == 0
        with pytest.raises(ChunkError, match=r"^r/a\.py: odd$"):
            next(result)


def test_an_error_of_ours_says_where_in_the_worker_it_arose(pool):
    """The worker's traceback is the cause."""
    with pytest.raises(ZeroDivisionError) as error:
        list(pool.map([jobs.divide, jobs.divide]))
    assert "in divide" in str(error.value.__cause__)


def test_a_killed_worker_ends_the_command_in_one_sentence(pool):
    jobs_ = [partial(jobs.echo_process, 0), jobs.kill_oneself, partial(jobs.echo_process, 2)]
    with pytest.raises(BenchError, match=r"^a worker process was killed.* run the same command again"):
        list(pool.map(jobs_))


def test_no_job_begins_before_all_are_submitted(pool):
    """A worker that was killed while another was being started let the pool fail, or wait for ever."""
    last = 0.0

    class Slow(list):
        def __iter__(self):
            nonlocal last
            for job in super().__iter__():
                yield job
                time.sleep(0.4)
            last = time.monotonic()

    assert min(pool.map(Slow([time.monotonic] * 3))) > last


def test_one_job_or_one_core_needs_no_worker():
    """Then each job is done here, when its result is asked for."""
    with ProcessPool(2) as pool, ProcessPool(1) as single:
        assert list(pool.map([partial(jobs.echo_process, 0)])) == [(0, os.getpid())]
        ran = []
        result = single.map([partial(ran.append, 1), partial(ran.append, 2)])
        next(result)
        assert ran == [1]
        next(result)
        assert ran == [1, 2]


def test_an_interrupt_ends_the_workers_too():
    """Ctrl-C ends all workers silently."""
    script = """
import multiprocessing, os
from functools import partial
from repoeval_bench.runs.executors import ProcessPool
from support.jobs import interrupt_and_wait
if __name__ == "__main__":
    try:
        with ProcessPool(2) as pool:
            list(pool.map([partial(interrupt_and_wait, os.getpid())] * 3))
    except KeyboardInterrupt:
        print("interrupted", multiprocessing.active_children())
"""
    script = f"import sys\nsys.path.insert(0, {str(TESTS)!r})\n{script}"
    done = python("-c", script, timeout=60)
    assert (done.code, done.out, done.err) == (0, "interrupted []\n", "")


def test_an_interrupt_while_the_server_starts_is_not_lost(monkeypatch):
    """Its imports take seconds, in which it is not to be ended by Ctrl-C; the caller is, when it runs."""
    monkeypatch.setattr(forkserver, "ensure_running", lambda: os.kill(os.getpid(), signal.SIGINT))
    monkeypatch.setattr(executors, "usable_cores", lambda: 2)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # nohup has Ctrl-C ignored
    with pytest.raises(KeyboardInterrupt):
        executors.start_server(())
    signal.signal(signal.SIGINT, before)


def test_workers_end_with_a_killed_caller():
    script = """
import os, signal
from repoeval_bench.runs.executors import ProcessPool
from support.jobs import echo_process
from functools import partial
if __name__ == "__main__":
    with ProcessPool(2) as pool:
        print(*{pid for _, pid in pool.map([partial(echo_process, i) for i in range(4)])}, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""
    done = python("-c", f"import sys\nsys.path.insert(0, {str(TESTS)!r})\n{script}", timeout=60)
    workers = [Path("/proc", pid) for pid in done.out.split()]
    assert workers
    wait_until(lambda: not any(worker.exists() for worker in workers), "the end of the workers")


def test_no_file_of_the_current_folder_is_run(tmp_path: Path) -> None:
    """It may be the code to chunk: a file in it that is called as a module of Python is a text, to workers too."""
    done, ran = compare_in_planted_folder(tmp_path, "local:2")
    assert done.code == 0, done.err
    assert ran == ""
