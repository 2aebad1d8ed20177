"""Describing and verifying the vector cache. No cache is made where there is none."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repoeval_bench.core.errors import CacheError
from repoeval_bench.embedding.storage import DELETE, FILE, VectorCache, model_name, tag, unsealed

_IDENTITY = tag("identity", "")[:1]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShare:
    """One model's share of the cache: its entries, and bytes of their values."""

    identity: dict[str, Any] | None
    """What decides what the model computes; None where the cache does not say."""
    vectors: int
    others: int
    """Scores of pairs, completions, and counts of tokens and of characters read."""
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
    """The number of entries that were read, of those that are broken, and of those that were removed."""

    folder: str
    entries: int
    broken: int
    removed: int

    @property
    def passed(self) -> bool:
        """Return whether no broken entry is left."""
        return self.removed == self.broken


def info(folder: Path) -> CacheInfo:
    """Describe the cache in a folder; raises CacheError."""
    if not (folder / FILE).exists():
        return CacheInfo(str(folder), 0, 0, ())
    cache = VectorCache(folder)
    identities: dict[bytes, dict[str, Any]] = {}
    vectors: Counter[bytes] = Counter()
    entries: Counter[bytes] = Counter()
    sizes: Counter[bytes] = Counter()
    with cache.explained("read"):
        for key, value, label in cache.entries():
            if _is_identity(label):
                if content := unsealed(key, value):
                    identities[tag("identity", content.decode())[1:]] = json.loads(content)
                continue
            owner = (label or b"")[1:]
            vectors[owner] += (label or b"")[:1] == b"v"
            entries[owner] += 1
            sizes[owner] += len(value)
    cache.close()
    models = [
        ModelShare(
            identity=identities.get(owner), vectors=vectors[owner], others=number - vectors[owner], bytes=sizes[owner]
        )
        for owner, number in entries.items()
    ]
    models.sort(key=lambda model: (-model.bytes, model.name))
    on_disk = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    return CacheInfo(str(folder), on_disk, entries.total(), tuple(models))


def _is_identity(label: bytes | None) -> bool:
    """Return whether an entry says what a model is: those are few and small, stay, and are not counted."""
    return label is not None and label[:1] == _IDENTITY


def verify(folder: Path, *, delete: bool = False) -> Verified:
    """Read each entry and check its seal; with `delete`, remove what is broken.

    A database whose structure is broken is a CacheError: no entry of it can be removed by itself.
    """
    if not (folder / FILE).exists():
        return Verified(str(folder), 0, 0, 0)
    cache = VectorCache(folder)
    broken: list[bytes] = []
    entries = 0
    with cache.explained("read"):
        if faults := cache.database.check():
            raise CacheError(f"the vector cache {folder} is damaged: {faults[0].message}; {DELETE}")
        for key, value, label in cache.entries():
            entries += not _is_identity(label)
            if unsealed(key, value) is None:
                broken.append(key)
    if delete:
        with cache.explained("written"):
            cache.delete(broken)
    cache.close()
    return Verified(str(folder), entries, len(broken), len(broken) if delete else 0)
