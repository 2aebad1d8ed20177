"""Vectors in a store that machines share: sealed blocks of many vectors, each written once and never changed.

A block is two objects, named by the digests of both. `.block` has the header, the keys, the lengths and the values with
their seals. `.keys` has the keys again and is written last, so that a machine need not read a block whose vectors it
has. The database of a cache is never in such a store; each machine keeps its own.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING

from repoeval_bench.embedding.storage import SEAL_BYTES, Kind, seal, tag, unsealed

if TYPE_CHECKING:
    from repoeval_bench.plugins.cluster.object_store import ObjectStore

FOLDER = "vectors"
"""Folder of the blocks in a store."""

SHARED: tuple[Kind, ...] = ("vector", "tokens", "read", "score")
"""Kinds that are shared. Completions are not: somebody has paid for them."""

ENTRIES = 4096
"""Entries of a block: 6 MB of vectors of 384 numbers."""

_KEYS, _BLOCK = ".keys", ".block"

KEY_BYTES = 32
_FORMAT = 1


class BrokenBlockError(Exception):
    """The content of a block does not match its name."""


def block_names(store: ObjectStore) -> list[str]:
    """Return the names of the complete blocks, without ending."""
    names = store.names(FOLDER)
    return [name.removeprefix(f"{FOLDER}/").removesuffix(_KEYS) for name in names if name.endswith(_KEYS)]


def write_block(store: ObjectStore, kind: Kind, identity: str, values: Mapping[bytes, bytes]) -> None:
    """Put a block of entries of one kind and one model into a store."""
    header = {"format": _FORMAT, "kind": kind, "identity": identity, "entries": len(values)}
    # Sorted, so that machines with the same entries write the same block under the same name.
    ordered = sorted(values.items())
    keys = b"".join(key for key, _ in ordered)
    lengths = struct.pack(f"<{len(ordered)}I", *(len(value) for _, value in ordered))
    sealed = b"".join(value + seal(key, value) for key, value in ordered)
    block = json.dumps(header, sort_keys=True).encode() + b"\n" + keys + lengths + sealed
    name = f"{FOLDER}/{tag('vector', identity)[1:].hex()}/{_digest(keys)}.{_digest(block)}"
    store.write(name + _BLOCK, block)
    store.write(name + _KEYS, keys)


def read_keys(store: ObjectStore, name: str) -> list[bytes]:
    """Read the keys of a block, in order; a BrokenBlockError if they are not those that were written."""
    content = store.read(f"{FOLDER}/{name}{_KEYS}")
    if _digest(content) != name.rpartition("/")[2].partition(".")[0]:
        raise BrokenBlockError("its keys do not match its name")
    return [content[start : start + KEY_BYTES] for start in range(0, len(content), KEY_BYTES)]


def read_block(store: ObjectStore, name: str) -> tuple[Kind, str, dict[bytes, bytes]]:
    """Read (kind, identity, key -> value) of a block; a BrokenBlockError if its bytes are not those written."""
    block = store.read(f"{FOLDER}/{name}{_BLOCK}")
    if _digest(block) != name.rpartition(".")[2]:
        raise BrokenBlockError("its bytes do not match its name")
    try:
        text, _, content = block.partition(b"\n")
        header = json.loads(text)
        kind, identity, count = header["kind"], header["identity"], header["entries"]
        if header["format"] != _FORMAT or kind not in SHARED or not isinstance(identity, str):
            raise BrokenBlockError(f"it is of format {header['format']}, kind {kind}, which this version does not read")
        keys = [content[start : start + KEY_BYTES] for start in range(0, count * KEY_BYTES, KEY_BYTES)]
        lengths = struct.unpack_from(f"<{count}I", content, count * KEY_BYTES)
    except (ValueError, LookupError, TypeError, struct.error) as error:
        raise BrokenBlockError(f"it was not written by this program ({error})") from error
    begin = count * (KEY_BYTES + 4)
    values: dict[bytes, bytes] = {}
    for key, length in zip(keys, lengths, strict=True):
        end = begin + length + SEAL_BYTES
        value = unsealed(key, content[begin:end])
        if value is None or len(value) != length:
            raise BrokenBlockError("one of its entries has no seal")
        values[key] = value
        begin = end
    return kind, identity, values


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
