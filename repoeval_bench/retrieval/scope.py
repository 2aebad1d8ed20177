"""Where a query searches: in its repository, or in all of them as one. A retriever does not know which."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from repoeval_bench.core.benchmark import Query
    from repoeval_bench.core.source import Chunk

POOL = ""
"""In place of a repository's name; no repository has it."""


def pooled(
    chunks: Mapping[str, Sequence[Chunk]], queries: Iterable[Query]
) -> tuple[dict[str, tuple[Chunk, ...]], tuple[Query, ...]]:
    """The chunks of all repositories as those of one, and the queries as its own. Ids carry the repository already."""
    every = tuple(chunk for held in chunks.values() for chunk in held)
    return {POOL: every}, tuple(replace(query, repo=POOL) for query in queries)
