"""The cache's database: diskcache's tables with a Disk that never pickles, read and written in bulk.

diskcache unpickles by default, so whoever can write its folder runs code in the reader (CVE-2025-69872). Here keys
are SHA-256 digests and values raw bytes; an entry of any other kind is refused. What the bytes mean is not known here.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

from diskcache import Cache, Disk

from repoeval_bench.core.errors import CacheError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

MEND = "run repoeval-bench cache verify --delete, and what it removes is computed again"
"""The way out where single entries are broken."""

_FILE = "cache.db"
_RAW = 1  # diskcache's mode for values that sqlite holds as they are
_PAGE_BYTES = 32768  # rows of 1.5 kB waste a third of sqlite's default pages
_CACHED_PAGES = 1024  # 32 MiB; diskcache's own setting counts pages and would be 256 MiB
_KEYS_AT_ONCE = 500
_ROWS_AT_ONCE = 1000


class RawDisk(Disk):  # type: ignore[misc]  # diskcache has no type information
    """Stores bytes as sqlite holds them; refuses everything that diskcache would pickle."""

    def put(self, key: object) -> tuple[object, bool]:
        """A key's form in the database: bytes only."""
        if not isinstance(key, bytes):
            raise CacheError(f"a cache key is {type(key).__name__}, not bytes")
        return sqlite3.Binary(key), True

    def get(self, key: object, raw: bool) -> bytes:
        """A key as it was put; one that was pickled is refused."""
        if not raw or not isinstance(key, bytes):
            raise self._foreign()
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
        return len(value), _RAW, None, sqlite3.Binary(value)

    def fetch(self, mode: int, filename: str | None, value: object, read: bool) -> bytes:  # noqa: ARG002
        """A value as it was stored; a pickled one, or one in a file of its own, is refused unread."""
        if mode != _RAW or not isinstance(value, bytes):
            raise self._foreign()
        return value

    def _foreign(self) -> CacheError:
        return CacheError(
            f"the vector cache {self._directory} holds an entry that was not written by this program; "
            f"it was not read; {MEND}"
        )


class Reading:
    """What is read of the database, many rows at a time, through `_con`."""

    disk: RawDisk
    _con: Any

    def close(self) -> None:
        """Close the database."""
        self._con.close()

    def present(self, keys: Sequence[bytes]) -> set[bytes]:
        """Those of the keys that have an entry; their values are not read."""
        return {key for (key,) in self._rows("SELECT key FROM Cache WHERE raw = 1 AND key IN", keys)}

    def get_many(self, keys: Sequence[bytes]) -> Iterator[tuple[int, float, bytes, bytes]]:
        """(row id, time of last use, key, value) of every key that has an entry, in no order."""
        fetch = self.disk.fetch
        select = "SELECT rowid, access_time, key, mode, filename, value FROM Cache WHERE raw = 1 AND key IN"
        for row, used, key, mode, filename, value in self._rows(select, keys):
            yield row, used, key, fetch(mode, filename, value, read=False)

    def groups(self) -> list[tuple[bytes | None, int, int, float]]:
        """(tag, entries, bytes of their values, time of the last use) of every tag."""
        select = "SELECT tag, COUNT(*), SUM(LENGTH(value)), MAX(access_time) FROM Cache GROUP BY tag"
        return self._con.execute(select).fetchall()  # type: ignore[no-any-return]

    def tagged(self, kind: bytes) -> list[tuple[Any, Any]]:
        """(key, value with its seal) of the entries of one kind, as they stand; nothing is checked."""
        return self._con.execute("SELECT key, value FROM Cache WHERE SUBSTR(tag, 1, 1) = ?", (kind,)).fetchall()  # type: ignore[no-any-return]

    def everything(self) -> Iterator[tuple[Any, ...]]:
        """(row id, key, raw, mode, file name, tag, value) of every entry, as they stand; nothing is checked."""
        yield from self._con.execute("SELECT rowid, key, raw, mode, filename, tag, value FROM Cache ORDER BY rowid")

    def oldest(self) -> list[tuple[int, bytes | None, int]]:
        """(row id, tag, bytes of the value) of every entry, the least recently used one first."""
        select = "SELECT rowid, tag, LENGTH(value) FROM Cache ORDER BY access_time, rowid"
        return self._con.execute(select).fetchall()  # type: ignore[no-any-return]

    def faults(self) -> list[str]:
        """What sqlite finds wrong with the database's structure."""
        found = [words for (words,) in self._con.execute("PRAGMA integrity_check(3)")]
        return [] if found == ["ok"] else found

    def stored_bytes(self) -> int:
        """Bytes of the database itself, without what is logged beside it."""
        ((pages,),) = self._con.execute("PRAGMA page_count")
        ((page_bytes,),) = self._con.execute("PRAGMA page_size")
        return int(pages * page_bytes)

    def _rows(self, select: str, keys: Sequence[bytes]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            part = keys[start : start + _KEYS_AT_ONCE]
            yield from self._con.execute(f"{select} ({','.join('?' * len(part))})", part)


class BulkCache(Cache, Reading):  # type: ignore[misc]
    """diskcache's database, read and written through its own connection."""

    @classmethod
    def open(cls, folder: Path) -> BulkCache:
        """The cache in a folder, made where there is none."""
        folder.mkdir(parents=True, exist_ok=True)
        # diskcache asks for a page size when it has already chosen the journal; then sqlite keeps its own.
        with closing(sqlite3.connect(folder / _FILE, timeout=60, isolation_level=None)) as database:
            if database.execute("PRAGMA page_count").fetchone() == (0,):
                database.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
                database.execute("BEGIN IMMEDIATE")
                database.execute("PRAGMA user_version = 1")
                database.execute("COMMIT")
        return cls(
            str(folder),
            disk=RawDisk,
            eviction_policy="none",
            size_limit=2**50,
            cull_limit=0,
            sqlite_auto_vacuum=0,
            sqlite_cache_size=_CACHED_PAGES,
        )

    def set_many(self, values: Iterable[tuple[bytes, bytes, bytes]]) -> None:
        """Store (key, tag, value) rows in one transaction; a key that has an entry by now keeps it."""
        now = time.time()
        rows = ((key, now, now, label, len(value), _RAW, value) for key, label, value in values)
        with self.transact():
            self._con.executemany(
                "INSERT INTO Cache (key, raw, store_time, access_time, access_count, tag, size, mode, value) "
                "VALUES (?, 1, ?, ?, 0, ?, ?, ?, ?) ON CONFLICT (key, raw) DO NOTHING",
                rows,
            )

    def touch_many(self, rows: Sequence[int]) -> None:
        """Note that these rows have been used now."""
        now = time.time()
        with self.transact():
            self._con.executemany("UPDATE Cache SET access_time = ? WHERE rowid = ?", ((now, row) for row in rows))

    def delete_many(self, rows: Sequence[int]) -> None:
        """Delete entries in transactions short enough for another process to write in between."""
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            with self.transact():
                part = rows[start : start + _ROWS_AT_ONCE]
                self._con.executemany("DELETE FROM Cache WHERE rowid = ?", ((row,) for row in part))

    def pack(self) -> None:
        """Write the database anew without the room of what was deleted; sqlite3.Error where others keep it busy."""
        self._con.execute("VACUUM")
        self._con.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class ReadOnlyDatabase(Reading):
    """The database in a folder that cannot be written: diskcache would write on opening it.

    Another process may well write meanwhile: then its log is read too. What it wrote last and could not take into the
    database is not passed over: where the log cannot be read, this is a CacheError.
    """

    def __init__(self, folder: Path) -> None:
        self.disk = RawDisk(str(folder))
        self._folder = folder
        self._pid, self._opened = os.getpid(), self._open()

    @property
    def _con(self) -> sqlite3.Connection:
        # A copy of the process must not go on with the connection of the one it was copied from.
        if self._pid != os.getpid():
            self._pid, self._opened = os.getpid(), self._open()
        return self._opened

    def _open(self) -> sqlite3.Connection:
        folder = self._folder
        connection = self._connect("mode=ro")
        try:
            connection.execute("SELECT 1 FROM Cache")
        except sqlite3.OperationalError:
            # sqlite wants to make an index of the log beside the database, even where there is no log.
            connection.close()
            log = folder / f"{_FILE}-wal"
            if log.exists() and log.stat().st_size:
                raise CacheError(
                    f"the vector cache {folder} is read-only, and what was written to it last still waits beside it in "
                    f"{log.name}; run repoeval-bench cache info where it can be written, which takes that in, or set "
                    "REPOEVAL_HOME to another folder"
                ) from None
            connection = self._connect("immutable=1")
        return connection

    def _connect(self, option: str) -> sqlite3.Connection:
        path = (self._folder / _FILE).absolute()
        return sqlite3.connect(f"{path.as_uri()}?{option}", uri=True, timeout=60, isolation_level=None)


def can_be_written(folder: Path) -> bool:
    """False for a folder whose database can be read only: its file system or its permissions say so."""
    path = folder / _FILE
    return not path.exists() or (os.access(path, os.W_OK) and os.access(folder, os.W_OK))
