"""Whatever happens to the database file: what is read is what was written, or nothing, or an error; never a wrong value."""

import random

import pytest

from repoeval_bench.core.errors import CacheError
from repoeval_bench.embedding.storage import VectorCache

VALUES = {bytes([i]) * 32: random.Random(i).randbytes(96) for i in range(60)}


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """The bytes of a database with sixty small entries, closed as a program that ends closes it."""
    folder = tmp_path_factory.mktemp("whole")
    cache = VectorCache(folder)
    cache.write(VALUES)
    cache.close()
    assert [path.name for path in folder.iterdir()] == ["cache.db"]
    return (folder / "cache.db").read_bytes()


def read_back(folder, content):
    """Return what the cache gives for every key of a database of this content; None where it refuses."""
    (folder / "cache.db").write_bytes(content)
    cache = None
    try:
        cache = VectorCache(folder)
        return dict(zip(VALUES, cache.read(VALUES), strict=True))
    except CacheError as refusal:
        sentence = str(refusal)
    finally:
        if cache:
            cache.close()
    assert str(folder) in sentence
    assert "; " in sentence, "no way out is named"
    return None


def test_any_flipped_bit(database, tmp_path):
    """Bits of the file are flipped one at a time, all over it: no key ever has another value."""
    draw = random.Random(0)
    # Most of a small database is empty pages: half of the bits are drawn where the entries lie.
    entries = [database.find(value) for value in VALUES.values()]
    assert -1 not in entries
    places = [draw.randrange(len(database)) for _ in range(40)] + [draw.choice(entries) + i for i in range(-60, 104, 5)]
    refused = 0
    for offset in places:
        content = bytearray(database)
        content[offset] ^= 1 << draw.randrange(8)
        values = read_back(tmp_path, bytes(content))
        refused += values is None
        wrong = {key for key, value in (values or {}).items() if value not in (None, VALUES[key])}
        assert not wrong, f"bit of byte {offset}"
    assert refused > 20, "flips within an entry must be noticed"


@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 0.7])
def test_a_truncated_database_is_refused(database, tmp_path, share):
    assert read_back(tmp_path, database[: int(share * len(database))]) is None


def test_a_database_that_lost_its_last_bytes(database, tmp_path):
    """sqlite reads on where only the end of its last page is gone; then every value is still the right one."""
    assert read_back(tmp_path, database[:-100]) in (None, VALUES)


def test_an_empty_file_is_an_empty_cache(tmp_path):
    """A process that is killed while it makes the database leaves a file of no bytes: nothing is cached, that is all."""
    assert set(read_back(tmp_path, b"").values()) == {None}
