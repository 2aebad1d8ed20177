"""The cache's database in a folder: diskcache's public interface writes entries, and sqlite reads them in bulk.

diskcache reads one entry at a time, which takes twice as long, and cannot list the sizes of values. So this file knows
diskcache's table. Nothing is ever read through diskcache, which would unpickle it: whoever can write
the folder could run code in the reader (CVE-2025-69872). Keys are SHA-256 digests and values raw bytes. The meaning of
the bytes is not known here.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diskcache import Cache

from repoeval_bench.core.errors import CacheError

MEND = "run repoeval-bench cache verify --delete, and what it removes is computed again"
"""The way out where single entries are broken."""

FILE = "cache.db"
"""diskcache's name of the database in its folder."""

_RAW = 1  # diskcache's mode for values that sqlite holds as they are
_PAGE_BYTES = 32768  # rows of 1.5 kB waste a third of sqlite's default pages
_CACHED_PAGES = 1024  # 32 MiB; diskcache's default would be 256 MiB
_SETTINGS = {
    "eviction_policy": "none",
    "size_limit": 2**50,
    "cull_limit": 0,
    "disk_min_file_size": 2**30,  # no value is in a file of its own
    "sqlite_auto_vacuum": 0,
    "sqlite_cache_size": _CACHED_PAGES,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheEntry:
    """A row of the database, unchecked: another program may have written values of any type.

    `plain`: key and value are bytes that sqlite holds as they are.
    """

    row: int
    key: bytes
    plain: bool
    tag: bytes
    value: bytes


class Database:
    """The entries in a folder; read-only where the folder cannot be written.

    `timeout` is how many seconds to wait for another process that writes. The latest entries may be in sqlite's log,
    which sqlite reads by an index beside it. If that index cannot be made, opening is a CacheError: no entry is
    ignored.
    """

    def __init__(self, folder: Path, timeout: float = 60) -> None:
        self._folder, self._timeout, self._local = folder, timeout, threading.local()
        path = folder / FILE
        self.cache: Any = None
        """The diskcache.Cache that writes entries; None where the database can only be read."""
        if not path.exists() or (os.access(path, os.W_OK) and os.access(folder, os.W_OK)):
            _prepare(folder)
            self.cache = Cache(str(folder), timeout, **_SETTINGS)

    @property
    def read_only(self) -> bool:
        """Return whether the file system or the permissions say that the database can only be read."""
        return self.cache is None

    @property
    def _connection(self) -> sqlite3.Connection:
        # A thread has its own, and a forked process must not go on with its parent's.
        if getattr(self._local, "pid", None) != os.getpid():
            self._local.connection, self._local.pid = self._connect(), os.getpid()
        return self._local.connection  # type: ignore[no-any-return]

    def _connect(self) -> sqlite3.Connection:
        path = (self._folder / FILE).absolute()
        mode = "ro" if self.read_only else "rw"
        connection = _open(f"{path.as_uri()}?mode={mode}", self._timeout)
        try:
            connection.execute(f"PRAGMA cache_size = {_CACHED_PAGES}")
            connection.execute("SELECT 1 FROM Cache")
        except sqlite3.OperationalError:
            connection.close()  # sqlite wants to write an index of the log even without a log
            if not self.read_only:
                raise
            log = path.with_name(f"{FILE}-wal")
            if log.exists() and log.stat().st_size:
                raise CacheError(
                    f"the vector cache {self._folder} is read-only, and entries in {log.name} cannot be read here; run "
                    "repoeval-bench cache info where the cache can be written, or set REPOEVAL_HOME to another folder"
                ) from None
            connection = _open(f"{path.as_uri()}?immutable=1", self._timeout)
        return connection

    def close(self) -> None:
        """Close this thread's connections."""
        if getattr(self._local, "pid", None) == os.getpid():
            self._local.connection.close()
            self._local.pid = None
        if self.cache is not None:
            self.cache.close()

    def get_many(self, keys: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Yield (key, value) of each key that has an entry, in no order."""
        for key, mode, value in self._rows("key, mode, value", keys):
            if mode != _RAW or not isinstance(value, bytes):
                raise CacheError(
                    f"the vector cache {self._folder} holds an entry that was not written by this program; "
                    f"it was not read; {MEND}"
                )
            yield key, value

    def present(self, keys: Sequence[bytes]) -> set[bytes]:
        """Return the keys that have an entry."""
        return {key for (key,) in self._rows("key", keys)}

    def _rows(self, columns: str, keys: Sequence[bytes]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(keys), 500):
            part = keys[start : start + 500]
            where = f"raw = 1 AND key IN ({','.join('?' * len(part))})"
            yield from self._connection.execute(f"SELECT {columns} FROM Cache WHERE {where}", part)  # noqa: S608

    def summary(self) -> Iterator[tuple[bytes | None, int]]:
        """Yield (tag, number of bytes of the value) of each entry."""
        yield from self._connection.execute("SELECT tag, LENGTH(value) FROM Cache")

    def entries(self, kind: bytes = b"") -> Iterator[CacheEntry]:
        """Yield the entries, or those of one kind, in the order of rows."""
        plain = f"raw = 1 AND mode = {_RAW} AND filename IS NULL AND TYPEOF(key) || TYPEOF(value) = 'blobblob'"
        where = "WHERE SUBSTR(tag, 1, 1) = ?" if kind else ""
        select = f"SELECT rowid, key, {plain}, tag, value FROM Cache {where} ORDER BY rowid"  # noqa: S608
        for row, key, is_plain, tag, value in self._connection.execute(select, (kind,) if kind else ()):
            yield CacheEntry(row=row, key=key, plain=bool(is_plain), tag=tag, value=value)

    def faults(self) -> list[str]:
        """List what sqlite finds wrong with the database's structure."""
        return [words for (words,) in self._connection.execute("PRAGMA integrity_check(3)") if words != "ok"]

    def delete_rows(self, rows: Sequence[int]) -> None:
        """Delete entries, in transactions short enough for another process to write in between."""
        for start in range(0, len(rows), 1000):
            part = rows[start : start + 1000]
            where = f"rowid IN ({','.join(map(str, part))})"
            self._connection.execute(f"DELETE FROM Cache WHERE {where}")  # noqa: S608 - whole numbers


def _open(address: str | Path, timeout: float = 60) -> sqlite3.Connection:
    return sqlite3.connect(address, uri=isinstance(address, str), timeout=timeout, isolation_level=None)


def _prepare(folder: Path) -> None:
    """Make a folder with an empty database of large pages, unless there is one."""
    folder.mkdir(parents=True, exist_ok=True)
    # diskcache asks for a page size when it has already chosen the journal; then sqlite keeps its own.
    with closing(_open(folder / FILE)) as database:
        if database.execute("PRAGMA page_count").fetchone() == (0,):
            database.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
            database.execute("BEGIN IMMEDIATE")
            database.execute("PRAGMA user_version = 1")
            database.execute("COMMIT")
