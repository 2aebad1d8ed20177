"""The vector cache: what is kept on disk, and what is refused."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial

import numpy as np
import pytest

from repoeval_bench.core.errors import CacheError
from repoeval_bench.embedding import storage
from repoeval_bench.embedding.cache import CachedEmbedder
from repoeval_bench.embedding.storage import VectorCache, seal
from support.damage import change, planted, select
from support.encoders import CountingEncoder


@pytest.fixture
def cache(tmp_path):
    cache = VectorCache(tmp_path / "vectors")
    yield cache
    cache.close()


def test_each_distinct_text_is_encoded_once(cache):
    """Repeats and later calls are read back, bit for bit, in the order of the texts."""
    encoder = CountingEncoder()
    embedder = CachedEmbedder(encoder, cache)
    first = embedder.encode(["b", "a", "b"], "document")
    assert encoder.encoded == ["b", "a"]
    assert np.array_equal(embedder.encode(["a", "b"], "document"), first[[1, 0]])
    assert encoder.encoded == ["b", "a"]
    assert first.dtype == np.float32


def test_prompt_and_identity_are_in_the_key(cache):
    """Another role's prompt, precision or weights never reads this one's vectors."""
    encoder = CountingEncoder()
    CachedEmbedder(encoder, cache).encode(["a"], "document")
    CachedEmbedder(encoder, cache).encode(["a"], "query")
    assert encoder.encoded == ["a", "a"]
    other = CountingEncoder(precision="bf16")
    CachedEmbedder(other, cache).encode(["a"], "document")
    assert other.encoded == ["a"]


def test_an_interrupted_run_goes_on_where_it_stopped(cache):
    """Vectors from before Ctrl-C are kept."""
    texts = ["a", "bb", "ccc"]
    with pytest.raises(KeyboardInterrupt):
        CachedEmbedder(CountingEncoder(fail_after=2), cache).encode(texts, "document")
    encoder = CountingEncoder()
    assert CachedEmbedder(encoder, cache).encode(texts, "document").shape == (3, 3)
    assert encoder.encoded == ["ccc"]


def test_a_process_that_is_killed_leaves_what_it_embedded(cache):
    """Each batch is on disk before the next one begins, without a word to the process that ends."""
    texts = ["a", "bb", "ccc"]
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from repoeval_bench.embedding.cache import CachedEmbedder\n"
        "from repoeval_bench.embedding.storage import VectorCache\n"
        "from support.encoders import CountingEncoder\n"
        "encoder = CountingEncoder(fail_after=2, fail=lambda: os.kill(os.getpid(), signal.SIGKILL))\n"
        "CachedEmbedder(encoder, VectorCache(Path(sys.argv[1]))).ensure({'document': sys.argv[2:]})\n"
    )
    path = os.pathsep.join(sys.path)
    command = [sys.executable, "-c", script, str(cache.folder), *texts]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, check=False)
    assert done.returncode == -signal.SIGKILL
    encoder = CountingEncoder()
    CachedEmbedder(encoder, cache).ensure({"document": texts})
    assert encoder.encoded == ["ccc"]


def rows(cache, columns):
    """Columns of the entries with a vector of three numbers, as the database holds them."""
    return select(cache.folder, f"SELECT {columns} FROM Cache WHERE length(value) = 20")


def test_values_are_raw_float32_bytes(cache):
    """The database holds keys of 32 bytes and values of 4 bytes per dimension and a seal; nothing is pickled."""
    expected = CachedEmbedder(CountingEncoder(), cache).encode(["a"], "document")
    ((key, raw, mode, value),) = rows(cache, "key, raw, mode, value")
    assert (len(key), raw, mode) == (32, 1, 1)
    assert value == expected[0].astype("<f4").tobytes() + seal(key, expected[0].astype("<f4").tobytes())
    assert {type(value) for (value,) in select(cache.folder, "SELECT value FROM Cache")} == {bytes}


def test_another_texts_vector_is_noticed(cache):
    """A value under another key, seal and all, is not taken for that key's."""
    embedder = CachedEmbedder(CountingEncoder(), cache)
    embedder.encode(["a", "bb"], "document")
    (_, value), (row, _) = rows(cache, "rowid, value")
    change(cache.folder, "UPDATE Cache SET value = ? WHERE rowid = ?", value, row)
    with pytest.raises(CacheError, match="has changed since"):
        embedder.encode(["a", "bb"], "document")


def test_disk_space_is_little_more_than_the_vectors(cache):
    """2,000 vectors of 384 take less than 1.2 times their bytes."""
    vectors = {bytes([i // 256, i % 256]) * 16: bytes([i % 251]) * 1536 for i in range(2000)}
    cache.write(vectors)
    assert cache.read(vectors) == list(vectors.values())
    cache.close()
    assert sum(file.stat().st_size for file in cache.folder.iterdir()) < 1.2 * 2000 * 1536


def test_reading_waits_for_no_writer(tmp_path, monkeypatch):
    """While another process writes, what is there can be read; for a second writer it is one sentence."""
    monkeypatch.setattr(storage, "Cache", partial(storage.Cache, timeout=0.1))
    cache = VectorCache(tmp_path)
    key = bytes(32)
    cache.write({key: b"value"})
    with closing(sqlite3.connect(cache.folder / "cache.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert cache.read([key]) == [b"value"]
        with pytest.raises(CacheError, match="cannot be written: another process is writing"):
            cache.write({bytes([1]) * 32: b"value"})


def test_a_planted_pickle_is_refused_unread(cache, tmp_path):
    """An entry that diskcache would unpickle is not unpickled: no code in it runs."""
    marker = tmp_path / "ran"
    embedder = CachedEmbedder(CountingEncoder(), cache)
    embedder.encode(["a"], "document")
    change(cache.folder, "UPDATE Cache SET mode = 4, value = ?", planted(marker))
    with pytest.raises(CacheError, match="not written by this program"):
        embedder.encode(["a"], "document")
    assert not marker.exists()


def test_a_folder_that_cannot_hold_a_cache_is_one_sentence(tmp_path):
    (tmp_path / "vectors").write_text("in the way")
    with pytest.raises(CacheError, match="vectors"):
        VectorCache(tmp_path / "vectors")


def test_counts_are_kept(cache):
    encoder = CountingEncoder()
    embedder = CachedEmbedder(encoder, cache)
    assert embedder.count_tokens(["a b c", "d", "a b c"], "document") == [3, 1, 3]
    encoder.count_tokens = lambda texts, role: pytest.fail("counted again")
    assert embedder.count_tokens(["d"], "document") == [1]
