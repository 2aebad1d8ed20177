"""Runs as jobs: what one process writes, and an error that ends its run alone."""

import os
import signal
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from repoeval_bench.core.errors import BenchError, ResultError, UsageError
from repoeval_bench.runs.executors import IN_PROCESS, ProcessPool
from repoeval_bench.runs.jobs import CodeStamp, Workers, choose_executor
from repoeval_bench.runs.request import ExecutionRequest, RunRequest
from repoeval_bench.runs.runner import Runner
from support.folders import content
from support.killer import children, wait_until

CHUNKERS = ("fixed:max_nws=400", "ast:max_nws=400")
BROKEN = """
from repoeval_bench import make_chunker

class Cutter:
    spec = "py:{name}:Cutter"

    def chunk(self, file):
        if file.path == "setup.py":
            raise {error}
        return make_chunker("file").chunk(file)
"""


def requests(places, chunkers=CHUNKERS, **given):
    return [
        RunRequest(chunker=chunker, source=places["source"], protocol=protocol, **{"retriever": "bm25", **given})
        for protocol in ("context", "body")
        for chunker in chunkers
    ]


def runs_of(places, requested, out, executor=IN_PROCESS, **options):
    """(the jobs, the runs of each setting in turn)."""
    jobs = Runner(requested, executor=Workers(executor), out=out, home=places["home"], **options)
    return jobs, [jobs.run(setting) for setting in jobs.settings]


@pytest.mark.parametrize("embedder", ["none", "hash"])
def test_jobs_of_a_pool_write_what_one_process_writes(places, tmp_path, embedder):
    """The same bytes in every file but the times, and nothing else in the folder; with and without vectors."""
    requested = requests(places, **({} if embedder == "none" else {"retriever": "hybrid", "embedder": embedder}))
    with ProcessPool(2) as pool:
        jobs, shared = runs_of(places, requested, tmp_path / "jobs", pool)
    jobs.check()
    experiment = Runner(requested, out=tmp_path / "alone", home=places["home"])
    alone = [experiment.run(setting) for setting in experiment.settings]
    assert [[run.run_id for run in runs] for runs in shared] == [[run.run_id for run in runs] for runs in alone]
    assert content(tmp_path / "jobs") == content(tmp_path / "alone")
    assert len(list((tmp_path / "jobs").iterdir())) == len(requested)


def test_the_same_command_goes_on_after_a_killed_worker(places, tmp_path):
    """Finished runs are stored; the second call makes the missing ones, with the bytes of one process."""
    requested = requests(places, (*CHUNKERS, "window:lines=8,step=4"))
    runs_of(places, requested, tmp_path / "alone")
    stored = list((tmp_path / "alone").iterdir())

    def finished():
        return [*(tmp_path / "out").glob("[!.]*/manifest.json")]

    def kill():
        wait_until(finished, "a finished run")
        os.kill(children(children([os.getpid()], "forkserver"))[0], signal.SIGKILL)

    with ProcessPool(2) as pool:
        killer = threading.Thread(target=kill)
        killer.start()
        with suppress(BenchError):  # the last job may be done before
            runs_of(places, requested, tmp_path / "out", pool)
        killer.join()
    assert finished()
    with ProcessPool(2) as pool:
        runs_of(places, requested, tmp_path / "out", pool)
    assert len(finished()) == len(stored)
    assert content(tmp_path / "out") == content(tmp_path / "alone")


@pytest.mark.parametrize("error", ["ValueError('odd')", "SystemError('odd')"])
def test_an_error_ends_its_run_alone_and_is_listed(places, tmp_path, monkeypatch, error):
    """Both settings lack the run of the broken chunker, and each says how its file is left out."""
    (tmp_path / "wrong.py").write_text(BROKEN.format(name="wrong", error=error))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    requested = requests(places, ("fixed:max_nws=400", "py:wrong:Cutter", "ast:max_nws=400"))
    jobs, runs = runs_of(places, requested, Path("out"))
    assert [[run is None for run in item] for item in runs] == [[False, True, False]] * 2
    with pytest.raises(ResultError) as message:
        jobs.check()
    sentence = str(message.value)
    assert sentence.startswith("2 of 6 runs failed; the same command tries them again:\n")
    assert sentence.count("odd") == 2
    assert sentence.count("--set skip_errors=true") == 2


def test_stored_runs_are_found_again(places, tmp_path, clean):
    """The same jobs once more write nothing; a run that is lost alone is made again."""
    requested = requests(places)
    _, first = runs_of(places, requested, tmp_path)
    lost = first[0][0].folder
    times = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/*") if path.parent != lost}
    before = content(tmp_path)
    (lost / "manifest.json").unlink()
    runs_of(places, requested, tmp_path)
    assert content(tmp_path) == before
    assert {path: path.stat().st_mtime_ns for path in times} == times


def test_two_drivers_at_once_leave_whole_runs(places, tmp_path, clean):
    """Overlapping experiments in one folder: both have all their runs, and the folder holds each once."""
    result, errors = {}, []

    def drive(name, chunkers):
        try:
            jobs, result[name] = runs_of(places, requests(places, chunkers), tmp_path / "both")
            jobs.check()
        except BaseException as error:
            errors.append(error)

    three = (*CHUNKERS, "window:lines=8,step=4")
    drivers = [threading.Thread(target=drive, args=folder) for folder in (("a", three), ("b", three[::-1]))]
    for driver in drivers:
        driver.start()
    for driver in drivers:
        driver.join()
    assert errors == []
    ids = [{run.run_id for runs in result[name] for run in runs} for name in "ab"]
    assert ids[0] == ids[1] == {path.name for path in (tmp_path / "both").iterdir()}
    runs_of(places, requests(places, three), tmp_path / "alone")
    assert content(tmp_path / "both") == content(tmp_path / "alone")


def test_a_worker_with_other_packages_is_refused():
    """Runs of two kinds of code would be mixed; the sentence names what to install where."""
    there = CodeStamp.here()
    there.check()
    other = replace(there, versions={**there.versions, "numpy": "0.9", "scipy": None})
    with pytest.raises(BenchError, match=r"has numpy \S+ instead of 0\.9, scipy \S+ instead of None; install the same"):
        other.check()
    with pytest.raises(BenchError, match=r"has other code; install the same there"):
        replace(there, digest="0" * 64).check()


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("local", "give a number of processes, such as local:4"),
        ("local:0", "give a number of processes"),
        ("lokal:2", "unknown executor 'lokal'; did you mean 'local'"),
    ],
)
def test_what_is_not_an_executor_is_refused(named, message):
    with pytest.raises(UsageError, match=message):
        choose_executor(ExecutionRequest(executor=named))


def test_mistakes_in_requests_are_told_before_the_first_job(places, tmp_path):
    """All at once, as an experiment does it."""
    requested = requests(places, ("asst", "fixed:max_nws=0"))
    with pytest.raises(UsageError, match=r"(?s)asst.*max_nws"):
        Runner(requested, executor=Workers(IN_PROCESS), out=tmp_path)
    assert list(tmp_path.iterdir()) == []
