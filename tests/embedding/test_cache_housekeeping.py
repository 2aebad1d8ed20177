"""Describing and verifying the cache."""

import numpy as np
import pytest

from repoeval_bench.cli.cache import show_size
from repoeval_bench.core.errors import CacheError, UsageError
from repoeval_bench.embedding.cache import CachedEmbedder
from repoeval_bench.embedding.housekeeping import delete, info, verify
from repoeval_bench.embedding.storage import VectorCache, seal
from support.damage import change, planted, select
from support.encoders import CountingEncoder

TEXTS = [f"text {i}" for i in range(20)]


@pytest.fixture
def folder(tmp_path):
    """A cache with twenty vectors of one model and three of another."""
    cache = VectorCache(tmp_path / "vectors")
    CachedEmbedder(CountingEncoder(precision="fp32"), cache).encode(TEXTS, "document")
    CachedEmbedder(CountingEncoder(precision="bf16"), cache).encode(TEXTS[:3], "document")
    cache.close()
    return tmp_path / "vectors"


def test_info_counts_by_model_and_precision(folder):
    """Vectors, counts and bytes of each identity, the largest share first."""
    result = info(folder)
    assert [(model.name, model.vectors, model.others) for model in result.models] == [
        ("fake fp32", 20, 20),
        ("fake bf16", 3, 3),
    ]
    assert result.entries == 46
    assert result.models[0].bytes == 20 * (3 * 4 + 8) + 20 * (8 + 8)
    assert result.bytes_on_disk == sum(path.stat().st_size for path in folder.iterdir())


def test_no_cache_is_none_and_none_is_made(tmp_path):
    """Looking at a cache that is not there makes none."""
    folder = tmp_path / "vectors"
    assert (info(folder).entries, verify(folder).entries) == (0, 0)
    assert not folder.exists()


def test_entries_of_no_known_model_are_shown_so(folder):
    """Entries whose tag is gone still count."""
    change(folder, "UPDATE Cache SET tag = NULL WHERE rowid = 1")
    assert sum(model.vectors + model.others for model in info(folder).models if model.name == "not known") == 1


def test_a_sound_cache_passes(folder):
    """Every entry is read, identities included, and none is broken."""
    result = verify(folder)
    assert (result.entries, result.broken, result.passed) == (46, (), True)


def broken(key, value):
    """Ways to break a vector -> what is said of it."""
    short, nan, zero = value[:4], np.full(3, np.nan, "<f4").tobytes(), bytes(12)
    unit = np.array([0.6, 0.8], "<f4").tobytes()
    return {
        "changed since": bytes([value[0] ^ 1]) + value[1:],
        "without its seal": b"",
        "not of unit length": nan + seal(key, nan),
        "not of unit length ": zero + seal(key, zero),
        "not a row of float32": short[:3] + seal(key, short[:3]),
        "another length than the model's latest": unit + seal(key, unit),
    }


@pytest.mark.parametrize("message", list(broken(bytes(32), bytes(20))))
def test_what_is_broken_is_named_and_removed(folder, message):
    """verify says what is wrong; --delete removes that entry and no other, and the next run computes it again."""
    (row, key, value), *_ = select(folder, "SELECT rowid, key, value FROM Cache WHERE length(value) = 20")
    change(folder, "UPDATE Cache SET value = ? WHERE rowid = ?", broken(key, value)[message], row)
    result = verify(folder)
    assert len(result.broken) == 1
    assert message.strip() in result.broken[0]
    assert not result.passed
    result = verify(folder, delete=True)
    assert (result.removed, result.passed) == (1, True)
    assert verify(folder).entries == 45
    encoder = CountingEncoder(precision="fp32")
    cache = VectorCache(folder)
    CachedEmbedder(encoder, cache).encode(TEXTS, "document")
    assert encoder.encoded == [TEXTS[0]]
    cache.close()


def test_what_an_older_model_made_is_broken_not_what_is_new(folder):
    """Even where the older vectors are more."""
    cache = VectorCache(folder)
    unit = np.array([0.6, 0.8], "<f4").tobytes()
    cache.write({b"new" * 8: unit}, "vector", '{"model": "fake", "precision": "fp32"}')
    cache.close()
    assert verify(folder, delete=True).removed == 20
    assert [(model.name, model.vectors) for model in info(folder).models] == [("fake fp32", 1), ("fake bf16", 3)]


@pytest.mark.parametrize(("name", "left"), [("fake", []), ("fake bf16", ["fake fp32"])])
def test_a_model_is_removed_by_its_name(folder, name, left):
    delete(folder, name)
    assert [model.name for model in info(folder).models] == left
    with pytest.raises(UsageError, match="holds nothing of 'no fake'"):
        delete(folder, "no fake")


@pytest.mark.parametrize("columns", ["mode = 4, value = ?", "raw = 0, key = ?"])
def test_a_planted_pickle_is_refused_unread(folder, tmp_path, columns):
    """A pickled value or key is never loaded, whatever is asked of the cache."""
    change(folder, f"UPDATE Cache SET {columns} WHERE rowid = 1", planted(tmp_path / "ran"))
    for ask in (info, verify):
        with pytest.raises(CacheError, match="not written by this program; delete that folder"):
            ask(folder)
    assert not (tmp_path / "ran").exists()


def test_a_broken_structure_is_an_error(folder):
    """In a database that is broken itself no entry can be removed by itself."""
    path = folder / "cache.db"
    content = bytearray(path.read_bytes())
    content[2 * 32768 : 2 * 32768 + 200] = bytes(200)
    path.write_bytes(content)
    with pytest.raises(CacheError, match="malformed.*delete that folder"):
        verify(folder)


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (1536, "1.5 KB"), (123_456_789, "123.5 MB"), (2 * 10**15, "2.0 PB")]
)
def test_sizes_are_shown(size, text):
    """One digit behind the point, and a unit."""
    assert show_size(size) == text
