"""A machine's vector cache in front of a store that machines share: it reads through, and writes each vector once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.notices import NOTICES
from repoeval_bench.embedding.storage import Kind, VectorCache
from repoeval_bench.plugins.cluster.vector_blocks import (
    ENTRIES,
    SHARED,
    BrokenBlockError,
    block_names,
    read_block,
    read_keys,
    write_block,
)

if TYPE_CHECKING:
    from repoeval_bench.plugins.cluster.object_store import ObjectStore


class SharedVectorCache(VectorCache):
    """A `VectorCache` that takes missing entries from a store, a block at a time, and puts new entries there.

    New entries wait for a full block, or for `flush`. A broken block is skipped, and a notice names it once.
    """

    def __init__(self, folder: Path, store: ObjectStore) -> None:
        super().__init__(folder)
        self._store = store
        self._heads: dict[str, NDArray[np.uint64]] = {}
        self._waiting: dict[tuple[Kind, str], dict[bytes, bytes]] = defaultdict(dict)

    def present(self, keys: Iterable[bytes]) -> set[bytes]:
        """Return the keys that have an entry; those of the store are in this cache afterwards."""
        requested = list(keys)
        cached = super().present(requested)
        fetched = self._take([key for key in requested if key not in cached])
        return cached | (super().present(fetched) if fetched else set())

    def read(self, keys: Iterable[bytes]) -> list[bytes | None]:
        """Return the value of each key; None if neither this cache nor the store has one."""
        requested = list(keys)
        values = super().read(requested)
        if self._take([key for key, value in zip(requested, values, strict=True) if value is None]):
            values = super().read(requested)
        return values

    def write(self, values: Mapping[bytes, bytes], kind: Kind, identity: str) -> None:
        """Store all values here; those that are new wait to be put into the store."""
        cached = super().present(values) if kind in SHARED else set()
        super().write(values, kind, identity)
        if kind not in SHARED:
            return
        group = self._waiting[kind, identity]
        group |= {key: value for key, value in values.items() if key not in cached}
        if len(group) >= ENTRIES:
            self._put(kind, identity)

    def flush(self) -> None:
        """Put what is waiting into the store."""
        for kind, identity in list(self._waiting):
            self._put(kind, identity)

    def _put(self, kind: Kind, identity: str) -> None:
        if group := self._waiting.pop((kind, identity), None):
            write_block(self._store, kind, identity, group)

    def _take(self, keys: list[bytes]) -> list[bytes]:
        """Copy the blocks that have such keys into this cache; return the keys that may be in it now."""
        if not keys:
            return []
        for name in block_names(self._store):
            if name not in self._heads:
                self._heads[name] = self._heads_of(name)
        requested = _heads(keys)
        hits = np.zeros(len(keys), dtype=bool)
        for name, heads in self._heads.items():
            if (hit := np.isin(requested, heads)).any():
                hits |= hit
                self._take_block(name)
                self._heads[name] = _heads([])  # the whole block is in this cache now
        return [key for key, hit in zip(keys, hits, strict=True) if hit]

    def _heads_of(self, name: str) -> NDArray[np.uint64]:
        try:
            return _heads(read_keys(self._store, name))
        except (BrokenBlockError, FileNotFoundError) as error:
            self._broken(name, error)
            return _heads([])

    def _take_block(self, name: str) -> None:
        try:
            kind, identity, values = read_block(self._store, name)
        except (BrokenBlockError, FileNotFoundError) as error:
            self._broken(name, error)
        else:
            super().write(values, kind, identity)

    def _broken(self, name: str, error: Exception) -> None:
        NOTICES.info(f"note: block {name} of {self._store.url} is left out ({error}); what it held is computed again")


def _heads(keys: list[bytes]) -> NDArray[np.uint64]:
    """Return the first eight bytes of each key: enough to find a block, in a quarter of the memory."""
    return np.frombuffer(b"".join(key[:8] for key in keys), dtype=np.uint64)
