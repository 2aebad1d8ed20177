"""A machine's cache in front of a store: what one machine computed no other computes, and nothing is put there twice."""

from collections import Counter

import numpy as np
import pytest

pytest.importorskip("fsspec")

from repoeval_bench.embedding.cache import CachedEmbedder
from repoeval_bench.embedding.hashing import HashEncoder
from repoeval_bench.embedding.storage import VectorCache
from repoeval_bench.plugins.cluster import shared_cache
from repoeval_bench.plugins.cluster.object_store import ObjectStore
from repoeval_bench.plugins.cluster.run_store import results_of_store
from repoeval_bench.plugins.cluster.shared_cache import SharedVectorCache
from repoeval_bench.runs.executors import IN_PROCESS
from repoeval_bench.runs.jobs import Workers, cached_materials
from repoeval_bench.runs.request import RunRequest
from repoeval_bench.runs.runner import Runner
from support.encoders import CountingEncoder
from support.folders import content
from support.minirepo import build_mirror
from support.stores import WEATHER

TEXTS = [f"text {i}" for i in range(50)]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(shared_cache, "ENTRIES", 16)


def machine(tmp_path, name, store):
    """(encoder, cache, embedder) of a machine with a home of its own."""
    encoder = CountingEncoder(precision="fp32")
    cache = SharedVectorCache(tmp_path / name, store)
    return encoder, cache, CachedEmbedder(encoder, cache)


def objects(store):
    return {name: store.read(name) for name in store.states("vectors")}


@pytest.mark.parametrize("protocol", ["memory", "file"])
def test_what_one_machine_computed_no_other_computes(tmp_path, protocol):
    """The second encodes only what is new, and puts only that; a third has the vectors of both."""
    store = ObjectStore(f"{protocol}://{tmp_path}/store")
    first, cache, embedder = machine(tmp_path, "a", store)
    expected = embedder.encode(TEXTS[:40], "document")
    cache.flush()
    assert len(first.encoded) == 40
    before = objects(store)
    second, cache, embedder = machine(tmp_path, "b", store)
    assert embedder.encode(TEXTS[:40], "document").tobytes() == expected.tobytes()
    cache.flush()
    assert (len(second.encoded), objects(store)) == (0, before)
    whole = embedder.encode(TEXTS, "document")
    cache.flush()
    assert len(second.encoded) == 10
    assert objects(store).items() > before.items()
    third, _, embedder = machine(tmp_path, "c", store)
    assert embedder.encode(TEXTS, "document").tobytes() == whole.tobytes()
    assert len(third.encoded) == 0
    alone = CachedEmbedder(CountingEncoder(precision="fp32"), VectorCache(tmp_path / "d"))
    assert np.array_equal(alone.encode(TEXTS, "document"), whole)


@pytest.mark.parametrize("ending", [".block", ".keys"])
@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_a_broken_block_is_computed_again_and_told(tmp_path, notices, ending, damage):
    """Nothing of it is believed, and the other blocks are taken."""
    store = ObjectStore(f"file://{tmp_path}/store")
    _, cache, embedder = machine(tmp_path, "a", store)
    expected = embedder.encode(TEXTS, "document")
    cache.flush()
    blocks = (tmp_path / "store").rglob("*.block")
    path = min(blocks, key=lambda block: block.stat().st_size)  # the largest has the counts of tokens
    path = path.with_name(path.name.removesuffix(".block") + ending)
    content = path.read_bytes()
    path.write_bytes({"cut": content[: len(content) // 2], "changed": content[:-1] + b"\0", "empty": b""}[damage])
    encoder, _, embedder = machine(tmp_path, "b", store)
    assert np.array_equal(embedder.encode(TEXTS, "document"), expected)
    assert 0 < len(encoder.encoded) < 50
    assert any(path.stem in line and "do not match its name" in line for line in notices)


def test_a_block_without_keys_is_not_there_yet(tmp_path):
    """A machine that was killed between the two objects has put nothing; the next one puts the same block."""
    store = ObjectStore(f"file://{tmp_path}/store")
    _, cache, embedder = machine(tmp_path, "a", store)
    embedder.encode(TEXTS, "document")
    cache.flush()
    before = objects(store)
    for path in (tmp_path / "store").rglob("*.keys"):
        path.unlink()
    encoder, cache, embedder = machine(tmp_path, "b", store)
    embedder.encode(TEXTS, "document")
    cache.flush()
    assert (len(encoder.encoded), objects(store)) == (50, before)


def test_jobs_share_vectors_of_homes_that_share_nothing_else(tmp_path, monkeypatch):
    """Two homes, two folders, one store that fails now and then: the second home embeds nothing; the same bytes."""
    source = str(build_mirror(tmp_path / "mirror"))
    url = f"unsteady-local://{tmp_path}/store"
    requests = [
        RunRequest(chunker=chunker, source=source, embedder="hash", protocol=protocol)
        for protocol in ("context", "body")
        for chunker in ("fixed:max_nws=400", "ast:max_nws=400")
    ]
    WEATHER.failing, WEATHER.truncating = 0.05, 0.2
    encoded = Counter()
    rows = HashEncoder.rows

    def counting(self, texts, role):
        encoded[name] += len(texts)
        return rows(self, texts, role)

    monkeypatch.setattr(HashEncoder, "rows", counting)
    for name, store in (("a", url), ("b", url), ("alone", None)):
        cached_materials.cache_clear()
        out = results_of_store(store, tmp_path / name).out if store else tmp_path / name
        jobs = Runner(requests, executor=Workers(IN_PROCESS), out=out, home=tmp_path / f"home-{name}")
        for setting in jobs.settings:
            jobs.run(setting, reuse=False)
        jobs.check()
    assert content(tmp_path / "a") == content(tmp_path / "b") == content(tmp_path / "alone")
    assert encoded["a"] == encoded["alone"] > 0
    assert encoded["b"] == 0
