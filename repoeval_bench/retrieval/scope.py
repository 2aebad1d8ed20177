"""The chunks that a query may see: its repository's, or all repositories' as one pool, and its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from repoeval_bench.core.benchmark import Query
from repoeval_bench.core.source import Chunk

Chunks = Mapping[str, Sequence[Chunk]]
"""Repository, or query with chunks of its own, -> chunks."""
Excluded = Mapping[str, frozenset[str]]
"""query_id -> the ids of the chunks that it may not see."""

POOL = ""
"""The pool's name in place of a repository's; no repository has it."""

_NONE: frozenset[str] = frozenset()


def pooled(chunks: Chunks, queries: Iterable[Query]) -> tuple[dict[str, tuple[Chunk, ...]], tuple[Query, ...]]:
    """Return the chunks of all repositories as one repository's, and the queries on it.

    Chunk ids name their repository.
    """
    every = tuple(chunk for of_repo in chunks.values() for chunk in of_repo)
    return {POOL: every}, tuple(replace(query, repo=POOL) for query in queries)


def excluded_from(query: Query, excluded: Excluded | None) -> frozenset[str]:
    """Return the ids of the chunks that a query may not see."""
    return (excluded or {}).get(query.query_id, _NONE)


def visible(query: Query, chunks: Chunks, own: Chunks, excluded: Excluded | None) -> list[Chunk]:
    """Return the chunks that a query may see, the repository's first, in their order."""
    unseen = excluded_from(query, excluded)
    seen = [chunk for chunk in chunks.get(query.repo, ()) if chunk.chunk_id not in unseen]
    return [*seen, *own.get(query.query_id, ())]
