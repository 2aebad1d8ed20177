"""Vectors in a store that machines share: sealed blocks of many vectors, each written once and never changed.

A block is two objects, named by the digests of both. `.block` has the header, the keys, the lengths and the values with
their seals; `.keys` has the keys again. The database of a cache is never in such a store; each machine keeps its own.
"""

import hashlib
import json
import struct
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.notices import NOTICES
from repoeval_bench.embedding.storage import SEAL_BYTES, VectorCache, seal
from repoeval_bench.plugins.cluster.object_store import ObjectStore

FOLDER = "vectors"
"""Folder of the blocks in a store."""

# Entries of a block: 6 MB of vectors of 384 numbers.
ENTRIES = 4096

_KEYS, _BLOCK = ".keys", ".block"

KEY_BYTES = 32

_Content = TypeVar("_Content")


class BrokenBlockError(Exception):
    """The content of a block does not match its name."""


def block_names(store: ObjectStore) -> list[str]:
    """Return the names of the complete blocks, without ending."""
    names = sorted(store.states(FOLDER))
    return [name.removeprefix(f"{FOLDER}/").removesuffix(_KEYS) for name in names if name.endswith(_KEYS)]


def write_block(store: ObjectStore, values: Mapping[bytes, bytes]) -> None:
    """Put a block of entries into a store."""
    # Sorted, so that machines with the same entries write the same block under the same name.
    ordered = sorted(values.items())
    keys = b"".join(key for key, _ in ordered)
    lengths = struct.pack(f"<{len(ordered)}I", *(len(value) for _, value in ordered))
    sealed = b"".join(value + seal(key, value) for key, value in ordered)
    block = json.dumps({"entries": len(values)}).encode() + b"\n" + keys + lengths + sealed
    name = f"{FOLDER}/{_digest(keys)}.{_digest(block)}"
    store.write(name + _BLOCK, block)
    # Last, as a block without it is not complete. A machine need not read a block whose vectors it has.
    store.write(name + _KEYS, keys)


def read_keys(store: ObjectStore, name: str) -> list[bytes]:
    """Read the keys of a block, in order; a BrokenBlockError if they are not those that were written."""
    content = store.read(f"{FOLDER}/{name}{_KEYS}")
    if _digest(content) != name.rpartition("/")[2].partition(".")[0]:
        raise BrokenBlockError("its keys do not match its name")
    return [content[start : start + KEY_BYTES] for start in range(0, len(content), KEY_BYTES)]


def read_block(store: ObjectStore, name: str) -> dict[bytes, bytes]:
    """Read key -> value of a block; a BrokenBlockError if its bytes are not those written."""
    block = store.read(f"{FOLDER}/{name}{_BLOCK}")
    if _digest(block) != name.rpartition(".")[2]:
        raise BrokenBlockError("its bytes do not match its name")
    header, _, content = block.partition(b"\n")
    count = json.loads(header)["entries"]
    keys = [content[start : start + KEY_BYTES] for start in range(0, count * KEY_BYTES, KEY_BYTES)]
    lengths = struct.unpack_from(f"<{count}I", content, count * KEY_BYTES)
    begin = count * (KEY_BYTES + 4)
    values: dict[bytes, bytes] = {}
    for key, length in zip(keys, lengths, strict=True):
        values[key] = content[begin : begin + length]
        begin += length + SEAL_BYTES
    return values


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


class SharedVectorCache(VectorCache):
    """A `VectorCache` that takes missing entries from a store, a block at a time, and puts new entries there.

    New entries wait for a full block, or for `flush`. A broken block is skipped, and a notice names it once.
    """

    def __init__(self, folder: Path, store: ObjectStore) -> None:
        super().__init__(folder)
        self._store = store
        self._heads: dict[str, NDArray[np.uint64]] = {}
        self._waiting: dict[bytes, bytes] = {}

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

    def write(self, values: Mapping[bytes, bytes]) -> None:
        """Store all values here; those that are new wait to be put into the store."""
        cached = super().present(values)
        super().write(values)
        self._waiting |= {key: value for key, value in values.items() if key not in cached}
        if len(self._waiting) >= ENTRIES:
            self.flush()

    def flush(self) -> None:
        """Put what is waiting into the store."""
        if self._waiting:
            write_block(self._store, self._waiting)
            self._waiting = {}

    def _take(self, keys: list[bytes]) -> list[bytes]:
        """Copy the blocks that have such keys into this cache; return the keys that may be in it now."""
        if not keys:
            return []
        for name in block_names(self._store):
            if name not in self._heads:
                self._heads[name] = _heads(self._sound(read_keys, name) or [])
        requested = _heads(keys)
        hits = np.zeros(len(keys), dtype=bool)
        for name, heads in self._heads.items():
            if (hit := np.isin(requested, heads)).any():
                hits |= hit
                super().write(self._sound(read_block, name) or {})
                self._heads[name] = _heads([])  # the whole block is in this cache now
        return [key for key, hit in zip(keys, hits, strict=True) if hit]

    def _sound(self, read: Callable[[ObjectStore, str], _Content], name: str) -> _Content | None:
        """Read a block or its keys; None, with a notice, where it is broken or gone."""
        try:
            return read(self._store, name)
        except (BrokenBlockError, FileNotFoundError) as error:
            where = f"block {name} of {self._store.url}"
            NOTICES.info(f"note: {where} is left out ({error}); what it held is computed again")
            return None


def _heads(keys: list[bytes]) -> NDArray[np.uint64]:
    # The first eight bytes of each key: enough to find a block, in a quarter of the memory.
    return np.frombuffer(b"".join(key[:8] for key in keys), dtype=np.uint64)
