"""Describing, verifying and emptying the vector cache. No cache is made where there is none."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np

from repoeval_bench.core.errors import CacheError, UsageError
from repoeval_bench.embedding.cached_scorer import ENTRY
from repoeval_bench.embedding.storage import DELETE, FILE, SEAL_BYTES, Kind, VectorCache, model_name, seal, tag

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


@dataclass(frozen=True, slots=True)
class _Contents:
    """Entries of a cache by owner, which is the model's part of an entry's tag; the identities are JSON."""

    identities: dict[bytes, str] = field(default_factory=dict)
    vectors: Counter[bytes] = field(default_factory=Counter)
    entries: Counter[bytes] = field(default_factory=Counter)
    sizes: Counter[bytes] = field(default_factory=Counter)


def _contents(cache: VectorCache) -> _Contents:
    contents = _Contents()
    with cache.explained("read"):
        for key, value, label in cache.entries():
            if _is_identity(label):
                contents.identities.update(_identity_of(key, value))
                continue
            kind, owner = (label[:1], label[1:]) if isinstance(label, bytes) else (b"", b"")
            contents.vectors[owner] += kind == b"v"
            contents.entries[owner] += 1
            contents.sizes[owner] += len(value)
    return contents


def info(folder: Path) -> CacheInfo:
    """Describe the cache in a folder; raises CacheError."""
    cache = _open(folder)
    if cache is None:
        return CacheInfo(str(folder), 0, 0, ())
    contents = _contents(cache)
    cache.close()
    models = [
        ModelShare(
            identity=json.loads(contents.identities[owner]) if owner in contents.identities else None,
            vectors=contents.vectors[owner],
            others=number - contents.vectors[owner],
            bytes=contents.sizes[owner],
        )
        for owner, number in contents.entries.items()
    ]
    models.sort(key=lambda model: (-model.bytes, model.name))
    on_disk = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    return CacheInfo(str(folder), on_disk, contents.entries.total(), tuple(models))


def _identity_of(key: bytes, value: bytes) -> dict[bytes, str]:
    """Return the model's part of an entry's tag -> that model's identity, in JSON; empty for a broken entry."""
    content = unsealed(key, value)
    return {} if content is None else {tag("identity", content.decode())[1:]: content.decode()}


def _is_identity(label: object) -> bool:
    """Return whether an entry says what a model is: those are few and small, stay, and are not counted."""
    return isinstance(label, bytes) and label[:1] == _IDENTITY


def unsealed(key: bytes, value: bytes) -> bytes | None:
    """Return the value without its seal; None where the seal is not that of this key and value."""
    if len(key) > 64:
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
    broken: dict[bytes, str] = {}
    vectors: dict[bytes, dict[bytes, int]] = defaultdict(
        dict
    )  # a model's tag -> key -> length, in the order of writing
    entries = 0
    with cache.explained("read"):
        if faults := cache.database.check():
            raise CacheError(f"the vector cache {folder} is damaged: {faults[0].message}; {DELETE}")
        for key, value, label in cache.entries():
            entries += not _is_identity(label)
            if fault := _fault(key, value, label):
                broken[key] = fault
            elif label is not None and label[:1] == b"v":
                vectors[label][key] = len(value)
    for lengths in vectors.values():
        *_, latest = lengths.values()  # a server's model may have changed: then the older ones are of no use
        odd = (key for key, length in lengths.items() if length != latest)
        broken |= dict.fromkeys(odd, "a vector of another length than the model's latest")
    if delete:
        with cache.explained("written"):
            cache.delete(broken)
    cache.close()
    return Verified(str(folder), entries, tuple(broken.values()), len(broken) if delete else 0)


def delete(folder: Path, model: str) -> int:
    """Remove all entries of a model, by a name that `info` gives or without its precision; return their number."""
    cache = _open(folder)
    owners = []
    if cache is not None:
        contents = _contents(cache)
        for owner in contents.entries.keys() & contents.identities.keys():
            identity = json.loads(contents.identities[owner])
            if model in {model_name(identity), model_name(identity, precisely=True)}:
                owners.append(owner)
    if cache is None or not owners:
        raise UsageError(f"the vector cache {folder} holds nothing of {model!r}; `repoeval-bench cache info` lists it")
    kinds = [kind[:1].encode() for kind in get_args(Kind) if kind != "identity"]
    with cache.explained("written"):
        removed = sum(int(cache.database.evict(kind + owner)) for owner in owners for kind in kinds)
    cache.close()
    return removed


def _fault(key: bytes, value: bytes, label: bytes | None) -> str:
    """Say what is wrong with an entry by itself; empty for a sound one."""
    content = unsealed(key, value)
    if content is None:
        return "an entry without its seal, or changed since it was written"
    kind = label[:1] if isinstance(label, bytes) else b""
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
