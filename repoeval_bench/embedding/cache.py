"""Vectors on disk: diskcache with a Disk that never pickles, and the embedder that reads through it.

diskcache unpickles by default, so whoever can write its folder runs code in the reader (CVE-2025-69872). Here keys
are SHA-256 digests, vectors are raw little-endian float32 bytes and token counts are integers; an entry of any
other kind is refused.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from typing import TYPE_CHECKING, Any

import numpy as np
from diskcache import Cache, Disk

from repoeval_bench.errors import CacheError
from repoeval_bench.files import readable
from repoeval_bench.progress import progress
from repoeval_bench.types import CharSpan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from repoeval_bench.embedding.encoder import SentenceTransformerEncoder
    from repoeval_bench.types import Role

_RAW = 1  # diskcache's mode for values that sqlite holds as they are
_PAGE_BYTES = 32768  # rows of 1.5 kB waste a third of sqlite's default pages


class RawDisk(Disk):  # type: ignore[misc]  # diskcache has no type information
    """Stores bytes and integers as sqlite holds them; refuses everything that diskcache would pickle."""

    def put(self, key: object) -> tuple[object, bool]:
        """A key's form in the database: bytes only."""
        if not isinstance(key, bytes):
            raise CacheError(f"a cache key is {type(key).__name__}, not bytes")
        return sqlite3.Binary(key), True

    def get(self, key: object, raw: bool) -> bytes:
        """A key as it was put; one that was pickled is refused."""
        if not raw or not isinstance(key, bytes):
            raise CacheError(f"the vector cache {self._directory} holds a foreign key; delete that folder")
        return key

    def store(
        self,
        value: object,
        read: bool,  # noqa: ARG002 - diskcache's signature
        key: object = None,  # noqa: ARG002
    ) -> tuple[int, int, None, object]:
        """A value's form in the database: (size, mode, file name, value)."""
        if isinstance(value, bytes):
            return len(value), _RAW, None, sqlite3.Binary(value)
        if type(value) is int:
            return 0, _RAW, None, value
        raise CacheError(f"a cache value is {type(value).__name__}, not bytes or int")

    def fetch(self, mode: int, filename: str | None, value: object, read: bool) -> object:  # noqa: ARG002
        """A value as it was stored; a pickled one, or one in a file of its own, is refused unread."""
        if mode != _RAW or not isinstance(value, bytes | int):
            raise CacheError(
                f"the vector cache {self._directory} holds an entry that was not written by this program; "
                "it was not read, delete that folder"
            )
        return value


class VectorCache:
    """SHA-256 digest -> float32 vector, and text digest -> token count, in one diskcache folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self._cache = Cache(
                str(folder),
                disk=RawDisk,
                eviction_policy="none",
                size_limit=2**50,
                cull_limit=0,
                sqlite_page_size=_PAGE_BYTES,
            )
        except (OSError, sqlite3.Error) as error:
            raise self._failed("opened", error) from error

    def read(self, keys: Iterable[bytes]) -> list[Any]:
        """The value of each key, None where there is none."""
        try:
            with self._cache.transact():
                return [self._cache.get(key) for key in keys]
        except (OSError, sqlite3.Error) as error:
            raise self._failed("read", error) from error

    def write(self, values: Mapping[bytes, bytes | int]) -> None:
        """Store all values in one transaction: after a kill either all of them stand or none."""
        try:
            with self._cache.transact():
                for key, value in values.items():
                    self._cache.set(key, value)
        except (OSError, sqlite3.Error) as error:
            raise self._failed("written", error) from error

    def close(self) -> None:
        """Close the database."""
        self._cache.close()

    def _failed(self, verb: str, error: Exception) -> CacheError:
        return CacheError(
            f"the vector cache {self.folder} cannot be {verb} ({error}); "
            "set REPOEVAL_HOME to a writable folder, or delete that one if it is broken"
        )


class CachedEmbedder:
    """An `Embedder` that encodes each distinct text once, ever.

    What was computed is kept batch by batch, so an interrupted run goes on where it stopped.
    """

    def __init__(self, encoder: SentenceTransformerEncoder, cache: VectorCache) -> None:
        self._encoder = encoder
        self._cache = cache
        self._identity = json.dumps(encoder.files.identity, sort_keys=True)
        self.n_encoded = 0

    @property
    def spec(self) -> str:
        """The spec that rebuilds this embedder."""
        return self._encoder.files.spec

    @property
    def identity(self) -> Mapping[str, Any]:
        """What decides a vector beside prompt and text."""
        return self._encoder.files.identity

    @property
    def max_tokens(self) -> int | None:
        """How many tokens the model reads, special ones included."""
        return self._encoder.files.max_tokens

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """Tokens of each text before truncation, special ones and the role's prompt included; cached."""
        keys = {text: self._key(text, role, "tokens") for text in dict.fromkeys(texts)}
        found = dict(zip(keys, self._cache.read(keys.values()), strict=True))
        missing = [text for text, value in found.items() if value is None]
        if missing:
            counts = dict(zip(missing, self._encoder.count_tokens(missing, role), strict=True))
            self._cache.write({keys[text]: count for text, count in counts.items()})
            found.update(counts)
        return [int(found[text]) for text in texts]

    def truncates(self, role: Role) -> bool:  # noqa: ARG002 - the same for both
        """Whether a text beyond `max_tokens` loses something: the model reads its head."""
        return True

    def read_chars(self, texts: Sequence[str], role: Role) -> list[CharSpan]:
        """The characters of each text that the model reads: those in front of the first token it drops; cached."""
        limit = self.max_tokens
        ends = {text: len(text) for text in texts}
        if limit is not None:
            long = [text for text, count in zip(texts, self.count_tokens(texts, role), strict=True) if count > limit]
            keys = {text: self._key(text, role, "read") for text in dict.fromkeys(long)}
            found = dict(zip(keys, self._cache.read(keys.values()), strict=True))
            if missing := [text for text, value in found.items() if value is None]:
                room = max(0, limit - self.count_tokens([""], role)[0])
                cut = {text: self._cut_at(text, room) for text in missing}
                self._cache.write({keys[text]: end for text, end in cut.items()})
                found.update(cut)
            ends.update({text: int(end) for text, end in found.items()})
        return [CharSpan(0, ends[text]) for text in texts]

    def _cut_at(self, text: str, room: int) -> int:
        starts = self.token_starts(readable(text))
        # A lone surrogate is read as more characters than it is; its text is nobody's source code.
        return min(starts[room], len(text)) if room < len(starts) else len(text)

    def token_starts(self, text: str) -> list[int]:
        """Character at which each token of the text begins, special ones left out."""
        return self._encoder.token_starts(text)

    def missing(self, texts: Iterable[str], role: Role) -> list[str]:
        """The distinct texts whose vectors are not cached yet, in order of first appearance."""
        distinct = list(dict.fromkeys(texts))
        values = self._cache.read(self._key(text, role, "vector") for text in distinct)
        return [text for text, value in zip(distinct, values, strict=True) if value is None]

    def ensure(self, texts: Iterable[str], role: Role) -> None:
        """Encode and keep every text that is not cached yet."""
        missing = self.missing(texts, role)
        if not missing:
            return
        tokens = self.count_tokens(missing, role)
        # The bar counts the tokens that are read: texts differ a hundredfold in what they cost.
        limit = self.max_tokens or max(tokens)
        with progress(
            desc=f"embed {len(missing)} {role} texts", unit="tokens", total=sum(min(n, limit) for n in tokens),
            unit_scale=True,
        ) as bar:  # fmt: skip
            for positions, vectors in self._encoder.encode_batches(missing, role, tokens):
                self._cache.write(
                    {
                        self._key(missing[position], role, "vector"): vector.astype("<f4").tobytes()
                        for position, vector in zip(positions, vectors, strict=True)
                    }
                )
                self.n_encoded += len(positions)
                bar.update(sum(min(tokens[position], limit) for position in positions))

    def encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """float32 (n, dim), unit rows, in the order of `texts`; (0, 0) for no text."""
        self.ensure(texts, role)
        values = self._cache.read(self._key(text, role, "vector") for text in texts)
        if not values:
            return np.zeros((0, 0), dtype=np.float32)
        dims = {len(value) if isinstance(value, bytes) else -1 for value in values}
        if len(dims) != 1 or (size := dims.pop()) <= 0 or size % 4:
            raise CacheError(
                f"the vector cache {self._cache.folder} holds vectors of different lengths for one model; "
                "delete that folder"
            )
        vectors = np.frombuffer(b"".join(values), dtype="<f4").reshape(len(values), -1)
        norms = np.einsum("ij,ij->i", vectors, vectors)
        if not np.all(np.abs(norms - 1) < 1e-4):
            raise CacheError(
                f"the vector cache {self._cache.folder} holds a vector that is not of unit length; delete that folder"
            )
        return vectors.astype(np.float32, copy=False)

    def _key(self, text: str, role: Role, what: str) -> bytes:
        """SHA-256 over all that decides the value, the pieces kept apart by zero bytes."""
        pieces = (what, self._identity, self._encoder.prompt(role), text)
        return hashlib.sha256(
            b"\0".join(hashlib.sha256(piece.encode("utf-8", "surrogatepass")).digest() for piece in pieces)
        ).digest()
