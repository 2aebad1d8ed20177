"""What diskcache's public interface lacks: the only file that knows its tables and its connection.

Its `add`, `touch` and `transact` write entries. Left for here: looking up and reading in bulk (one by one takes several
times as long), lists of entries, entries whose key is not valid, and folders that cannot be written.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from diskcache import Cache

from repoeval_bench.core.errors import CacheError
from repoeval_bench.embedding.disk import FILE, KEPT, RawDisk


class Database(Cache):  # type: ignore[misc]  # diskcache has no type information
    """diskcache's database in a folder that can be written."""

    def get_many(self, keys: Sequence[bytes]) -> Iterator[tuple[bytes, bytes, float | None]]:
        """(key, value, when it expires) of each key that has an entry, in no order."""
        for key, mode, filename, value, expires in self._rows("key, mode, filename, value, expire_time", keys):
            yield key, self.disk.fetch(mode, filename, value, read=False), expires

    def present(self, keys: Sequence[bytes]) -> set[bytes]:
        """Those of the keys that have an entry."""
        return {key for (key,) in self._rows("key", keys)}

    def _rows(self, columns: str, keys: Sequence[bytes]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(keys), 500):
            part = keys[start : start + 500]
            where = f"raw = 1 AND key IN ({','.join('?' * len(part))})"
            yield from self._con.execute(f"SELECT {columns} FROM Cache WHERE {where}", part)  # noqa: S608

    def summary(self) -> Iterator[tuple[int, bytes | None, int, float]]:
        """(row id, tag, bytes of the value, time of the last use) of each entry, the least recently used first."""
        used = f"COALESCE(expire_time - {KEPT}, access_time)"  # entries of version 0.1 do not expire
        yield from self._con.execute(f"SELECT rowid, tag, LENGTH(value), {used} FROM Cache ORDER BY 4, 1")  # noqa: S608

    def entries(self, kind: bytes = b"") -> Iterator[tuple[Any, ...]]:
        """(row id, key, raw, mode, file name, tag, value) of each entry, or of those of one kind, unchecked."""
        where = "WHERE SUBSTR(tag, 1, 1) = ?" if kind else ""
        select = f"SELECT rowid, key, raw, mode, filename, tag, value FROM Cache {where} ORDER BY rowid"  # noqa: S608
        yield from self._con.execute(select, (kind,) if kind else ())

    def faults(self) -> list[str]:
        """What sqlite finds wrong with the database's structure."""
        return [words for (words,) in self._con.execute("PRAGMA integrity_check(3)") if words != "ok"]

    def stored_bytes(self) -> int:
        """Bytes of the database itself, without the log beside it."""
        ((size,),) = self._con.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        return int(size)

    def delete_rows(self, rows: Sequence[int]) -> None:
        """Delete entries, in transactions short enough for another process to write in between."""
        for start in range(0, len(rows), 1000):
            with self.transact():
                self._con.executemany("DELETE FROM Cache WHERE rowid = ?", zip(rows[start : start + 1000], strict=True))

    def pack(self) -> None:
        """Give the room of deleted entries back to the disk; sqlite3.Error where others keep the database busy."""
        self._con.execute("VACUUM")
        self._con.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class ReadOnlyDatabase(Database):
    """The database in a folder that cannot be written; another process may write to it meanwhile.

    What that process wrote last is never passed over: where its log cannot be read, this is a CacheError.
    """

    def __init__(self, folder: Path) -> None:
        self._directory, self._disk, self._local = str(folder), RawDisk(str(folder)), threading.local()
        self._path = (folder / FILE).absolute()

    @property
    def _con(self) -> sqlite3.Connection:
        # A forked process must not go on with its parent's connection.
        if getattr(self._local, "pid", None) != os.getpid():
            self._local.pid, self._local.con = os.getpid(), self._connect()
        return self._local.con  # type: ignore[no-any-return]

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(f"{self._path.as_uri()}?mode=ro", uri=True, timeout=60, isolation_level=None)
        try:
            connection.execute("SELECT 1 FROM Cache")
        except sqlite3.OperationalError:
            connection.close()  # sqlite wants to write an index of the log even without a log
            log = self._path.with_name(f"{FILE}-wal")
            if log.exists() and log.stat().st_size:
                raise CacheError(
                    f"the vector cache {self._directory} is read-only, and {log.name} beside it holds entries that "
                    "cannot be read here; run repoeval-bench cache info where the cache can be written, or set "
                    "REPOEVAL_HOME to another folder"
                ) from None
            connection = sqlite3.connect(f"{self._path.as_uri()}?immutable=1", uri=True, isolation_level=None)
        return connection
