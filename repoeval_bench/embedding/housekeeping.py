"""Describing, verifying and emptying the vector cache. No cache is made where there is none."""

from __future__ import annotations

import json
import math
import sqlite3
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from repoeval_bench.core.errors import CacheError, UsageError
from repoeval_bench.embedding.cached_scorer import ENTRY
from repoeval_bench.embedding.database import FILE, CacheEntry
from repoeval_bench.embedding.storage import SEAL_BYTES, Kind, VectorCache, model_name, seal, tag

_IDENTITY = tag("identity", "")[:1]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShare:
    """One model's share of the cache: its entries, and bytes of their values.

    `others` are scores of pairs, completions, and counts of tokens and of characters read. `identity` is what decides
    what the model computes; None where the cache does not say.
    """

    identity: dict[str, Any] | None
    vectors: int
    others: int
    bytes: int

    @property
    def name(self) -> str:
        """The model and its precision, as far as known."""
        return "not known" if self.identity is None else model_name(self.identity, precisely=True)


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """The cache's folder, bytes on disk, entries, and each model's share, the largest first."""

    folder: str
    bytes_on_disk: int
    entries: int
    models: tuple[ModelShare, ...]


@dataclass(frozen=True, slots=True)
class Verified:
    """The number of entries that were read, what is wrong with those that are broken, and how many were removed."""

    folder: str
    entries: int
    broken: tuple[str, ...]
    removed: int

    @property
    def passed(self) -> bool:
        """Return whether no broken entry is left."""
        return self.removed == len(self.broken)


def _open(folder: Path) -> VectorCache | None:
    return VectorCache(folder) if (folder / FILE).exists() else None


def info(folder: Path) -> CacheInfo:
    """Describe the cache in a folder; raises CacheError."""
    cache = _open(folder)
    if cache is None:
        return CacheInfo(str(folder), 0, 0, ())
    vectors, entries, sizes = Counter[bytes](), Counter[bytes](), Counter[bytes]()
    with cache.explained("read"):
        identities = known_identities(cache)
        for label, size in cache.database.summary():
            kind, owner = (label[:1], label[1:]) if isinstance(label, bytes) else (b"", b"")
            if not _is_identity(label):
                vectors[owner] += kind == b"v"
                entries[owner] += 1
                sizes[owner] += size or 0
    cache.close()
    models = [
        ModelShare(
            identity=json.loads(identities[owner]) if owner in identities else None,
            vectors=vectors[owner],
            others=number - vectors[owner],
            bytes=sizes[owner],
        )
        for owner, number in entries.items()
    ]
    models.sort(key=lambda model: (-model.bytes, model.name))
    on_disk = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    return CacheInfo(str(folder), on_disk, entries.total(), tuple(models))


def known_identities(cache: VectorCache) -> dict[bytes, str]:
    """Return the model's part of an entry's tag -> that model's identity, in JSON."""
    return {
        tag("identity", content.decode())[1:]: content.decode()
        for entry in cache.database.entries(_IDENTITY)
        if (content := unsealed(entry.key, entry.value)) is not None
    }


def _is_identity(label: object) -> bool:
    """Return whether an entry says what a model is: those are few and small, stay, and are not counted."""
    return isinstance(label, bytes) and label[:1] == _IDENTITY


def unsealed(key: object, value: object) -> bytes | None:
    """The value without its seal; None where the seal is not that of this key and value."""
    if not isinstance(key, bytes) or not isinstance(value, bytes) or len(key) > 64:
        return None
    content = value[:-SEAL_BYTES]
    return content if len(value) > SEAL_BYTES and seal(key, content) == value[-SEAL_BYTES:] else None


def verify(folder: Path, *, delete: bool = False) -> Verified:
    """Read each entry and check its seal, its length and a vector's norm; with `delete`, remove what is broken.

    A database whose structure is broken is a CacheError: no entry of it can be removed by itself.
    """
    cache = _open(folder)
    if cache is None:
        return Verified(str(folder), 0, (), 0)
    broken: dict[int, str] = {}
    vectors: dict[bytes, dict[int, int]] = defaultdict(dict)  # a model's tag -> row id -> length
    entries = 0
    with cache.explained("read"):
        for entry in cache.database.entries():
            entries += not _is_identity(entry.tag)
            if fault := _fault(entry):
                broken[entry.row] = fault
            elif entry.tag[:1] == b"v":
                vectors[entry.tag][entry.row] = len(entry.value)
        for lengths in vectors.values():
            latest = lengths[max(lengths)]  # a server's model may have changed: then the older ones are of no use
            odd = (row for row, length in lengths.items() if length != latest)
            broken |= dict.fromkeys(odd, "a vector of another length than the model's latest")
        # Last, as the structure is often intact where a value is broken.
        if faults := cache.database.faults():
            raise sqlite3.DatabaseError(f"database disk image is malformed: {faults[0]}")
    if delete and broken:
        with cache.explained("written"):
            cache.database.delete_rows(list(broken))
    cache.close()
    return Verified(str(folder), entries, tuple(broken.values()), len(broken) if delete else 0)


def delete(folder: Path, model: str) -> int:
    """Remove all entries of a model, by a name that `info` gives or without its precision; return their number."""
    cache = _open(folder)
    owners: list[bytes] = []
    if cache is not None:
        with cache.explained("read"):
            held = {label[1:] for label, _ in cache.database.summary() if label and not _is_identity(label)}
            for owner, identity in known_identities(cache).items():
                facts = json.loads(identity)
                if owner in held and model in {model_name(facts), model_name(facts, precisely=True)}:
                    owners.append(owner)
    if cache is None or not owners:
        raise UsageError(f"the vector cache {folder} holds nothing of {model!r}; `repoeval-bench cache info` lists it")
    if cache.read_only:
        raise CacheError(f"the vector cache {folder} is read-only here; delete where it can be written")
    with cache.explained("written"):
        removed = sum(
            int(cache.database.cache.evict(kind[:1].encode() + owner))
            for owner in owners
            for kind in get_args(Kind)
            if kind != "identity"
        )
    cache.close()
    return removed


def _fault(entry: CacheEntry) -> str:
    """Say what is wrong with an entry by itself; empty for a sound one."""
    if not entry.plain:
        return "an entry that this program did not write; it was not read"
    content = unsealed(entry.key, entry.value)
    if content is None:
        return "an entry without its seal, or changed since it was written"
    kind = entry.tag[:1] if isinstance(entry.tag, bytes) else b""
    if kind == b"v":
        return _vector_fault(content)
    if kind == b"s":
        finite = len(content) == ENTRY.size and math.isfinite(ENTRY.unpack(content)[0])
        return "" if finite else "a score that is not a finite number"
    if kind == b"c":
        return "" if _is_json(content) else "a completion that is not JSON"
    if kind in {b"t", b"r"}:
        return "" if len(content) == 8 else "a count of another length"
    return "" if kind == _IDENTITY else "an entry of an unknown kind"


def _is_json(content: bytes) -> bool:
    try:
        json.loads(content)
    except ValueError:
        return False
    return True


def _vector_fault(content: bytes) -> str:
    if len(content) % 4:
        return "a vector that is not a row of float32 numbers"
    norm = float(np.linalg.norm(np.frombuffer(content, dtype="<f4").astype(np.float64)))
    return "" if abs(norm**2 - 1) < 1e-4 else "a vector that is not of unit length"
