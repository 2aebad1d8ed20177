"""A cache that is damaged or read-only, met by a whole run: one line with the way out, and no run is stored."""

import shutil
import sqlite3
import subprocess
from contextlib import closing

import pytest

from support.command import bench, one_sentence
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


def test_a_flipped_bit(home, refused):
    change_vectors(home, lambda key, value: bytes([value[0] ^ 1]) + value[1:])
    assert "has changed since it was written (its checksum is wrong); run repoeval-bench cache verify" in refused()


def test_a_cache_that_cannot_be_written(home, refused):
    """Its file system is mounted without the right to write."""
    vectors = home / "vectors"
    content = {path.name: path.read_bytes() for path in vectors.iterdir()}
    with tmpfs(vectors, "size=64m"):
        for name, data in content.items():
            (vectors / name).write_bytes(data)
        subprocess.run(["mount", "-o", "remount,ro", vectors], check=True)
        assert "set REPOEVAL_HOME to a folder that can be written" in refused()
