"""Files are written whole or not at all, and what a killed process left is removed by the next one."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from repoeval_bench.core.files import check_writable, folder_beside, sha256_file, sha256_unchanged, write_atomic

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


@pytest.fixture
def writer(tmp_path):
    """A process half-way through a file and a folder."""
    process = subprocess.Popen([sys.executable, "-c", HALF_WAY, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def grow_old(folder):
    """As if what is there were of yesterday."""
    for path in folder.iterdir():
        os.utime(path, (time.time() - 86_400,) * 2)


def write_both(folder):
    write_atomic(folder / "a.json", "whole")
    with folder_beside(folder / "made") as made:
        (made / "whole").write_text("x")
        made.rename(folder / "made")


def test_what_a_killed_process_left_is_removed(tmp_path, writer):
    """kill -9 gives no chance to clean up: the next write of the same file, and of the same folder, does it."""
    assert len(names(tmp_path)) == 2
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    grow_old(tmp_path)
    (tmp_path / ".a.json.note").write_text("of somebody else")
    (tmp_path / ".a.jsonl.abcd1234").write_text("of another file")
    grow_old(tmp_path)
    write_both(tmp_path)
    assert names(tmp_path) == [".a.json.note", ".a.jsonl.abcd1234", "a.json", "made"]
    assert (tmp_path / "a.json").read_text() == "whole"


def test_what_a_running_process_holds_is_kept(tmp_path, writer):
    """However old it is, and however many write the same file."""
    before = names(tmp_path)
    grow_old(tmp_path)
    write_both(tmp_path)
    assert set(before) < set(names(tmp_path))


def test_what_was_just_made_is_kept(tmp_path):
    """Between making a file and holding it there is a moment."""
    (tmp_path / ".a.json.abcd1234").write_text("x")
    write_both(tmp_path)
    assert names(tmp_path) == [".a.json.abcd1234", "a.json", "made"]


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
