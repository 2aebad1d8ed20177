"""Files are written whole or not at all, and what a killed process left is removed by the next one."""

import hashlib
import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from repoeval_bench.core.files import (
    check_writable,
    folder_beside,
    sha256_file,
    sha256_unchanged,
    share_bytes,
    sweep,
    work_folder,
    write_atomic,
)
from support.command import bench

HALF_WAY = """
import sys, time
from pathlib import Path
from repoeval_bench.core.files import folder_beside, write_atomic

def pieces():
    yield "half"
    print("ready", flush=True)
    time.sleep(600)

with folder_beside(Path(sys.argv[1]) / "made") as folder:
    (folder / "half").write_text("x")
    write_atomic(Path(sys.argv[1]) / "a.json", pieces())
"""


@contextmanager
def writing(folder):
    """A process half-way through a file and a folder."""
    with subprocess.Popen([sys.executable, "-c", HALF_WAY, folder], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


@pytest.fixture
def writer(tmp_path):
    with writing(tmp_path) as process:
        yield process


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_a_killed_process_left_is_removed(tmp_path, writer):
    """kill -9 gives no chance to clean up: the next write does it, at once. What a running process holds is kept."""
    held = names(tmp_path)
    assert len(held) == 2
    write_atomic(tmp_path / "a.json", "whole")
    assert names(tmp_path) == sorted([*held, "a.json"])
    (tmp_path / "a.json").unlink()
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    (tmp_path / ".a.json.settings").write_text("of somebody else")
    write_atomic(tmp_path / "b.json", "whole")
    assert names(tmp_path) == [".a.json.settings", "b.json"]


def test_what_is_left_in_the_folders_of_a_folder_is_removed_too(tmp_path, writer):
    """Of a process that is gone, never of one that runs."""
    before = names(tmp_path)
    sweep(tmp_path.parent)
    assert names(tmp_path) == before
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    sweep(tmp_path.parent)
    assert names(tmp_path) == []
    sweep(tmp_path / "nowhere")


def test_what_another_process_removed_before_it_was_held_is_made_again(tmp_path, monkeypatch):
    """Between making a file and holding it there is a moment, in which a process that sweeps may come."""
    built = []

    def new_file(*arguments):
        built.append(tempfile.mkstemp(*arguments))
        if len(built) == 1:
            Path(built[0][1]).unlink()
        return built[-1]

    monkeypatch.setattr("repoeval_bench.core.files.tempfile", SimpleNamespace(mkstemp=new_file))
    write_atomic(tmp_path / "a.json", "whole")
    assert len(built) == 2
    assert names(tmp_path) == ["a.json"]


def test_a_failure_leaves_nothing(tmp_path):
    """Neither a part of a file nor of a folder."""

    def pieces():
        yield "half"
        raise RuntimeError

    with pytest.raises(RuntimeError), folder_beside(tmp_path / "made") as folder:
        write_atomic(folder / "a.json", pieces())
    assert names(tmp_path) == []


def test_many_may_ask_at_once_whether_a_folder_can_be_written(tmp_path):
    """Two commands that start together in one folder are not in each other's way, and nothing is left behind."""
    with ThreadPoolExecutor(4) as pool:
        for _ in pool.map(lambda _: check_writable(tmp_path / "results", "another", folder=True), range(200)):
            pass
    assert list(tmp_path.iterdir()) == []


def test_a_hash_of_a_large_file_is_of_what_the_file_holds_now(tmp_path):
    """It is not read again while it stays; other bytes of the same length and the same time are seen."""
    path = tmp_path / "weights"
    path.write_bytes(b"one")
    assert sha256_unchanged(path) == sha256_unchanged(path) == sha256_file(path)
    stamp = path.stat().st_mtime_ns
    while path.stat().st_ctime_ns <= stamp:  # the clock of the file system ticks
        path.write_bytes(b"two")
    os.utime(path, ns=(stamp, stamp))
    assert sha256_unchanged(path) == sha256_file(path) == hashlib.sha256(b"two").hexdigest()


def test_the_next_command_removes_it_from_a_finished_run_and_from_the_home(tmp_path, mirror):
    """Nothing is written again: a stored run is taken as it is, and so is what the home holds."""
    words = ("eval", "-c", "fixed", "--retriever", "bm25", "--source", mirror, "--out", tmp_path / "results")
    assert bench(*words, home=tmp_path / "home").code == 0
    (manifest,) = (tmp_path / "results").glob("*/manifest.json")
    places = (manifest.parent, tmp_path / "home" / "models")
    before = names(manifest.parent)
    for location in places:
        location.mkdir(exist_ok=True)
        with writing(location):
            pass
        assert len([name for name in names(location) if name.endswith(".part")]) == 2
    assert bench(*words, home=tmp_path / "home").code == 0
    assert [names(location) for location in places] == [before, []]


def test_files_of_the_same_bytes_share_them(tmp_path):
    """One that goes leaves the rest."""
    paths = [tmp_path / name / "file" for name in "abc"]
    for path, text in zip(paths, ("same", "else", "same"), strict=True):
        path.parent.mkdir()
        path.write_text(text)
    share_bytes(paths[2], paths[:2])
    assert paths[2].samefile(paths[0])
    assert not paths[1].samefile(paths[0])
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b", "c", "file", "file", "file"]
    paths[0].unlink()
    assert paths[2].read_text() == "same"
    share_bytes(paths[2], [tmp_path / "gone"])
    assert paths[2].read_text() == "same"


def test_only_files_that_are_alike_share_bytes(tmp_path):
    """Not with a symbolic link, and not with one of another mode; one that vanished does not end the search."""
    mine, linked, closed, like = (tmp_path / name for name in ("mine", "linked", "closed", "like"))
    for path in (mine, closed, like):
        path.write_text("same")
    linked.symlink_to(like.name)
    closed.chmod(0o400)
    share_bytes(mine, [linked, closed])
    assert not mine.is_symlink()
    assert not mine.samefile(closed)
    share_bytes(mine, [tmp_path / "gone", linked, like])
    share_bytes(mine, [like])  # again: they are one already
    assert mine.samefile(like)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["closed", "like", "linked", "mine"]


WORKING = """
import time
from repoeval_bench.core.files import work_folder

with work_folder("sources") as folder:
    (folder / "fetched").write_text("x")
    print(folder, flush=True)
    time.sleep(600)
"""


def test_a_temporary_folder_that_no_process_owns_is_removed_by_the_next_command(tmp_path, monkeypatch):
    """Not one that is in use, and nothing of other programs."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    foreign = tmp_path / ".video.abcdefgh.part"
    foreign.touch()
    words = [sys.executable, "-c", WORKING]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": str(tmp_path)}
    ) as other:
        left = Path(other.stdout.readline().strip())
        with work_folder("sources") as folder:
            assert (left / "fetched").exists()
        assert not folder.exists()
        other.terminate()
        other.wait()
    assert left.exists()
    with work_folder("sources"):
        assert not left.exists()
    assert list(tmp_path.iterdir()) == [foreign]
