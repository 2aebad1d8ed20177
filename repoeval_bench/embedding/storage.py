"""Vectors and other results of models on disk, each stored with a checksum over value and key."""

from __future__ import annotations

import hashlib
import sqlite3
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from diskcache import Timeout

from repoeval_bench.core.errors import CacheError, in_one_line
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.embedding.database import MEND, Database

Kind = Literal["vector", "tokens", "read", "score", "completion", "identity"]
"""Kinds of entries: a vector is float32 bytes. A text's tokens, or how many of its characters are read, are eight
bytes. A pair's score and its tokens are four bytes each. A completion and a model's identity are JSON."""

SEAL_BYTES = 8
"""Length of the checksum behind each value: BLAKE2b over the value, keyed by the entry's key."""


def seal(key: bytes, value: bytes) -> bytes:
    """The checksum of this value under this key."""
    return hashlib.blake2b(value, digest_size=SEAL_BYTES, key=key).digest()


def tag(kind: Kind, identity: str) -> bytes:
    """Eight bytes that say what an entry holds and for which model: the kind's letter and the start of a digest."""
    return kind[0].encode() + hashlib.sha256(identity.encode()).digest()[:7]


def model_name(identity: Mapping[str, Any], *, precisely: bool = False) -> str:
    """The name of a model for people, with its precision if `precisely`."""
    name = identity.get("model", identity.get("plug_in", ""))
    return f"{name} {identity['precision']}" if precisely and "precision" in identity else str(name)


def key_prefix(kind: Kind, *pieces: str) -> bytes:
    """SHA-256 over all that decides a value except the last text: the model's identity first."""
    parts = b"".join(hashlib.sha256(piece.encode("utf-8", "surrogatepass")).digest() for piece in (kind, *pieces))
    return hashlib.sha256(parts).digest()


def text_key(prefix: bytes, text: str) -> bytes:
    """SHA-256 over a prefix, which has a fixed length, and a text: the key of the text's value."""
    return hashlib.sha256(prefix + text.encode("utf-8", "surrogatepass")).digest()


class VectorCache:
    """SHA-256 digest -> bytes, in one diskcache folder. A value that changed since it was written is a CacheError.

    A folder that cannot be written is still read. What is written then lives as long as this object, and a
    notice says so. It is closed with the last reference to it. `timeout` is how many seconds to wait for another
    process that writes. `database` is for housekeeping; everything else reads and writes here.
    """

    def __init__(self, folder: Path, *, timeout: float = 60) -> None:
        self.folder = folder
        self.read_only = False
        self._known: set[str] = set()
        self._unkept: dict[bytes, bytes] = {}
        self._notified: set[str] = set()
        with self.explained("opened"):
            self.database = Database(folder, timeout)
        self.read_only = self.database.read_only
        # A connection refers to itself: without this it would be open until Python looks for garbage.
        weakref.finalize(self, self.database.close)

    @property
    def mend(self) -> str:
        """The way out where single entries are broken."""
        return _READ_ONLY if self.read_only else MEND

    def note(self, consequence: str) -> None:
        """Report once that nothing can be kept, and the consequence."""
        if self.read_only and consequence not in self._notified:
            self._notified.add(consequence)
            NOTICES.info(
                f"note: the vector cache {self.folder} is read-only, so nothing new is kept in it; {consequence}"
            )

    def present(self, keys: Iterable[bytes]) -> set[bytes]:
        """Those of the keys that have an entry."""
        with self.explained("read"):
            sought = list(keys)
            return self.database.present(sought).union(key for key in sought if key in self._unkept)

    def read(self, keys: Iterable[bytes]) -> list[bytes | None]:
        """The value of each key, None where there is none; one that has changed since is a CacheError."""
        sought = list(keys)
        values = {key: self._unkept[key] for key in sought if key in self._unkept}
        with self.explained("read"):
            for key, sealed in self.database.get_many(sought):
                value = sealed[:-SEAL_BYTES]
                if seal(key, value) != sealed[-SEAL_BYTES:]:
                    raise CacheError(
                        f"the vector cache {self.folder} holds an entry that has changed since it was written "
                        f"(its checksum is wrong); {self.mend}"
                    )
                values[key] = value
        return [values.get(key) for key in sought]

    def write(self, values: Mapping[bytes, bytes], kind: Kind, identity: str) -> None:
        """Store all values in one transaction: after a kill all of them are there, or none.

        `identity` is the model they were made with, in JSON; it is kept once beside them.
        """
        if self.read_only:
            self._unkept.update(values)
            return
        with self.explained("written"), self.database.cache.transact():
            self._add(values, tag(kind, identity))
            if identity not in self._known:
                key = hashlib.sha256(b"identity\0" + identity.encode()).digest()
                self._add({key: identity.encode()}, tag("identity", identity))
        self._known.add(identity)

    def _add(self, values: Mapping[bytes, bytes], label: bytes) -> None:
        add = self.database.cache.add
        for key, value in values.items():
            add(key, value + seal(key, value), tag=label)

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
        except (OSError, sqlite3.Error, Timeout) as error:
            # A full disk ends the transaction by itself; what diskcache then fails to roll back is not the reason.
            reason = error.__context__ if isinstance(error.__context__, sqlite3.Error) else error
            words = str(reason) or "busy"
            way = _READ_ONLY if self.read_only else _way_out(words)
            raise CacheError(f"the vector cache {self.folder} cannot be {verb}: {words}; {way}") from error
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            # In a damaged or foreign database that sqlite can read, diskcache and this class meet values of any kind.
            raise CacheError(
                f"the vector cache {self.folder} holds what was not written by this program "
                f"({in_one_line(error)}); {_READ_ONLY if self.read_only else _DELETE}"
            ) from error


_DELETE = "delete that folder, and the vectors are computed again"
_READ_ONLY = (
    "it is read-only here: mend it where it can be written (repoeval-bench cache verify), or set REPOEVAL_HOME to "
    "another folder"
)
_FREE_SPACE = "free some space there, or set REPOEVAL_HOME to a folder on another disk"
_WRITABLE = "set REPOEVAL_HOME to a folder that can be written"
_LATER = "another process has held it for a minute; run the same command again when that is done"

_WAYS_OUT: Mapping[str, str] = {
    "full": _FREE_SPACE,
    "No space": _FREE_SPACE,
    "readonly": _WRITABLE,
    "unable to open": _WRITABLE,
    "busy": _LATER,
    "locked": _LATER,
    "malformed": _DELETE,
    "not a database": _DELETE,
}
"""A part of what sqlite says -> the way out that goes with it."""


def _way_out(words: str) -> str:
    return next(
        (way for part, way in _WAYS_OUT.items() if part in words), f"make it readable and writable, or {_DELETE}"
    )
