"""`repoeval-bench cache`: what it prints and how it exits."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest

from repoeval_bench.embedding.storage import VectorCache
from support.command import bench, json_of, succeed


@pytest.fixture
def home(tmp_path):
    """A home whose cache holds a thousand unit vectors and one count."""
    cache = VectorCache(tmp_path / "home" / "vectors")
    vector = np.full(4, 0.5, dtype="<f4").tobytes()
    cache.write({i.to_bytes(32, "big"): vector for i in range(1000)})
    cache.write({b"\xff" * 32: (7).to_bytes(8, "little")})
    cache.close()
    return tmp_path / "home"


def test_the_cache_is_shown_checked_and_emptied(home):
    """`verify` exits with 1 where something is wrong, with the way out."""
    assert ": 1,001 entries, " in succeed("cache", "info", home=home).out
    assert json_of("cache", "info", home=home)["entries"] == 1001
    assert "1,001 entries read, 0 broken" in succeed("cache", "verify", home=home).out
    with closing(sqlite3.connect(home / "vectors" / "cache.db")) as database, database:
        database.execute("UPDATE Cache SET value = ? WHERE rowid = 3", (bytes(24),))
    done = bench("cache", "verify", home=home)
    assert done.code == 1
    assert "1 broken" in done.out
    assert "cache verify --delete" in done.out
    result = json_of("cache", "verify", "--delete", home=home)
    assert (result["entries"], result["removed"], result["passed"]) == (1001, 1, True)
    assert "1,000 entries read, 0 broken" in bench("cache", "verify", home=home).out
