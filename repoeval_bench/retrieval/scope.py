"""Scope of a query: its repository or all of them as one, without what it may not see, and with its own chunks."""

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
"""In place of a repository's name; no repository has it."""

_NONE: frozenset[str] = frozenset()


def pooled(chunks: Chunks, queries: Iterable[Query]) -> tuple[dict[str, tuple[Chunk, ...]], tuple[Query, ...]]:
    """Put the chunks of all repositories and the queries into one; a retriever does not notice.

    Ids carry the repository already.
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
