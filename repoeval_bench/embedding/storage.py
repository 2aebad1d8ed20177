"""Vectors and what else a model computes, on disk: every value has a checksum behind it, over value and key."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Literal

from diskcache import Timeout

from repoeval_bench.core.errors import CacheError
from repoeval_bench.embedding.database import MEND, BulkCache, ReadOnlyDatabase, can_be_written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from repoeval_bench.embedding.database import Reading

Kind = Literal["vector", "tokens", "read", "score", "identity"]
"""What an entry holds: a vector's float32 bytes; a text's tokens, or how many of its characters are read, as eight
bytes; a pair's score and its tokens, four bytes each; a model's identity as JSON."""

SEAL_BYTES = 8
"""Length of the checksum behind every value: BLAKE2b over the value, keyed by the entry's key."""

_SECONDS_FRESH = 86400  # an entry's last use is noted to the day, so that a warm run writes nothing


def seal(key: bytes, value: bytes) -> bytes:
    """The checksum that stands behind a value: of this value under this key."""
    return hashlib.blake2b(value, digest_size=SEAL_BYTES, key=key).digest()


def tag(kind: Kind, identity: str) -> bytes:
    """Eight bytes that say of an entry what it holds and for which model: the kind's letter and a digest's start."""
    return kind[0].encode() + hashlib.sha256(identity.encode()).digest()[:7]


def key_prefix(kind: Kind, *pieces: str) -> bytes:
    """SHA-256 over all that decides a value beside the last text: the model's identity first."""
    parts = b"".join(hashlib.sha256(piece.encode("utf-8", "surrogatepass")).digest() for piece in (kind, *pieces))
    return hashlib.sha256(parts).digest()


def text_key(prefix: bytes, text: str) -> bytes:
    """SHA-256 over a prefix, which has a fixed length, and a text: the key of the text's value."""
    return hashlib.sha256(prefix + text.encode("utf-8", "surrogatepass")).digest()


class VectorCache:
    """SHA-256 digest -> bytes, in one diskcache folder. What is read is what was written, or a CacheError.

    A folder that cannot be written is read all the same. What is written then lives as long as this object, and
    `notify` gets a line that says so. `database` is for housekeeping; everything else reads and writes here.
    """

    def __init__(self, folder: Path, notify: Callable[[str], None] = lambda _: None) -> None:
        self.folder = folder
        self._notify = notify
        self._known: set[str] = set()
        self._unkept: dict[bytes, bytes] = {}
        self._told: set[str] = set()
        self.read_only = not can_be_written(folder)
        self.database: Reading
        with self.explained("opened"):
            if self.read_only:
                self.database = ReadOnlyDatabase(folder)
            else:
                self.database = self._writer = BulkCache.open(folder)

    @property
    def writer(self) -> BulkCache:
        """The database, to be changed; a CacheError where it is read-only."""
        if self.read_only:
            raise CacheError(f"the vector cache {self.folder} is read-only; run this where it can be written")
        return self._writer

    @property
    def mend(self) -> str:
        """The way out where single entries are broken."""
        return _ELSEWHERE if self.read_only else MEND

    def tell(self, what_follows: str) -> None:
        """Where nothing can be kept, say so and what follows from it; the same thing is said once."""
        if self.read_only and what_follows not in self._told:
            self._told.add(what_follows)
            line = f"mind: the vector cache {self.folder} is read-only, so nothing new is kept in it; {what_follows}"
            self._notify(line)

    def present(self, keys: Iterable[bytes]) -> set[bytes]:
        """Those of the keys that have an entry."""
        wanted = list(keys)
        with self.explained("read"):
            return self.database.present(wanted) | self._unkept.keys() & wanted

    def read(self, keys: Iterable[bytes]) -> list[bytes | None]:
        """The value of each key, None where there is none; one that has changed since is a CacheError."""
        wanted = list(keys)
        found = {key: self._unkept[key] for key in wanted if key in self._unkept}
        stale: list[int] = []
        old = time.time() - _SECONDS_FRESH
        with self.explained("read"):
            for row, used, key, sealed in self.database.get_many(wanted):
                value = sealed[:-SEAL_BYTES]
                if seal(key, value) != sealed[-SEAL_BYTES:]:
                    raise CacheError(
                        f"the vector cache {self.folder} holds an entry that has changed since it was written "
                        f"(its checksum is wrong); {self.mend}"
                    )
                found[key] = value
                if used < old:
                    stale.append(row)
            if stale and not self.read_only:
                # Whoever writes for longer than a minute may: the note is made by the next run that reads.
                with suppress(Timeout):
                    self.writer.touch_many(stale)
        return [found.get(key) for key in wanted]

    def write(self, values: Mapping[bytes, bytes], kind: Kind, identity: str) -> None:
        """Store all values in one transaction: after a kill either all of them stand or none.

        `identity` is the model they were made with, in JSON; it is kept once beside them.
        """
        if self.read_only:
            self._unkept.update(values)
            return
        label = tag(kind, identity)
        rows = [(key, label, value + seal(key, value)) for key, value in values.items()]
        if identity not in self._known:
            key, value = hashlib.sha256(b"identity\0" + identity.encode()).digest(), identity.encode()
            rows.append((key, tag("identity", identity), value + seal(key, value)))
        with self.explained("written"):
            self.writer.set_many(rows)
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
            words = str(reason) or "busy"
            way = _ELSEWHERE if self.read_only else _way_out(words)
            raise CacheError(f"the vector cache {self.folder} cannot be {verb}: {words}; {way}") from error
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            # A damaged or foreign database that sqlite can read makes diskcache, or us, meet what it never wrote.
            raise CacheError(
                f"the vector cache {self.folder} holds what was not written by this program "
                f"({type(error).__name__}: {error}); {_ELSEWHERE if self.read_only else _DELETE}"
            ) from error


_DELETE = "delete that folder, and the vectors are computed again"
_ELSEWHERE = (
    "it is read-only here: mend it where it can be written (repoeval-bench cache verify), or set REPOEVAL_HOME to "
    "another folder"
)


def _way_out(words: str) -> str:
    """The way out that goes with what sqlite says."""
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
    return next((way for word, way in ways.items() if word in words), f"make it readable and writable, or {_DELETE}")
