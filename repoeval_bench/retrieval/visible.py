"""Which chunks a query can be answered with: its repository's but for the hidden ones, and its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from repoeval_bench.core.benchmark import Query
    from repoeval_bench.core.source import Chunk

_NONE: frozenset[str] = frozenset()


def hidden_from(query: Query, exclude: Mapping[str, frozenset[str]] | None) -> frozenset[str]:
    """The ids of the chunks that a query may not see."""
    return (exclude or {}).get(query.query_id, _NONE)


def visible(
    query: Query,
    chunks: Mapping[str, Sequence[Chunk]],
    own: Mapping[str, Sequence[Chunk]],
    exclude: Mapping[str, frozenset[str]] | None,
) -> list[Chunk]:
    """The chunks that a query may see, the repository's first, in their order."""
    hidden = hidden_from(query, exclude)
    seen = [chunk for chunk in chunks.get(query.repo, ()) if chunk.chunk_id not in hidden]
    return [*seen, *own.get(query.query_id, ())]
