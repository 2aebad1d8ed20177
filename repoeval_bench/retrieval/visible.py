"""Which chunks a query can be answered with: its repository's but for the unseen ones, and its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from repoeval_bench.core.benchmark import Query
    from repoeval_bench.core.source import Chunk

_NONE: frozenset[str] = frozenset()


def excluded_from(query: Query, excluded: Mapping[str, frozenset[str]] | None) -> frozenset[str]:
    """The ids of the chunks that a query may not see."""
    return (excluded or {}).get(query.query_id, _NONE)


def visible(
    query: Query,
    chunks: Mapping[str, Sequence[Chunk]],
    own: Mapping[str, Sequence[Chunk]],
    excluded: Mapping[str, frozenset[str]] | None,
) -> list[Chunk]:
    """The chunks that a query may see, the repository's first, in their order."""
    unseen = excluded_from(query, excluded)
    seen = [chunk for chunk in chunks.get(query.repo, ()) if chunk.chunk_id not in unseen]
    return [*seen, *own.get(query.query_id, ())]
