"""Work shared out to copies of the process: results in order, errors in their place, and no copy where it is unsafe."""

import subprocess
import sys
import threading
from functools import partial

import pytest

from repoeval_bench.core.errors import ChunkError
from repoeval_bench.core.progress import progress
from repoeval_bench.runs.executors import share_out
from support.command import heed_interrupts

# Beside the threads of a test runner nothing is copied, so that what is about copies runs in a process of its own.
BEGIN = """
import os, signal, sys, time
from functools import partial
from repoeval_bench.runs import executors as forked
from repoeval_bench.core.errors import BenchError, ChunkError
forked._cores = lambda: 2
parent = os.getpid()

def job(i, act=lambda: None):
    time.sleep(0.1)
    if os.getpid() != parent:
        act()
    return i, os.getpid()

def fail(error):
    raise error
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux only")


def run(script):
    """(exit code, standard output, standard error) of a script in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + script], capture_output=True, text=True, timeout=60, check=False,
        preexec_fn=heed_interrupts,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_results_come_in_the_order_of_the_jobs_from_two_processes():
    """Each takes the next job when it is free."""
    code, out, err = run("print(*forked.share_out([partial(job, i) for i in range(5)]))")
    assert code == 0, err
    found = [pair.strip("()").split(", ") for pair in out.strip().split(") (")]
    assert [i for i, _ in found] == ["0", "1", "2", "3", "4"]
    assert len({pid for _, pid in found}) == 2


def test_an_error_of_a_copy_is_raised_here_with_where_it_arose():
    """A user's mistake as it is; any other with the copy's traceback in its notes."""
    code, _, err = run("list(forked.share_out([partial(job, i, partial(fail, ChunkError('odd'))) for i in (1, 2)]))")
    assert code == 1
    assert err.endswith("ChunkError: odd\n")
    code, _, err = run("list(forked.share_out([partial(job, i, lambda: 1 / 0) for i in (1, 2)]))")
    assert code == 1
    assert "in act" in err or "in job" in err


def test_a_copy_that_is_killed_is_an_error():
    """Nothing is taken for done, and one sentence says what to do."""
    kill = "lambda: os.kill(os.getpid(), 9)"
    code, _, err = run(f"list(forked.share_out([partial(job, i, {kill}) for i in (1, 2)]))")
    assert code == 1
    assert "BenchError: a copy of this process that did part of the work was ended from outside" in err


def test_an_interrupt_ends_the_copies_too():
    """Ctrl-C here leaves none of them at work, and none says a word."""
    interrupt = """
first = lambda: os.kill(parent, signal.SIGINT) or time.sleep(30)
try:
    list(forked.share_out([partial(job, i, first) for i in range(4)] + [partial(time.sleep, 30)]))
except KeyboardInterrupt:
    import multiprocessing
    print("interrupted", multiprocessing.active_children())
"""
    assert run(interrupt) == (0, "interrupted []\n", "")


def test_what_is_to_be_done_meanwhile_is_done_here_once_copies_are_at_work():
    """And not where there are none."""
    code, out, err = run("""
jobs = [partial(job, i) for i in range(3)]
list(forked.share_out(jobs, meanwhile=lambda: print("here", os.getpid() == parent)))
list(forked.share_out(jobs, meanwhile=lambda: print("not"), copies=False))
""")
    assert (code, out) == (0, "here True\n"), err


@pytest.mark.parametrize("copies", [True, False])
def test_an_error_is_raised_in_its_place(copies):
    """What was done before it is given first."""

    def fail():
        raise ChunkError("r/a.py: odd")

    found = share_out([lambda: 0, fail, lambda: 2], copies=copies)
    assert next(found) == 0
    with pytest.raises(ChunkError, match="odd"):
        next(found)


def test_beside_a_thread_nothing_is_copied():
    """A copy would lack the thread, and may wait for what it holds: the jobs run here, each when it is asked for."""
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        ran = []
        jobs = share_out([partial(ran.append, 1), partial(ran.append, 2)])
        next(jobs)
        assert ran == [1]
        next(jobs)
        assert ran == [1, 2]
    finally:
        done.set()
        thread.join()


def test_a_bar_leaves_no_thread_behind():
    """A thread that watches over bars would keep every process from being copied."""
    before = threading.active_count()
    assert list(progress(range(3), desc="count", unit="numbers")) == [0, 1, 2]
    assert threading.active_count() == before
