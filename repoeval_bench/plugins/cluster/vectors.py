"""The whole cache of a machine into a store, and a store into the cache."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import CacheError
from repoeval_bench.embedding.database import FILE
from repoeval_bench.embedding.housekeeping import known_identities, unsealed
from repoeval_bench.embedding.storage import Kind, VectorCache
from repoeval_bench.plugins.cluster.blocks import (
    ENTRIES,
    FOLDER,
    KEY_BYTES,
    SHARED,
    BrokenBlockError,
    block_names,
    read_block,
    read_keys,
    write_block,
)

if TYPE_CHECKING:
    from repoeval_bench.plugins.cluster.object_store import ObjectStore


@dataclass(frozen=True, slots=True)
class Pushed:
    """Entries that were written and in how many blocks, entries that the store had, and entries of unknown models."""

    entries: int
    blocks: int
    there: int
    left_out: int


@dataclass(frozen=True, slots=True)
class Pulled:
    """Entries that were new and in how many blocks, entries that were here, and the blocks that are broken."""

    entries: int
    blocks: int
    here: int
    broken: tuple[str, ...]


def push(folder: Path, store: ObjectStore) -> Pushed:
    """Write what the cache in a folder holds and the store does not; raises CacheError and StoreError."""
    if not (folder / FILE).exists():
        return Pushed(0, 0, 0, 0)
    stored = _stored(store)
    cache = VectorCache(folder)
    entries = blocks = there = unknown = 0
    with cache.explained("read"):
        identities = known_identities(cache)
        waiting: dict[tuple[Kind, str], dict[bytes, bytes]] = defaultdict(dict)
        for kind, owner, key, value in _entries(cache):
            if key in stored:
                there += 1
                continue
            if owner not in identities:
                unknown += 1
                continue
            group = waiting[kind, identities[owner]]
            group[key] = value
            entries += 1
            if len(group) == ENTRIES:
                write_block(store, kind, identities[owner], group)
                blocks += 1
                group.clear()
    for (kind, identity), group in waiting.items():
        if group:
            write_block(store, kind, identity, group)
            blocks += 1
    cache.close()
    return Pushed(entries, blocks, there, unknown)


def pull(folder: Path, store: ObjectStore) -> Pulled:
    """Take over what the store holds and the cache in a folder does not; raises CacheError and StoreError.

    A block that is broken is named and left out.
    """
    cache = VectorCache(folder)
    if cache.read_only:
        raise CacheError(f"the vector cache {folder} is read-only; run this where it can be written")
    entries = blocks = here = 0
    broken = []
    for name in block_names(store):
        try:
            keys = read_keys(store, name)
            missing = set(keys) - cache.present(keys)
            here += len(keys) - len(missing)
            if missing:
                kind, identity, values = read_block(store, name)
                cache.write({key: values[key] for key in missing}, kind, identity)
                blocks += 1
                entries += len(missing)
        except (BrokenBlockError, FileNotFoundError) as error:
            broken.append(f"{store.url}/{FOLDER}/{name}: {error}; delete it there, and push again")
    cache.close()
    return Pulled(entries, blocks, here, tuple(broken))


def _stored(store: ObjectStore) -> set[bytes]:
    """The keys of all blocks; one with broken keys is as if it were not there, and is written again."""
    keys: set[bytes] = set()
    for name in block_names(store):
        with suppress(BrokenBlockError):
            keys.update(read_keys(store, name))
    return keys


def _entries(cache: VectorCache) -> Iterator[tuple[Kind, bytes, bytes, bytes]]:
    """(kind, whose it is, key, value) of every entry that is shared and sound."""
    for kind in SHARED:
        for entry in cache.database.entries(kind[0].encode()):
            if (content := unsealed(entry.key, entry.value)) is not None and len(entry.key) == KEY_BYTES:
                yield kind, entry.tag[1:], entry.key, content
