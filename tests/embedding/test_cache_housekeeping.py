"""Describing and verifying the cache."""

import pytest

from repoeval_bench.core.errors import CacheError
from repoeval_bench.embedding.cache import CachedEmbedder
from repoeval_bench.embedding.storage import VectorCache, info, verify
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


def test_entries_of_both_models_are_counted_and_sound(folder):
    assert (verify(folder).entries, verify(folder).passed) == (46, True)
    result = info(folder)
    assert result.entries == 46
    assert result.bytes_on_disk == sum(path.stat().st_size for path in folder.iterdir())


def test_no_cache_is_none_and_none_is_made(tmp_path):
    folder = tmp_path / "vectors"
    assert (info(folder).entries, verify(folder).entries) == (0, 0)
    assert not folder.exists()


@pytest.mark.parametrize("broken", [lambda value: bytes([value[0] ^ 1]) + value[1:], lambda _: b""])
def test_what_is_broken_is_counted_and_removed(folder, broken):
    """--delete removes that entry and no other, and the next run computes it again."""
    (row, value), *_ = select(folder, "SELECT rowid, value FROM Cache WHERE length(value) = 20")
    change(folder, "UPDATE Cache SET value = ? WHERE rowid = ?", broken(value), row)
    result = verify(folder)
    assert (result.broken, result.passed) == (1, False)
    result = verify(folder, delete=True)
    assert (result.removed, result.passed) == (1, True)
    assert verify(folder).entries == 45
    encoder = CountingEncoder(precision="fp32")
    cache = VectorCache(folder)
    CachedEmbedder(encoder, cache).encode(TEXTS, "document")
    assert encoder.encoded == [TEXTS[0]]
    cache.close()


@pytest.mark.parametrize("columns", ["mode = 4, value = ?", "raw = 0, key = ?"])
def test_a_planted_pickle_is_refused_unread(folder, tmp_path, columns):
    change(folder, f"UPDATE Cache SET {columns} WHERE rowid = 1", planted(tmp_path / "ran"))
    with pytest.raises(CacheError, match="not written by this program; delete that folder"):
        verify(folder)
    assert not (tmp_path / "ran").exists()


def test_a_broken_structure_is_an_error(folder):
    """In a database that is broken itself no entry can be removed by itself."""
    path = folder / "cache.db"
    content = bytearray(path.read_bytes())
    content[2 * 32768 : 2 * 32768 + 200] = bytes(200)
    path.write_bytes(content)
    with pytest.raises(CacheError, match="malformed.*delete that folder"):
        verify(folder)
