"""What is kept on disk, and what is refused."""

import os
import pickle
import sqlite3

import numpy as np
import pytest

from repoeval_bench.embedding.cache import CachedEmbedder, RawDisk, VectorCache
from repoeval_bench.errors import CacheError


class FakeFiles:
    """Stands in for a model's files where only the cache is under test; no vector of it is ever scored."""

    spec = "fake"
    max_tokens = 4

    def __init__(self, **identity):
        self.identity = {"model": "fake", **identity}


class CountingEncoder:
    """A real function of the text (its characters' sums), counting what it is asked for."""

    def __init__(self, fail_after=None, **identity):
        self.files = FakeFiles(**identity)
        self.asked = []
        self.fail_after = fail_after

    def prompt(self, role):
        return {"query": "ask: "}.get(role, "")

    def count_tokens(self, texts, role):
        return [len(text.split()) for text in texts]

    def encode_batches(self, texts, role, tokens):
        for i, text in enumerate(texts):
            if self.fail_after is not None and i >= self.fail_after:
                raise KeyboardInterrupt
            self.asked.append(text)
            vector = np.array([[1.0, len(text), sum(map(ord, text)) % 97]], dtype=np.float32)
            yield [i], vector / np.linalg.norm(vector)


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
    assert encoder.asked == ["b", "a"]
    assert np.array_equal(embedder.encode(["a", "b"], "document"), first[[1, 0]])
    assert encoder.asked == ["b", "a"]
    assert first.dtype == np.float32


def test_prompt_and_identity_are_in_the_key(cache):
    """Another role's prompt, precision or weights never reads this one's vectors."""
    encoder = CountingEncoder()
    CachedEmbedder(encoder, cache).encode(["a"], "document")
    CachedEmbedder(encoder, cache).encode(["a"], "query")
    assert encoder.asked == ["a", "a"]
    other = CountingEncoder(precision="bf16")
    CachedEmbedder(other, cache).encode(["a"], "document")
    assert other.asked == ["a"]


def test_an_interrupted_run_goes_on_where_it_stopped(cache):
    """What was encoded before Ctrl-C is kept."""
    texts = ["a", "bb", "ccc"]
    with pytest.raises(KeyboardInterrupt):
        CachedEmbedder(CountingEncoder(fail_after=2), cache).encode(texts, "document")
    encoder = CountingEncoder()
    assert CachedEmbedder(encoder, cache).encode(texts, "document").shape == (3, 3)
    assert encoder.asked == ["ccc"]


def test_values_are_raw_float32_bytes(cache):
    """The database holds keys of 32 bytes and values of 4 bytes per dimension; nothing is pickled."""
    expected = CachedEmbedder(CountingEncoder(), cache).encode(["a"], "document")
    with sqlite3.connect(cache.folder / "cache.db") as database:
        rows = database.execute("SELECT key, raw, mode, value FROM Cache").fetchall()
    assert {(len(key), raw, mode) for key, raw, mode, _ in rows} == {(32, 1, 1)}
    assert sorted(type(value).__name__ for *_, value in rows) == ["bytes", "int"]
    (vector,) = (value for *_, value in rows if isinstance(value, bytes))
    assert vector == expected[0].astype("<f4").tobytes()


def test_a_planted_pickle_is_refused_unread(cache, tmp_path):
    """An entry that diskcache would unpickle is not: no code of whoever wrote it runs."""
    marker = tmp_path / "ran"

    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(marker),)

    embedder = CachedEmbedder(CountingEncoder(), cache)
    embedder.encode(["a"], "document")
    with sqlite3.connect(cache.folder / "cache.db") as database:
        database.execute("UPDATE Cache SET mode = 4, value = ?", (sqlite3.Binary(pickle.dumps(Bomb())),))
    with pytest.raises(CacheError, match="not written by this program"):
        embedder.encode(["a"], "document")
    assert not marker.exists()


@pytest.mark.parametrize("damage", [b"", b"123", b"\0" * 12, b"\xff" * 12])
def test_a_damaged_vector_is_never_used(cache, damage):
    """A value of the wrong length, or one that is no unit vector, is a CacheError."""
    embedder = CachedEmbedder(CountingEncoder(), cache)
    embedder.encode(["a"], "document")
    with sqlite3.connect(cache.folder / "cache.db") as database:
        database.execute("UPDATE Cache SET value = ? WHERE typeof(value) = 'blob'", (sqlite3.Binary(damage),))
    with pytest.raises(CacheError, match="delete that folder"):
        embedder.encode(["a"], "document")


def test_a_folder_that_cannot_hold_a_cache_is_one_sentence(tmp_path):
    """A file where the folder should be is a CacheError that names it."""
    (tmp_path / "vectors").write_text("in the way")
    with pytest.raises(CacheError, match="vectors"):
        VectorCache(tmp_path / "vectors")


def test_a_broken_database_is_one_sentence(tmp_path):
    """A truncated or foreign database is a CacheError, not a wrong vector."""
    (tmp_path / "cache.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(CacheError, match="cannot be"):
        VectorCache(tmp_path)


@pytest.mark.parametrize("value", [1.5, "text", None, [1]])
def test_only_bytes_and_integers_are_stored(tmp_path, value):
    """Anything that diskcache would pickle is refused on the way in."""
    with pytest.raises(CacheError):
        RawDisk(str(tmp_path)).store(value, read=False)


def test_counts_are_kept(cache):
    """A text's token count is computed once."""
    encoder = CountingEncoder()
    embedder = CachedEmbedder(encoder, cache)
    assert embedder.count_tokens(["a b c", "d", "a b c"], "document") == [3, 1, 3]
    encoder.count_tokens = None
    assert embedder.count_tokens(["d"], "document") == [1]


def test_no_text_gives_no_vector(cache):
    """An empty list of texts is an empty array, and no model is loaded."""
    assert CachedEmbedder(CountingEncoder(), cache).encode([], "document").shape[0] == 0
