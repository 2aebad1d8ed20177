"""A cache that is damaged, read-only or full, met by a whole run: one line with the way out, and no run is stored."""

import json
import os
import pickle
import shutil
import sqlite3
import subprocess
from contextlib import closing

import numpy as np
import pytest

from repoeval_bench.embedding.storage import seal
from support.command import bench, one_sentence

AST = "ast:max_nws=400"


@pytest.fixture
def home(warm_home, tmp_path):
    """A copy of the warm home, to be damaged."""
    return shutil.copytree(warm_home, tmp_path / "home", ignore=shutil.ignore_patterns("first"))


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
    """The lowest bit of a number of a vector: too little for its length to show it."""
    change_vectors(home, lambda key, value: bytes([value[0] ^ 1]) + value[1:])
    sentence = refused()
    assert "has changed since it was written" in sentence
    assert "repoeval-bench cache verify --delete" in sentence


@pytest.mark.parametrize("number", [0.0, np.nan, np.inf])
def test_vectors_that_no_model_gives(home, refused, number):
    """Zeros, NaN or infinity, properly sealed: whoever wrote them, they are not scored."""
    vector = np.full(384, number, dtype="<f4").tobytes()
    change_vectors(home, lambda key, value: vector + seal(key, vector))
    assert "not of unit length" in refused()


def test_a_planted_pickle(home, refused, tmp_path):
    """An entry that would run code where it is unpickled is refused unread."""
    marker = tmp_path / "ran"

    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(marker),)

    change_vectors(home, lambda key, value: pickle.dumps(Bomb()))
    with closing(sqlite3.connect(home / "vectors" / "cache.db")) as database, database:
        database.execute("UPDATE Cache SET mode = 4")
    assert "not written by this program" in refused()
    assert not marker.exists()


def test_a_truncated_database(home, refused):
    """Half a database is no cache."""
    path = home / "vectors" / "cache.db"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert "delete that folder" in refused()


def test_another_models_vectors_are_not_read(mirror, home, tmp_path):
    """The same weights that read 128 tokens in place of 256 find none of the vectors that are there."""
    options = ("eval", "-c", AST, "--source", mirror, "--out", tmp_path / "results", "--dry-run", "--json")
    for spec, all_cached in (("minilm", True), ("minilm:max_length=128", False)):
        done = bench(*options, "--embedder", spec, home=home)
        rows = json.loads(done.out)["texts"]
        assert {row["cached"] for row in rows} == ({row["distinct"] for row in rows} if all_cached else {0})


def mount(folder, *options):
    """A tmpfs on a folder; skips the test where this is not allowed."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    done = subprocess.run(
        ["mount", "-t", "tmpfs", *options, "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")


@pytest.fixture
def mounted(tmp_path):
    """Mounts a tmpfs with options on a folder, and takes it away after the test."""
    folders = []

    def call(folder, *options):
        folder.mkdir(parents=True, exist_ok=True)
        mount(folder, *options)
        folders.append(folder)
        return folder

    yield call
    for folder in folders:
        subprocess.run(["umount", folder], check=True)


def test_a_read_only_cache(home, refused, mounted):
    """A cache that cannot be written is named, with the way out."""
    vectors = home / "vectors"
    content = {path.name: path.read_bytes() for path in vectors.iterdir()}
    mounted(vectors, "-o", "size=64m")
    for name, data in content.items():
        (vectors / name).write_bytes(data)
    subprocess.run(["mount", "-o", "remount,ro", vectors], check=True)
    assert "set REPOEVAL_HOME to a folder that can be written" in refused()


@pytest.mark.slow
def test_a_full_disk_under_the_cache(mirror, home, mounted, tmp_path, warm_home):
    """The disk fills up in the middle of embedding: one line; with room again, the run goes on from what was kept."""
    shutil.rmtree(home / "vectors")
    vectors = mounted(home / "vectors", "-o", "size=1760k")
    run = ("eval", "-c", AST, "--source", mirror, "--out", tmp_path / "results")
    sentence = one_sentence(bench(*run, home=home), 1)
    assert "free some space there" in sentence
    assert not list((tmp_path / "results").glob("*/manifest.json"))
    subprocess.run(["mount", "-o", "remount,size=64m", vectors], check=True)
    dry = json.loads(bench(*run, "--dry-run", "--json", home=home).out)["texts"]
    assert sum(row["cached"] for row in dry) > 0
    assert bench(*run, home=home).code == 0
    assert same_runs(tmp_path / "results", mirror, warm_home, tmp_path)


def same_runs(results, mirror, warm_home, tmp_path):
    """Whether the one run in `results` holds what the same run on the warm home holds."""
    done = bench("eval", "-c", AST, "--source", mirror, "--out", tmp_path / "expected", home=warm_home)
    assert done.code == 0, done.err
    (mine,), (other,) = results.glob("*/run.trec"), (tmp_path / "expected").glob("*/run.trec")
    return mine.read_bytes() == other.read_bytes()


def test_a_full_disk_under_the_results(mirror, home, mounted, tmp_path):
    """Results that find no room are one line; no half of a run passes for a run, and the vectors stay."""
    results = mounted(tmp_path / "small", "-o", "size=64k")
    run = ("eval", "-c", AST, "--source", mirror)
    assert "cannot be written" in one_sentence(bench(*run, "--out", results, home=home), 1)
    assert not list(results.glob("*/manifest.json"))
    assert bench(*run, "--out", tmp_path / "results", home=home).code == 0
