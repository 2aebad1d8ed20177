"""A disk that is full or may not be written: runs fail in one sentence each, nothing broken is left, others go on."""

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.runs.executors import IN_PROCESS, ProcessPool
from repoeval_bench.runs.jobs import Workers
from repoeval_bench.runs.request import RunRequest
from repoeval_bench.runs.runner import Runner
from support.disks import tmpfs
from support.folders import content

CHUNKERS = ("fixed:max_nws=400", "ast:max_nws=400", "window:lines=8,step=4")


@pytest.fixture
def disk(tmp_path):
    """A disk of 8 MiB of a machine's own, without a free byte."""
    with tmpfs(tmp_path / "disk", "size=8m") as disk:
        fill(disk)
        yield disk


def fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as stream, suppress(OSError):
        while True:
            stream.write(os.urandom(4096))
    assert os.statvfs(disk).f_bavail == 0


def jobs_of(places, out, executor=IN_PROCESS, home=None, **options):
    requests = [
        RunRequest(chunker=chunker, source=places["source"], **{"retriever": "bm25", **options}) for chunker in CHUNKERS
    ]
    return Runner(requests, executor=Workers(executor), out=out, home=home or places["home"])


def runs_of(jobs):
    return [run for setting in jobs.settings for run in jobs.run(setting)]


def test_a_full_disk_for_results_is_told_before_the_first_job(places, disk):
    """Nothing is computed for nothing."""
    with pytest.raises(UsageError, match=r"out cannot be written"):
        jobs_of(places, disk / "out")


@pytest.mark.parametrize("executor", [IN_PROCESS, ProcessPool(2)], ids=["here", "pool"])
def test_a_disk_that_fills_up_fails_its_runs_and_keeps_no_half_of_one(places, disk, tmp_path, executor):
    """Each in one sentence; with room again the same command makes them."""
    (disk / "filler").unlink()
    full = jobs_of(places, disk / "out", executor)
    fill(disk)
    assert runs_of(full) == [None] * 3
    with pytest.raises(ResultError, match="3 of 3 runs failed") as raised:
        full.check()
    assert str(raised.value).count("No space left") == 3
    assert [path for path in disk.rglob("*") if path.name not in {"filler", "out"}] == []
    (disk / "filler").unlink()
    runs_of(jobs_of(places, disk / "out", executor))
    runs_of(jobs_of(places, tmp_path / "alone"))
    assert content(disk / "out") == content(tmp_path / "alone")


def test_a_full_disk_under_the_vector_cache_fails_its_runs_alone(places, disk, tmp_path):
    """Runs without vectors are made; the others say what is full, and are made when there is room."""
    (disk / "filler").unlink()
    home = disk / "home"
    assert None not in runs_of(jobs_of(places, tmp_path / "out", home=home))  # the data is there
    fill(disk)
    assert None not in runs_of(jobs_of(places, tmp_path / "again", home=home))
    dense = {"retriever": "dense", "embedder": "hash"}
    full = jobs_of(places, tmp_path / "out", home=home, **dense)
    assert runs_of(full) == [None] * 3
    with pytest.raises(ResultError, match="disk is full; set REPOEVAL_HOME"):
        full.check()
    (disk / "filler").unlink()
    runs_of(jobs_of(places, tmp_path / "dense", home=home, **dense))
    runs_of(jobs_of(places, tmp_path / "alone", **dense))
    assert content(tmp_path / "dense") == content(tmp_path / "alone")


def test_a_vector_cache_that_may_not_be_written_is_one_sentence(places, tmp_path):
    """Its file system is mounted without the right to write."""
    home = tmp_path / "home"
    with tmpfs(home / "vectors", "size=8m") as vectors:
        subprocess.run(["mount", "-o", "remount,ro", vectors], check=True)
        closed = jobs_of(places, tmp_path / "out", home=home, retriever="dense", embedder="hash")
        assert runs_of(closed) == [None] * 3
        with pytest.raises(ResultError, match="set REPOEVAL_HOME to a folder that can be written"):
            closed.check()
