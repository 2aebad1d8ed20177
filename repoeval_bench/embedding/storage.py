"""Vectors and other results of models on disk, each stored with a checksum over value and key."""

import hashlib
import sqlite3
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from diskcache import Cache, Disk, Timeout
from diskcache.core import MODE_RAW

from repoeval_bench.core.errors import CacheError

MEND = "run repoeval-bench cache verify --delete, and what it removes is computed again"
"""The way out where single entries are broken."""

DELETE = "delete that folder, and the vectors are computed again"
"""The way out where the database itself is broken."""

FILE = "cache.db"
"""diskcache's name of the database in its folder."""

_SETTINGS = {
    "eviction_policy": "none",
    "size_limit": 2**50,
    "cull_limit": 0,
    "disk_min_file_size": 2**30,  # no value is in a file of its own
    "sqlite_auto_vacuum": 0,
    "sqlite_cache_size": 1024,  # pages: 32 MiB; diskcache's default would be 256 MiB
    # Rows of 1.5 kB waste a third of sqlite's default pages. The size must be set before the journal's mode. diskcache
    # sets pragmas in the order of their names: capitals sort first, and sqlite ignores case.
    "sqlite_PAGE_SIZE": 32768,
}

Kind = Literal["vector", "tokens", "read", "score", "completion"]
"""Kinds of entries: a vector is float32 bytes. A text's tokens, or how many of its characters are read, are eight
bytes. A pair's score and its tokens are four bytes each. A completion is JSON."""

SEAL_BYTES = 8
"""Length of the checksum behind each value: BLAKE2b over the value, keyed by the entry's key."""


class ForeignError(Exception):
    """An entry that this program did not write."""


class RawDisk(Disk):  # type: ignore[misc]
    """Reads keys and values that are bytes, and refuses pickles and files, unread."""

    # diskcache would unpickle them: whoever can write the folder could run code in the reader (CVE-2025-69872).

    def get(self, key: Any, raw: bool) -> bytes:
        """Return a key of the database."""
        return _own_bytes(key, bool(raw))

    def fetch(self, mode: int, filename: str | None, value: Any, _read: bool) -> bytes:
        """Return a value of the database."""
        return _own_bytes(value, mode == MODE_RAW and filename is None)


def _own_bytes(content: Any, plain: bool) -> bytes:
    if not plain or not isinstance(content, bytes):
        raise ForeignError
    return content


def seal(key: bytes, value: bytes) -> bytes:
    """The checksum of this value under this key."""
    return hashlib.blake2b(value, digest_size=SEAL_BYTES, key=key).digest()


def unsealed(key: bytes, value: bytes) -> bytes | None:
    """Return the value without its seal; None where the seal is not that of this key and value."""
    if len(key) > 64:
        return None
    content = value[:-SEAL_BYTES]
    return content if len(value) > SEAL_BYTES and seal(key, content) == value[-SEAL_BYTES:] else None


def key_prefix(kind: Kind, *pieces: str) -> bytes:
    """SHA-256 over all that decides a value except the last text: the model's identity first."""
    parts = b"".join(hashlib.sha256(piece.encode("utf-8", "surrogatepass")).digest() for piece in (kind, *pieces))
    return hashlib.sha256(parts).digest()


def text_key(prefix: bytes, text: str) -> bytes:
    """SHA-256 over a prefix, which has a fixed length, and a text: the key of the text's value."""
    return hashlib.sha256(prefix + text.encode("utf-8", "surrogatepass")).digest()


class VectorCache:
    """SHA-256 digest -> bytes, in one diskcache folder. A value that changed since it was written is a CacheError."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with self.explained("opened"):
            self.database = Cache(str(folder), disk=RawDisk, **_SETTINGS)
        # Closed with the last reference to it: a connection refers to itself, and would be open until Python looks for
        # garbage.
        weakref.finalize(self, self.database.close)

    def present(self, keys: Iterable[bytes]) -> set[bytes]:
        """Return those of the keys that have an entry."""
        with self.explained("read"):
            return {key for key in keys if key in self.database}

    def read(self, keys: Iterable[bytes]) -> list[bytes | None]:
        """Return the value of each key, None where there is none; one that has changed since is a CacheError."""
        with self.explained("read"):
            return [self._unsealed(key, self.database.get(key)) for key in keys]

    def _unsealed(self, key: bytes, sealed: bytes | None) -> bytes | None:
        if sealed is None:
            return None
        value = unsealed(key, sealed)
        if value is None:
            raise CacheError(
                f"the vector cache {self.folder} holds an entry that has changed since it was written "
                f"(its checksum is wrong); {MEND}"
            )
        return value

    def write(self, values: Mapping[bytes, bytes]) -> None:
        """Store all values in one transaction: after a kill all of them are there, or none."""
        with self.explained("written"), self.database.transact():
            for key, value in values.items():
                self.database.add(key, value + seal(key, value))

    def flush(self) -> None:
        """Nothing waits to be written here."""

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    @contextmanager
    def explained(self, verb: str) -> Iterator[None]:
        """Turn each fault of the database into a CacheError: "cannot be `verb`", the reason and the way out."""
        try:
            yield
        except ForeignError as error:
            raise CacheError(
                f"the vector cache {self.folder} holds an entry that was not written by this program; {DELETE}"
            ) from error
        except Timeout as error:
            raise CacheError(
                f"the vector cache {self.folder} cannot be {verb}: another process is writing; run the same command "
                "again when that is done"
            ) from error
        except (OSError, sqlite3.Error) as error:
            # A full disk ends the transaction by itself; what diskcache then fails to roll back is not the reason.
            reason = error.__context__ if isinstance(error.__context__, sqlite3.Error) else error
            raise CacheError(
                f"the vector cache {self.folder} cannot be {verb}: {reason}; set REPOEVAL_HOME to a folder that can be "
                f"written, or {DELETE}"
            ) from error


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """The cache's folder, its bytes on disk, and its entries."""

    folder: str
    bytes_on_disk: int
    entries: int


@dataclass(frozen=True, slots=True)
class Verified:
    """The number of entries that were read, of those that are broken, and of those that were removed."""

    folder: str
    entries: int
    broken: int
    removed: int

    @property
    def passed(self) -> bool:
        """Return whether no broken entry is left."""
        return self.removed == self.broken


def info(folder: Path) -> CacheInfo:
    """Describe the cache in a folder; raises CacheError."""
    if not (folder / FILE).exists():
        return CacheInfo(str(folder), 0, 0)
    cache = VectorCache(folder)
    with cache.explained("read"):
        entries = len(cache.database)
    cache.close()
    return CacheInfo(str(folder), sum(path.stat().st_size for path in folder.iterdir() if path.is_file()), entries)


def verify(folder: Path, *, delete: bool = False) -> Verified:
    """Read each entry and check its seal; with `delete`, remove what is broken."""
    if not (folder / FILE).exists():
        return Verified(str(folder), 0, 0, 0)
    cache = VectorCache(folder)
    broken: list[bytes] = []
    entries = 0
    with cache.explained("read"):
        if faults := cache.database.check():  # of a broken structure no entry can be removed by itself
            raise CacheError(f"the vector cache {folder} is damaged: {faults[0].message}; {DELETE}")
        for key in cache.database:
            if (value := cache.database.get(key)) is not None:  # another process may have removed it
                entries += 1
                if unsealed(key, value) is None:
                    broken.append(key)
    if delete:
        with cache.explained("written"):
            for key in broken:
                cache.database.delete(key)
    cache.close()
    return Verified(str(folder), entries, len(broken), len(broken) if delete else 0)
