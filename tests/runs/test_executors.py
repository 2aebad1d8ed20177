"""Jobs in this process and in a pool of processes: results in order, errors in their place, and no worker left."""

import multiprocessing
import os
import signal
import time
from collections import Counter
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from repoeval_bench.core.errors import BenchError, ChunkError
from repoeval_bench.runs.executors import TRIES, InProcess, ProcessPool
from support import jobs
from support.command import python
from support.planted import compare_in_planted_folder

TESTS = Path(__file__).resolve().parents[1]


def printed(script, **options):
    """What a program of Python prints; it ends well and says nothing on standard error."""
    script = f"import sys\nsys.path.insert(0, {str(TESTS)!r})\n{script}"
    done = python("-c", script, timeout=60, **options)
    assert (done.code, done.err) == (0, "")
    return done.out


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
        result = (pool if workers else InProcess()).map(jobs_)
        assert next(result)[0] == 0
        with pytest.raises(ChunkError, match=r"^r/a\.py: odd$"):
            next(result)


def test_an_error_of_ours_says_where_in_the_worker_it_arose(pool):
    """The worker's traceback is the cause."""
    with pytest.raises(ZeroDivisionError) as error:
        list(pool.map([jobs.divide, jobs.divide]))
    assert "in divide" in str(error.value.__cause__)


@pytest.mark.parametrize("odd", [partial(jobs.OddError, 1, 2), partial(BrokenProcessPool, "of a plug-in's own")])
def test_an_error_that_cannot_travel_is_not_taken_for_a_lost_worker(pool, odd):
    """The job is not tried again, and the error is told with its class."""
    with pytest.raises(BenchError, match=f"^a job failed with {odd.func.__name__}: {odd()}$"):
        list(pool.map([partial(jobs.echo_process, 0), partial(jobs.fail_with, odd)]))


@pytest.mark.parametrize("times", [1, TRIES - 1])
def test_the_job_of_a_killed_worker_is_tried_again(pool, tmp_path, times):
    """In a new pool, with the results in their order; a job that was beside it is begun twice at most."""
    (tmp_path / "killed").mkdir()
    (tmp_path / "noted").mkdir()
    jobs_ = [partial(jobs.note, i, tmp_path / "noted") for i in range(30)]
    jobs_[7] = partial(jobs.kill_oneself, tmp_path / "killed", times)
    assert list(pool.map(jobs_)) == [*range(7), times, *range(8, 30)]
    begun = Counter(path.name.partition("-")[0] for path in (tmp_path / "noted").iterdir())
    assert len(begun) == 29
    assert max(begun.values()) <= 2


def test_a_worker_that_is_lost_while_another_starts_loses_nothing(pool, monkeypatch):
    """The pool closes its queues under the one that is starting."""
    spawn, killed = ProcessPoolExecutor._spawn_process, []

    def spawn_late(executor):
        if len(executor._processes) == 1 and not killed:
            killed.extend(executor._processes)
            os.kill(killed[0], signal.SIGKILL)
            until = time.monotonic() + 1  # Python 3.11.2 sets it only after the submission
            while not executor._broken and time.monotonic() < until:
                time.sleep(0.01)
            time.sleep(0.2)
        return spawn(executor)

    monkeypatch.setattr(ProcessPoolExecutor, "_spawn_process", spawn_late)
    assert [result for result, _ in pool.map([partial(jobs.echo_process, i) for i in range(5)])] == [0, 1, 2, 3, 4]
    assert killed


def test_a_job_whose_worker_is_killed_each_time_fails_alone(tmp_path):
    """It is begun so often, two such jobs too; all others are done, and no process is left."""
    before = set(multiprocessing.active_children())
    for name in "ab":
        (tmp_path / name).mkdir()
    jobs_ = [partial(jobs.echo_process, i) for i in range(12)]
    jobs_[0], jobs_[1] = (partial(jobs.kill_oneself, tmp_path / name) for name in "ab")
    with ProcessPool(2, failed=str) as pool:
        result = list(pool.map(jobs_))
    assert all("its worker process was killed 5 times" in reason for reason in result[:2])
    assert [i for i, _ in result[2:]] == list(range(2, 12))
    assert all(TRIES <= len(list((tmp_path / name).iterdir())) <= TRIES + 1 for name in "ab")
    assert set(multiprocessing.active_children()) == before


def test_without_another_result_it_is_one_sentence(pool, tmp_path):
    """In the job's place; what was done before is given."""
    result = pool.map([partial(jobs.echo_process, 0), partial(jobs.kill_oneself, tmp_path)])
    assert next(result)[0] == 0
    with pytest.raises(BenchError, match="a job failed: its worker process was killed 5 times.* give it more memory"):
        next(result)


def test_a_killed_worker_leaves_nothing_behind_that_is_told(tmp_path):
    """Not by Python either, when the command ends."""
    script = f"""
from functools import partial
from pathlib import Path
from repoeval_bench.runs.executors import ProcessPool
from support.jobs import kill_oneself_behind_a_bar
if __name__ == "__main__":
    with ProcessPool(2) as pool:
        print(list(pool.map([partial(kill_oneself_behind_a_bar, Path({str(tmp_path)!r})), partial(abs, -2)])))
"""
    assert printed(script) == "[1, 2]\n"


def test_workers_that_are_killed_before_they_begin_are_one_sentence(tmp_path):
    """Such as where the memory is too small for any."""
    script = f"""
import os, signal, sys
from functools import partial
sys.path.insert(0, {str(TESTS)!r})
if __name__ != "__main__":
    os.kill(os.getpid(), signal.SIGKILL)
from repoeval_bench.runs import executors
from support.jobs import echo_process
executors._METHOD = "spawn"
with executors.ProcessPool(2) as pool:
    try:
        list(pool.map([partial(echo_process, i) for i in range(3)]))
    except executors.BenchError as error:
        print(error)
"""
    (tmp_path / "killed.py").write_text(script)
    done = python(tmp_path / "killed.py", timeout=60)
    assert "a job failed: its worker process was killed 5 times" in done.out, done.err
    assert "__main__" in done.out


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


@pytest.mark.parametrize("job", ["interrupt_and_wait", "interrupt_and_be_deaf"])
def test_an_interrupt_ends_the_workers_too(tmp_path, job):
    """Ctrl-C ends all workers silently, and removes what they had begun to write."""
    script = f"""
import multiprocessing, os
from functools import partial
from pathlib import Path
from repoeval_bench.runs.executors import ProcessPool
from support.jobs import {job}, echo_process
if __name__ == "__main__":
    try:
        with ProcessPool(2) as pool:
            folder = Path({str(tmp_path)!r})
            list(pool.map([partial({job}, os.getpid(), folder), partial(echo_process, 1), partial(echo_process, 2)]))
    except KeyboardInterrupt:
        print("interrupted", multiprocessing.active_children(), (folder / "begun").exists())
"""
    assert printed(script) == "interrupted [] False\n"


def test_an_interrupt_while_workers_start_is_silent():
    """Ctrl-C reaches a whole process group: neither the server of the workers nor a half-started one says anything."""
    script = """
import multiprocessing, os, signal, threading, time
from functools import partial
from repoeval_bench.runs.executors import ProcessPool
if __name__ == "__main__":
    for delay in range(0, 60, 5):
        try:
            threading.Timer(delay / 1000, partial(os.killpg, 0, signal.SIGINT)).start()
            with ProcessPool(2) as pool:
                list(pool.map([partial(time.sleep, 5)] * 99))
        except KeyboardInterrupt:
            print(len(multiprocessing.active_children()), end="")
"""
    assert printed(script, start_new_session=True) == "0" * 12


def test_no_file_of_the_current_folder_is_run(tmp_path: Path) -> None:
    """It may be the code to chunk: a file in it that is called as a module of Python is a text, to workers too."""
    done, ran = compare_in_planted_folder(tmp_path, "local:2")
    assert done.code == 0, done.err
    assert ran == ""
