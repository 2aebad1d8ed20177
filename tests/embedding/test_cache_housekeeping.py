"""Describing, verifying and pruning the cache."""

import os
import pickle
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from repoeval_bench.cli.cache import parse_size, show_size
from repoeval_bench.core.errors import CacheError, UsageError
from repoeval_bench.embedding.cache import CachedEmbedder
from repoeval_bench.embedding.database import LIFETIME
from repoeval_bench.embedding.housekeeping import info, prune, verify
from repoeval_bench.embedding.storage import VectorCache, seal
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


def change(folder, statement, *values):
    with closing(sqlite3.connect(folder / "cache.db")) as database, database:
        return database.execute(statement, values).rowcount


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
    assert result.models[0].last_used == time.strftime("%Y-%m-%d", time.gmtime())


def test_no_cache_is_none_and_none_is_made(tmp_path):
    """Looking at a cache that is not there makes none."""
    folder = tmp_path / "vectors"
    assert (info(folder).entries, verify(folder).entries, prune(folder, 0).removed) == (0, 0, 0)
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
        "another length than the model's others": unit + seal(key, unit),
    }


@pytest.mark.parametrize("message", list(broken(bytes(32), bytes(20))))
def test_what_is_broken_is_named_and_removed(folder, message):
    """verify says what is wrong; --delete removes that entry and no other, and the next run computes it again."""
    with closing(sqlite3.connect(folder / "cache.db")) as database:
        row, key, value = database.execute("SELECT rowid, key, value FROM Cache WHERE length(value) = 20").fetchone()
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
    assert encoder.asked == [TEXTS[0]]
    cache.close()


def test_a_planted_pickle_is_removed_unread(folder, tmp_path):
    """A pickled value, a pickled key and a value in a file of its own: named and removed, never loaded."""
    marker = tmp_path / "ran"

    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(marker),)

    bomb = pickle.dumps(Bomb())
    change(folder, "UPDATE Cache SET mode = 4, value = ? WHERE rowid = 1", bomb)
    change(folder, "UPDATE Cache SET raw = 0, key = ? WHERE rowid = 2", bomb)
    change(folder, "UPDATE Cache SET mode = 2, filename = '/etc/hostname', value = NULL WHERE rowid = 3")
    assert verify(folder, delete=True).removed == 3
    assert verify(folder).passed
    assert not marker.exists()


def test_a_broken_structure_is_an_error(folder):
    """In a database that is broken itself no entry can be removed by itself."""
    path = folder / "cache.db"
    content = bytearray(path.read_bytes())
    content[2 * 32768 : 2 * 32768 + 200] = bytes(200)
    path.write_bytes(content)
    with pytest.raises(CacheError, match="malformed.*delete that folder"):
        verify(folder)


def fill(folder, n, *, noted=True):
    """n vectors of 384, the first one used longest ago; their keys in that order. Version 0.1 noted it elsewhere."""
    cache = VectorCache(folder)
    keys = [i.to_bytes(32, "big") for i in range(n)]
    vectors = np.eye(384, dtype="<f4")
    cache.write({key: vectors[i % 384].tobytes() for i, key in enumerate(keys)}, "vector", '{"model": "numbers"}')
    cache.close()
    with closing(sqlite3.connect(folder / "cache.db")) as database, database:
        database.executemany(
            "UPDATE Cache SET access_time = ?, expire_time = ? WHERE key = ?",
            ((1e9 + i, (1e9 + i + LIFETIME) if noted else None, key) for i, key in enumerate(keys)),
        )
    return keys


@pytest.mark.parametrize(("share", "noted"), [(0.9, True), (0.5, False), (0.1, True)])
def test_prune_takes_the_least_recently_used(tmp_path, share, noted):
    """The database ends under the limit, with the youngest entries in it, and not far below the limit."""
    keys = fill(tmp_path, 3000, noted=noted)
    limit = int(share * (tmp_path / "cache.db").stat().st_size)
    done = prune(tmp_path, limit)
    assert 0.8 * limit < (tmp_path / "cache.db").stat().st_size == done.bytes_after <= limit
    assert done.note == ""
    cache = VectorCache(tmp_path)
    present = cache.present(keys)
    cache.close()
    assert present == set(keys[done.removed :])
    assert verify(tmp_path).passed
    assert prune(tmp_path, limit).removed == 0


def test_prune_to_nothing(tmp_path):
    """A limit of 0 empties the cache; an empty database keeps a few pages."""
    fill(tmp_path, 100)
    done = prune(tmp_path, 0)
    assert (done.removed, done.note) == (100, "")
    assert info(tmp_path).entries == 0


def test_prune_while_another_process_reads_and_writes(tmp_path):
    """A run whose vectors are taken away under its hands goes on, with the right ones."""
    script = (
        "import sys, time, numpy as np; from pathlib import Path\n"
        "from repoeval_bench.embedding.cache import CachedEmbedder\n"
        "from repoeval_bench.embedding.storage import VectorCache\n"
        "from support.encoders import CountingEncoder\n"
        "class Slow(CountingEncoder):\n"
        "    def encode_batches(self, *arguments):\n"
        "        for batch in super().encode_batches(*arguments):\n"
        "            time.sleep(0.001)\n"
        "            yield batch\n"
        "texts = [f'text {i}' for i in range(300)]\n"
        "folder = Path(sys.argv[1])\n"
        "encoder = Slow()\n"
        "embedder = CachedEmbedder(encoder, VectorCache(folder / 'vectors'))\n"
        "expected = np.concatenate([v for _, v in CountingEncoder().encode_batches(texts, 'document', [2] * 300)])\n"
        "while not (folder / 'stop').exists():\n"
        "    assert np.array_equal(embedder.encode(texts, 'document'), expected)\n"
        "print(len(encoder.asked))\n"
    )
    paths = os.pathsep.join((str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")))
    process = subprocess.Popen(
        [sys.executable, "-c", script, tmp_path],
        env=dict(os.environ, PYTHONPATH=paths),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    removed = 0
    # Twice, for a run that finds its vectors gone three times in a row gives up and says so.
    for least in (350, 200):
        while info(tmp_path / "vectors").entries < least:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.02)
        removed += prune(tmp_path / "vectors", 0).removed
    (tmp_path / "stop").touch()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert removed >= 550
    assert int(out) > 300


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("2GB", 2 * 10**9),
        ("2G", 2 * 10**9),
        ("3k", 3000),
        ("2 gb", 2 * 10**9),
        ("1.5GiB", 3 * 2**29),
        ("10kB", 10_000),
    ],
)
def test_sizes(text, size):
    """Sizes are read in thousands and in powers of two."""
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1", "2 XB", "1e9", "2i", "2Gi"])
def test_no_sizes(text):
    """Another text is a usage error that shows how sizes are written."""
    with pytest.raises(UsageError, match="500MiB"):
        parse_size(text)


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (1536, "1.5 KB"), (123_456_789, "123.5 MB"), (2 * 10**15, "2.0 PB")]
)
def test_sizes_are_shown(size, text):
    """One digit behind the point, and a unit."""
    assert show_size(size) == text


@pytest.mark.parametrize("when", [1e300, -1e300, "soon", 9e15, None])
def test_a_use_at_no_time_is_not_known(tmp_path, when):
    """Whatever another program noted as the last use: the rest is described."""
    fill(tmp_path, 2)
    with closing(sqlite3.connect(tmp_path / "cache.db")) as database, database:
        database.execute("UPDATE Cache SET access_time = ?, expire_time = ?", (when, when))
    (model,) = info(tmp_path).models
    assert (model.vectors, model.last_used) == (2, "not known")
