"""What is in the vector cache, whether it is sound, and how it is kept small. No cache is made where there is none."""

from __future__ import annotations

import json
import math
import sqlite3
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from repoeval_bench.core.errors import CacheError
from repoeval_bench.embedding.cached_scorer import ENTRY
from repoeval_bench.embedding.storage import SEAL_BYTES, VectorCache, seal, tag

if TYPE_CHECKING:
    from pathlib import Path

_ROW_BYTES = 120  # what an entry takes in the table and its indexes beside its value
_IDENTITY = tag("identity", "")[:1]


@dataclass(frozen=True, slots=True)
class ModelShare:
    """What one model has in the cache: entries by kind, bytes of their values, and the day of the last use.

    `counts` are those of tokens and of characters read, `scores` those of pairs. `identity` is what decides what the
    model computes; None where the cache does not say.
    """

    identity: dict[str, Any] | None
    vectors: int
    scores: int
    counts: int
    vector_bytes: int
    score_bytes: int
    count_bytes: int
    last_used: str

    @property
    def name(self) -> str:
        """The model and its precision, as far as known."""
        if self.identity is None:
            return "not known"
        return " ".join(str(self.identity[key]) for key in ("model", "precision") if key in self.identity)


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """Where the cache is, bytes on disk, entries, and each model's share, the largest first."""

    folder: str
    bytes_on_disk: int
    entries: int
    models: tuple[ModelShare, ...]


@dataclass(frozen=True, slots=True)
class Verified:
    """How many entries were read, what is wrong with those that are broken, and how many of these were removed."""

    folder: str
    entries: int
    broken: tuple[str, ...]
    removed: int

    @property
    def passed(self) -> bool:
        """Whether no broken entry stays."""
        return self.removed == len(self.broken)


@dataclass(frozen=True, slots=True)
class Pruned:
    """Bytes of the database before and after, entries removed and left; `note` says why it could not be packed."""

    folder: str
    bytes_before: int
    bytes_after: int
    removed: int
    entries: int
    note: str


def _open(folder: Path) -> VectorCache | None:
    return VectorCache(folder) if (folder / "cache.db").exists() else None


def info(folder: Path) -> CacheInfo:
    """Describe the cache in a folder; raises CacheError."""
    cache = _open(folder)
    if cache is None:
        return CacheInfo(str(folder), 0, 0, ())
    with cache.explained("read"):
        identities = {
            tag("identity", value[:-SEAL_BYTES].decode())[1:]: json.loads(value[:-SEAL_BYTES])
            for key, value in cache.database.tagged(_IDENTITY)
            if _unsealed(key, value) is not None
        }
        groups: dict[bytes, list[tuple[bytes, int, int, float]]] = {}
        for label, entries, size, used in cache.database.groups():
            kind, owner = (label[:1], label[1:]) if isinstance(label, bytes) else (b"", b"")
            if not _is_identity(label):
                groups.setdefault(owner, []).append((kind, entries, size or 0, used or 0.0))
        models = [_share(identities.get(owner), group) for owner, group in groups.items()]
    cache.close()
    on_disk = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    models.sort(key=lambda model: (-model.vector_bytes, -model.score_bytes, model.name))
    entries = sum(model.vectors + model.scores + model.counts for model in models)
    return CacheInfo(str(folder), on_disk, entries, tuple(models))


def _share(identity: dict[str, Any] | None, groups: list[tuple[bytes, int, int, float]]) -> ModelShare:
    """A model's share, of its (kind, entries, bytes, last use)."""
    entries, sizes = Counter[bytes](), Counter[bytes]()
    for kind, n, size, _ in groups:
        shown = kind if kind in {b"v", b"s"} else b""
        entries[shown] += n
        sizes[shown] += size
    last_used = datetime.fromtimestamp(max(used for *_, used in groups), UTC).date().isoformat()
    return ModelShare(
        identity, entries[b"v"], entries[b"s"], entries[b""], sizes[b"v"], sizes[b"s"], sizes[b""], last_used
    )


def _is_identity(label: object) -> bool:
    """Whether an entry says what a model is: those are few and small, stay, and are not counted."""
    return isinstance(label, bytes) and label[:1] == _IDENTITY


def _unsealed(key: object, value: object) -> bytes | None:
    """The value without its seal; None where the seal is not that of this key and value."""
    if not isinstance(key, bytes) or not isinstance(value, bytes) or len(key) > 64:
        return None
    content = value[:-SEAL_BYTES]
    return content if len(value) > SEAL_BYTES and seal(key, content) == value[-SEAL_BYTES:] else None


def verify(folder: Path, *, delete: bool = False) -> Verified:
    """Read every entry and check its seal, its length and a vector's norm; with `delete`, remove what is broken.

    A database whose structure is broken is a CacheError: there no entry can be removed by itself.
    """
    cache = _open(folder)
    if cache is None:
        return Verified(str(folder), 0, (), 0)
    broken: dict[int, str] = {}
    lengths: dict[bytes, Counter[int]] = {}
    vectors: dict[int, tuple[bytes, int]] = {}
    entries = 0
    with cache.explained("read"):
        for row, key, raw, mode, filename, label, value in cache.database.everything():
            entries += not _is_identity(label)
            if reason := _fault(key, (raw, mode, filename), label, value):
                broken[row] = reason
            elif label[:1] == b"v":
                vectors[row] = label, len(value)
                lengths.setdefault(label, Counter())[len(value)] += 1
        for row, (label, length) in vectors.items():
            usual = lengths[label].most_common(1)[0][0]
            if length != usual:
                broken[row] = "a vector of another length than the model's others"
        # Last, for where a value is broken the structure often is not.
        if faults := cache.database.faults():
            raise sqlite3.DatabaseError(f"database disk image is malformed: {faults[0]}")
    if delete and broken:
        with cache.explained("written"):
            cache.writer.delete_many(list(broken))
    cache.close()
    return Verified(str(folder), entries, tuple(broken.values()), len(broken) if delete else 0)


def _fault(key: object, form: tuple[object, ...], label: object, value: object) -> str:
    """What is wrong with an entry by itself; nothing for a sound one."""
    if form != (1, 1, None):
        return "an entry that this program did not write; it was not read"
    content = _unsealed(key, value)
    if content is None:
        return "an entry without its seal, or changed since it was written"
    kind = label[:1] if isinstance(label, bytes) else b""
    if kind == b"v":
        if len(content) % 4:
            return "a vector that is no row of float32 numbers"
        norm = float(np.linalg.norm(np.frombuffer(content, dtype="<f4").astype(np.float64)))
        return "" if abs(norm**2 - 1) < 1e-4 else "a vector that is not of unit length"
    if kind == b"s":
        finite = len(content) == ENTRY.size and math.isfinite(ENTRY.unpack(content)[0])
        return "" if finite else "a score that is none"
    if kind in {b"t", b"r"}:
        return "" if len(content) == 8 else "a count of another length"
    return "" if kind == _IDENTITY else "an entry of no known kind"


def prune(folder: Path, max_bytes: int) -> Pruned:
    """Remove the least recently used entries until the database is at most `max_bytes` large.

    Safe while a run reads and writes: what it then misses it computes again. An empty database keeps some pages.
    """
    cache = _open(folder)
    if cache is None:
        return Pruned(str(folder), 0, 0, 0, 0, "")
    database = cache.database
    removed, note = 0, ""
    with cache.explained("pruned"):
        before = database.stored_bytes()
        while (size := database.stored_bytes()) > max_bytes:
            rows = [
                (row, length + _ROW_BYTES)
                for row, label, length in database.oldest()
                if (label or b"")[:1] != _IDENTITY
            ]
            if not rows:
                break
            # Indexes and half-filled pages belong to the entries in proportion; at least a hundredth goes each time.
            scale = size / sum(length for _, length in rows)
            excess, chosen = max(size - max_bytes, size / 100), list[int]()
            for row, length in rows:
                if excess <= 0:
                    break
                chosen.append(row)
                excess -= length * scale
            cache.writer.delete_many(chosen)
            removed += len(chosen)
            if note := _pack(cache):
                break
        after = database.stored_bytes()
        entries = sum(count for label, count, *_ in database.groups() if not _is_identity(label))
    cache.close()
    return Pruned(str(folder), before, after, removed, entries, note)


def _pack(cache: VectorCache) -> str:
    """Give the freed room back to the disk; why that failed, where it did: then sqlite fills it with new entries."""
    try:
        with cache.explained("packed"):
            cache.writer.pack()
    except CacheError as error:
        return str(error)
    return ""
