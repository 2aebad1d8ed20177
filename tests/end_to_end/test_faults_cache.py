"""A cache that is damaged, read-only or full, met by a whole run: one line with the way out, and no run is stored."""

import shutil
import sqlite3
import subprocess
from contextlib import ExitStack, closing

import pytest

from support.command import bench, one_sentence, succeed
from support.disks import tmpfs

AST = "ast:max_nws=400"


@pytest.fixture
def home(warm_home, tmp_path):
    """A copy of the warm home, to be damaged."""
    return shutil.copytree(warm_home, tmp_path / "home")


@pytest.fixture
def refused(mirror, home, tmp_path):
    """Runs `eval` on the damaged home: the error's sentence, after checking that nothing else was printed or stored."""

    def call(*arguments):
        done = bench("eval", "-c", AST, "--source", mirror, "--out", tmp_path / "results", *arguments, home=home)
        assert done.out == ""
        assert not list((tmp_path / "results").glob("*/manifest.json"))
        return one_sentence(done, 1)

    return call


def change_vectors(home, new_value):
    """Replace the value of every vector by `new_value(key, value)`, behind the cache's back."""
    with closing(sqlite3.connect(home / "vectors" / "cache.db")) as database, database:
        rows = database.execute("SELECT rowid, key, value FROM Cache WHERE length(value) > 1000").fetchall()
        assert len(rows) > 20
        database.executemany("UPDATE Cache SET value = ? WHERE rowid = ?", ((new_value(k, v), r) for r, k, v in rows))


@pytest.fixture
def mounted():
    """Mount file systems for the test."""
    with ExitStack() as stack:
        yield lambda folder, options: stack.enter_context(tmpfs(folder, options))


@pytest.fixture
def read_only(home, mounted):
    """Makes the home's cache read-only: a file system of its own, mounted anew without the right to write."""

    def call(*, change=lambda folder: None):
        vectors = home / "vectors"
        content = {path.name: path.read_bytes() for path in vectors.iterdir()}
        mounted(vectors, "size=64m")
        for name, data in content.items():
            (vectors / name).write_bytes(data)
        change(vectors)
        subprocess.run(["mount", "-o", "remount,ro", vectors], check=True)
        return f"note: the vector cache {vectors} is read-only, so nothing new is kept in it; "

    return call


def test_what_a_read_only_cache_lacks_is_not_kept(mirror, home, read_only, tmp_path):
    """Missing vectors are computed for the run, and counted; the cache stays as it is."""

    def take_ten(folder):
        with closing(sqlite3.connect(folder / "cache.db")) as database, database:
            rows = database.execute(
                "SELECT rowid FROM Cache WHERE length(value) = ? LIMIT 10", (4 * 257 + 8,)
            ).fetchall()
            database.executemany("DELETE FROM Cache WHERE rowid = ?", rows)

    run = ("eval", "-c", AST, "--source", mirror, "--embedder", "hash", "--out")
    succeed(*run, tmp_path / "before", home=home)
    line = read_only(change=take_ten)
    content = (home / "vectors" / "cache.db").read_bytes()
    done = succeed(*run, tmp_path / "after", home=home)
    assert f"{line}10 vectors of hash" in done.err
    (before,), (after,) = ((tmp_path / name).glob("*/retrieved.jsonl.gz") for name in ("before", "after"))
    assert after.read_bytes() == before.read_bytes()
    assert (home / "vectors" / "cache.db").read_bytes() == content


def test_a_flipped_bit_of_a_read_only_cache(home, refused, read_only):
    """Checksums are verified there too, and the way out can be gone from there."""
    read_only(change=lambda folder: change_vectors(home, lambda key, value: bytes([value[0] ^ 1]) + value[1:]))
    sentence = refused()
    assert "has changed since it was written" in sentence
    assert "set REPOEVAL_HOME to another folder" in sentence


def test_a_read_only_cache_with_a_log_beside_it(home, refused, read_only):
    """What a killed process wrote last is in sqlite's log, which cannot be taken in: refused, not passed over."""

    def leave_a_log(folder):
        with closing(sqlite3.connect(folder / "cache.db")) as database:
            database.execute("UPDATE Settings SET value = 1 WHERE key = 'hits'")
            database.commit()
            log = (folder / "cache.db-wal").read_bytes()
        (folder / "cache.db-wal").write_bytes(log)

    read_only(change=leave_a_log)
    sentence = refused()
    assert "cache.db-wal" in sentence
    assert "repoeval-bench cache info where the cache can be written" in sentence
