"""Files are written whole or not at all."""

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from repoeval_bench.core.files import (
    check_writable,
    folder_beside,
    sha256_file,
    sha256_unchanged,
    share_bytes,
    write_atomic,
)


def test_a_failure_leaves_nothing(tmp_path):
    """Neither a part of a file nor of a folder."""

    def pieces():
        yield "half"
        raise RuntimeError

    with pytest.raises(RuntimeError), folder_beside(tmp_path / "made") as folder:
        write_atomic(folder / "a.json", pieces())
    with pytest.raises(RuntimeError):
        write_atomic(tmp_path / "a.json", pieces())
    assert list(tmp_path.iterdir()) == []


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


def test_files_of_the_same_bytes_share_them(tmp_path):
    """One that goes leaves the rest, and a symbolic link shares nothing."""
    paths = [tmp_path / name / "file" for name in "abcd"]
    for path, text in zip(paths[:3], ("same", "else", "same"), strict=True):
        path.parent.mkdir()
        path.write_text(text)
    paths[3].parent.mkdir()
    paths[3].symlink_to("../c/file")
    for _ in range(2):  # again: they are one already
        share_bytes(paths[2], [paths[3], *paths[:2]])
    assert paths[2].samefile(paths[0])
    assert not paths[2].is_symlink()
    assert not paths[1].samefile(paths[0])
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b", "c", "d", *["file"] * 4]
    paths[0].unlink()
    assert paths[2].read_text() == "same"
    share_bytes(paths[2], [tmp_path / "gone"])
    assert paths[2].read_text() == "same"
