"""Vectors on disk: diskcache with a Disk that never pickles, read and written in bulk, every entry sealed.

diskcache unpickles by default, so whoever can write its folder runs code in the reader (CVE-2025-69872). Here keys
are SHA-256 digests and values raw bytes with a checksum behind them; an entry of any other kind is refused.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal

from diskcache import Cache, Disk, Timeout

from repoeval_bench.errors import CacheError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

Kind = Literal["vector", "tokens", "read", "identity"]
"""What an entry holds: a vector's float32 bytes; a text's tokens, or how many of its characters are read, as eight
bytes; a model's identity as JSON."""

SEAL_BYTES = 8
"""Length of the checksum behind every value: BLAKE2b over the value, keyed by the entry's key."""

_RAW = 1  # diskcache's mode for values that sqlite holds as they are
_PAGE_BYTES = 32768  # rows of 1.5 kB waste a third of sqlite's default pages
_CACHED_PAGES = 1024  # 32 MiB; diskcache's own setting counts pages and would be 256 MiB
_KEYS_AT_ONCE = 500
_ROWS_AT_ONCE = 1000
_SECONDS_FRESH = 86400  # an entry's last use is noted to the day, so that a warm run writes nothing


def seal(key: bytes, value: bytes) -> bytes:
    """The checksum that stands behind a value: of this value under this key."""
    return hashlib.blake2b(value, digest_size=SEAL_BYTES, key=key).digest()


def tag(kind: Kind, identity: str) -> bytes:
    """Eight bytes that say of an entry what it holds and for which model: the kind's letter and a digest's start."""
    return kind[0].encode() + hashlib.sha256(identity.encode()).digest()[:7]


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


class BulkCache(Cache):  # type: ignore[misc]
    """diskcache's database, read and written many rows at a time through its own connection."""

    @classmethod
    def open(cls, folder: Path) -> BulkCache:
        """The cache in a folder, made where there is none."""
        folder.mkdir(parents=True, exist_ok=True)
        # diskcache asks for a page size when it has already chosen the journal; then sqlite keeps its own.
        with closing(sqlite3.connect(folder / "cache.db", timeout=60, isolation_level=None)) as database:
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

    def present(self, keys: Sequence[bytes]) -> set[bytes]:
        """Those of the keys that have an entry; their values are not read."""
        return {key for (key,) in self._rows("SELECT key FROM Cache WHERE raw = 1 AND key IN", keys)}

    def get_many(self, keys: Sequence[bytes]) -> Iterator[tuple[int, float, bytes, bytes]]:
        """(row id, time of last use, key, value) of every key that has an entry, in no order."""
        fetch = self.disk.fetch
        select = "SELECT rowid, access_time, key, mode, filename, value FROM Cache WHERE raw = 1 AND key IN"
        for row, used, key, mode, filename, value in self._rows(select, keys):
            yield row, used, key, fetch(mode, filename, value, read=False)

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

    def delete_many(self, rows: Sequence[int]) -> None:
        """Delete entries in transactions short enough for another process to write in between."""
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            with self.transact():
                part = rows[start : start + _ROWS_AT_ONCE]
                self._con.executemany("DELETE FROM Cache WHERE rowid = ?", ((row,) for row in part))

    def stored_bytes(self) -> int:
        """Bytes of the database itself, without what is logged beside it."""
        ((pages,),) = self._con.execute("PRAGMA page_count")
        ((page_bytes,),) = self._con.execute("PRAGMA page_size")
        return int(pages * page_bytes)

    def pack(self) -> None:
        """Write the database anew without the room of what was deleted; sqlite3.Error where others keep it busy."""
        self._con.execute("VACUUM")
        self._con.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _rows(self, select: str, keys: Sequence[bytes]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            part = keys[start : start + _KEYS_AT_ONCE]
            yield from self._con.execute(f"{select} ({','.join('?' * len(part))})", part)


class VectorCache:
    """SHA-256 digest -> bytes, in one diskcache folder. What is read is what was written, or a CacheError.

    `database` is for housekeeping; everything else reads and writes here.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: set[str] = set()
        with self.explained("opened"):
            self.database = BulkCache.open(folder)

    def present(self, keys: Iterable[bytes]) -> set[bytes]:
        """Those of the keys that have an entry."""
        with self.explained("read"):
            return self.database.present(list(keys))

    def read(self, keys: Iterable[bytes]) -> list[bytes | None]:
        """The value of each key, None where there is none; one that has changed since is a CacheError."""
        wanted = list(keys)
        found: dict[bytes, bytes] = {}
        stale: list[int] = []
        old = time.time() - _SECONDS_FRESH
        with self.explained("read"):
            for row, used, key, sealed in self.database.get_many(wanted):
                value = sealed[:-SEAL_BYTES]
                if seal(key, value) != sealed[-SEAL_BYTES:]:
                    raise CacheError(
                        f"the vector cache {self.folder} holds an entry that has changed since it was written "
                        f"(its checksum is wrong); {MEND}"
                    )
                found[key] = value
                if used < old:
                    stale.append(row)
            if stale:
                # Whoever writes for longer than a minute may: the note is made by the next run that reads.
                with suppress(Timeout):
                    self.database.touch_many(stale)
        return [found.get(key) for key in wanted]

    def write(self, values: Mapping[bytes, bytes], kind: Kind, identity: str) -> None:
        """Store all values in one transaction: after a kill either all of them stand or none.

        `identity` is the model they were made with, in JSON; it is kept once beside them.
        """
        label = tag(kind, identity)
        rows = [(key, label, value + seal(key, value)) for key, value in values.items()]
        if identity not in self._known:
            key, value = hashlib.sha256(b"identity\0" + identity.encode()).digest(), identity.encode()
            rows.append((key, tag("identity", identity), value + seal(key, value)))
        with self.explained("written"):
            self.database.set_many(rows)
        self._known.add(identity)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    @contextmanager
    def explained(self, verb: str) -> Iterator[None]:
        """Whatever goes wrong with the database leaves as a CacheError: "cannot be `verb`", and the way out."""
        try:
            yield
        except (OSError, sqlite3.Error, Timeout) as error:
            # A full disk ends the transaction by itself; what diskcache then fails to roll back is not the reason.
            reason = error.__context__ if isinstance(error.__context__, sqlite3.Error) else error
            raise CacheError(f"the vector cache {self.folder} cannot be {verb}: {_told(reason)}") from error
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            # A damaged or foreign database that sqlite can read makes diskcache, or us, meet what it never wrote.
            raise CacheError(
                f"the vector cache {self.folder} holds what was not written by this program "
                f"({type(error).__name__}: {error}); {_DELETE}"
            ) from error


_DELETE = "delete that folder, and the vectors are computed again"

MEND = "run repoeval-bench cache verify --delete, and what it removes is computed again"
"""The way out where single entries are broken."""


def _told(reason: BaseException) -> str:
    """What sqlite says, and the way out that goes with it."""
    words = str(reason) or "busy"
    ways = {
        "full": "free some space there, or set REPOEVAL_HOME to a folder on another disk",
        "No space": "free some space there, or set REPOEVAL_HOME to a folder on another disk",
        "readonly": "set REPOEVAL_HOME to a folder that can be written",
        "unable to open": "set REPOEVAL_HOME to a folder that can be written",
        "busy": "another process has held it for a minute; run the same command again when that is done",
        "locked": "another process has held it for a minute; run the same command again when that is done",
        "malformed": _DELETE,
        "not a database": _DELETE,
    }
    way = next((way for word, way in ways.items() if word in words), f"make it readable and writable, or {_DELETE}")
    return f"{words}; {way}"
