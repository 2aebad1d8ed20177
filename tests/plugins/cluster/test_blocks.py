"""Vectors in a store at a URL: what is pushed is what is pulled, whatever the store does meanwhile."""

import json
import shutil

import numpy as np
import pytest

pytest.importorskip("fsspec")

from repoeval_bench.core.errors import UsageError
from repoeval_bench.embedding.housekeeping import verify
from repoeval_bench.embedding.storage import VectorCache
from repoeval_bench.plugins.cluster import vectors
from repoeval_bench.plugins.cluster.object_store import ObjectStore, StoreError
from repoeval_bench.plugins.cluster.vectors import pull, push
from support.command import bench, one_sentence
from support.stores import WEATHER

IDENTITY = json.dumps({"model": "somebody/model", "precision": "fp32"})
OTHER = json.dumps({"model": "another", "precision": "bf16"})


@pytest.fixture(autouse=True)
def fair_weather(monkeypatch):
    """The store does as it is told unless a test says otherwise, and blocks are small."""
    WEATHER.clear()
    monkeypatch.setattr(vectors, "ENTRIES", 7)
    monkeypatch.setattr("repoeval_bench.plugins.cluster.object_store._LONGEST_PAUSE", 0.001)


@pytest.fixture(params=["memory", "file", "unsteady-memory", "unsteady-local"])
def store(request, tmp_path):
    return ObjectStore(f"{request.param}://{tmp_path}/store")


def fill(folder, numbers, identity=IDENTITY):
    """A cache with a vector and a count for each number."""
    cache = VectorCache(folder)
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((1000, 4))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    key = identity[-9:].encode()
    cache.write({(key + b"v%d" % i).ljust(32): rows[i].astype("<f4").tobytes() for i in numbers}, "vector", identity)
    cache.write({(key + b"t%d" % i).ljust(32): i.to_bytes(8, "little") for i in numbers}, "tokens", identity)
    cache.close()
    return folder


def entries(folder):
    """Key -> (tag, value) of everything in a cache."""
    cache = VectorCache(folder)
    results = {entry.key: (entry.tag, entry.value) for entry in cache.database.entries()}
    cache.close()
    return results


def test_what_is_pushed_is_what_is_pulled(store, tmp_path):
    """Two machines push overlapping vectors of two models; a third that pulls has all of them, as if computed there."""
    first = fill(fill(tmp_path / "a", range(40)), range(5), OTHER)
    second = fill(tmp_path / "b", range(30, 60))
    assert push(first, store).entries == 90
    done = push(second, store)
    assert (done.entries, done.there, done.left_out) == (40, 20, 0)
    third = tmp_path / "c"
    result = pull(third, store)
    assert (result.entries, result.here, result.broken) == (130, 0, ())
    assert entries(third) == entries(first) | entries(second)
    assert verify(third).passed
    again = pull(third, store)
    assert (again.entries, again.blocks, again.here) == (0, 0, 130)
    assert push(third, store).entries == 0


def test_a_store_that_fails_and_truncates_is_tried_again(tmp_path):
    """One call in ten fails and a third of the writes keep half: nothing is lost and nothing is wrong."""
    for protocol in ("unsteady-memory", "unsteady-local"):
        store = ObjectStore(f"{protocol}://{tmp_path}/{protocol}")
        first = fill(tmp_path / "a", range(60))
        WEATHER.failing, WEATHER.truncating = 0.1, 0.3
        for _ in range(50):  # the same command again, until the store answers
            try:
                push(first, store)
                result = pull(tmp_path / f"{protocol}-cache", store)
            except StoreError:
                continue
            break
        assert WEATHER.failures > 5
        assert result.broken == ()
        assert entries(tmp_path / f"{protocol}-cache") == entries(first)


def test_a_store_that_is_gone_is_one_sentence(tmp_path):
    store = ObjectStore(f"unsteady-memory://{tmp_path}/gone")
    WEATHER.failing = 1.0
    with pytest.raises(
        StoreError, match=r"cannot be read after 5 tries \(OSError: 503 slow down\); run the same command"
    ):
        push(fill(tmp_path / "a", range(3)), store)


@pytest.mark.parametrize("ending", [".block", ".keys"])
@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_a_broken_block_is_named_and_the_others_are_taken(tmp_path, ending, damage):
    """Nothing of it gets into the cache; the command says which and exits with 1."""
    push(fill(tmp_path / "a", range(30)), ObjectStore(f"file://{tmp_path}/store"))
    path = sorted((tmp_path / "store").rglob(f"*{ending}"))[2]
    content = path.read_bytes()
    path.write_bytes({"cut": content[: len(content) // 2], "changed": content[:-1] + b"\0", "empty": b""}[damage])
    result = pull(tmp_path / "b", ObjectStore(f"file://{tmp_path}/store"))
    assert len(result.broken) == 1
    assert path.stem in result.broken[0]
    kept = entries(tmp_path / "b")
    assert kept.items() <= entries(tmp_path / "a").items()
    assert len(kept) == 61 - 7
    done = bench("cluster", "pull", f"file://{tmp_path}/store", home=tmp_path / "home")
    assert (done.code, "broken, left out" in done.out) == (1, True)


def test_a_block_without_keys_is_not_there_yet(tmp_path):
    """A push that was killed between its two objects is as if it had not begun; the next one completes it."""
    store = ObjectStore(f"file://{tmp_path}/store")
    push(fill(tmp_path / "a", range(3)), store)
    for path in (tmp_path / "store").rglob("*.keys"):
        path.unlink()
    assert pull(tmp_path / "b", store).entries == 0
    push(tmp_path / "a", store)
    assert pull(tmp_path / "b", store).entries == 6


def test_two_machines_that_computed_the_same_write_one_block(tmp_path):
    """Blocks are named by what they hold, so a race leaves one."""
    stores = [ObjectStore(f"file://{tmp_path}/store{i}") for i in range(2)]
    for store, folder in zip(stores, "ab", strict=True):
        push(fill(tmp_path / folder, range(30)), store)
    names = [sorted(path.name for path in (tmp_path / f"store{i}").rglob("*.block")) for i in range(2)]
    assert names[0] == names[1]


def test_the_commands(tmp_path):
    """push and pull in words and in JSON; an address that is none is a usage error; no cache pushes nothing."""
    fill(tmp_path / "home" / "vectors", range(20))
    url = f"file://{tmp_path}/store"
    assert "40 entries written in" in bench("cluster", "push", url, home=tmp_path / "home").out
    assert json.loads(bench("cluster", "push", url, "--json", home=tmp_path / "home").out)["there"] == 40
    assert "40 entries read in" in bench("cluster", "pull", url, home=tmp_path / "other").out
    assert json.loads(bench("cluster", "pull", url, "--json", home=tmp_path / "other").out)["here"] == 40
    assert "is not the address of a store" in one_sentence(bench("cluster", "pull", "nope://x", home=tmp_path), 2)
    shutil.rmtree(tmp_path / "home" / "vectors")
    assert "0 entries written" in bench("cluster", "push", url, home=tmp_path / "home").out
    with pytest.raises(UsageError):
        ObjectStore("nope://x")
