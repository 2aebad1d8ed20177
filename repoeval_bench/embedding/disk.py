"""diskcache's public interface, set up for this cache: bytes as they are, larger pages, nothing ever unpickled.

diskcache unpickles by default, so anyone who can write its folder runs code in the reader (CVE-2025-69872). Here keys
are SHA-256 digests and values raw bytes; an entry of any other kind is refused unread. The meaning of the bytes is not
known here.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from diskcache import Disk

from repoeval_bench.core.errors import CacheError

MEND = "run repoeval-bench cache verify --delete, and what it removes is computed again"
"""The way out where single entries are broken."""

FILE = "cache.db"
"""diskcache's name of the database in its folder."""

RAW = 1
"""diskcache's mode for values that sqlite holds as they are."""

KEPT = 100 * 365 * 86400.0
"""Seconds from an entry's last use until it expires. diskcache reports only the expiry, which gives the last use."""

SETTINGS: Mapping[str, object] = {
    "eviction_policy": "none",
    "size_limit": 2**50,
    "cull_limit": 0,
    "sqlite_auto_vacuum": 0,
    "sqlite_cache_size": 1024,  # pages, so 32 MiB; by default it would be 256 MiB
}

_PAGE_BYTES = 32768  # rows of 1.5 kB waste a third of sqlite's default pages


class RawDisk(Disk):  # type: ignore[misc]  # diskcache has no type information
    """Stores bytes as sqlite holds them; refuses everything that diskcache would pickle."""

    def put(self, key: object) -> tuple[object, bool]:
        """A key's form in the database: bytes only."""
        if not isinstance(key, bytes):
            raise CacheError(f"a cache key is {type(key).__name__}, not bytes")
        return key, True

    def get(self, key: object, raw: bool) -> bytes:
        """A key as it was put; a pickled one is refused."""
        if not raw or not isinstance(key, bytes):
            raise self._refusal()
        return key

    def store(
        self,
        value: object,
        read: bool,  # noqa: ARG002 - diskcache's signature
        key: object = None,  # noqa: ARG002
    ) -> tuple[int, int, None, object]:
        """A value's form in the database: (size, mode, file name, value)."""
        if not isinstance(value, bytes):
            raise CacheError(f"a cache value is {type(value).__name__}, not bytes")
        return len(value), RAW, None, value

    def fetch(self, mode: int, filename: str | None, value: object, read: bool) -> bytes:  # noqa: ARG002
        """A value as it was stored; one that is pickled or in a file of its own is refused unread."""
        if mode != RAW or not isinstance(value, bytes):
            raise self._refusal()
        return value

    def _refusal(self) -> CacheError:
        return CacheError(
            f"the vector cache {self._directory} holds an entry that was not written by this program; "
            f"it was not read; {MEND}"
        )


def prepare(folder: Path) -> None:
    """Make a folder with an empty database of large pages, unless there is one."""
    folder.mkdir(parents=True, exist_ok=True)
    # diskcache asks for a page size when it has already chosen the journal; then sqlite keeps its own.
    with closing(sqlite3.connect(folder / FILE, timeout=60, isolation_level=None)) as database:
        if database.execute("PRAGMA page_count").fetchone() == (0,):
            database.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
            database.execute("BEGIN IMMEDIATE")
            database.execute("PRAGMA user_version = 1")
            database.execute("COMMIT")


def can_be_written(folder: Path) -> bool:
    """False where the file system or the permissions say that the folder's database can only be read."""
    path = folder / FILE
    return not path.exists() or (os.access(path, os.W_OK) and os.access(folder, os.W_OK))
