"""The inputs of measures beside ranking and qrels: places, gold, lines, texts, vectors, what a model wrote, …."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.errors import MetricError
from repoeval_bench.core.places import Gold, Place
from repoeval_bench.core.source import Chunk
from repoeval_bench.core.spans import LineSpan

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ChunkPlace(Place):
    """A chunk's file and lines, and the non-whitespace characters of the header that is embedded with it."""

    header_nws: int = 0

    def __hash__(self) -> int:
        # Called for hundreds of thousands of places: one call instead of two, and headers hardly distinguish them.
        return hash((self.file, self.lines.start, self.lines.end))

    @classmethod
    def of(cls, chunk: Chunk, file: str | None = None) -> Self:
        """The place of a chunk; the file is `repo/path` unless another name is given."""
        return cls(file or chunk.file, chunk.lines, chunk.added_nws)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenCompletion:
    """The text that was written for a task, and the true one; `names` and `true_names` are the identifiers of both."""

    text: str
    truth: str
    names: frozenset[str]
    true_names: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Context:
    """Inputs by the names that `Measure.needs` uses; give only what the measures ask for.

    `places`: chunk_id -> its place. `gold`: query_id -> Gold. `line_nws`: file -> non-whitespace characters of each
    line. `definitions`: query_id -> the gold lines of each definition that it needs. `texts`: chunk_id -> text.
    `vectors`: chunk_id -> vector of any norm. `subtopics`: query_id -> chunk_id -> the sub-topics that it covers.
    `written`: query_id -> what a model wrote. `brought`: chunk_id -> the lines that are read if it is a hit; None if
    every hit is read as it is. `hidden`: query_id -> lines that are never read for it.
    """

    places: Mapping[str, ChunkPlace] | None = None
    gold: Mapping[str, Gold] | None = None
    line_nws: Mapping[str, Sequence[int]] | None = None
    definitions: Mapping[str, Sequence[Gold]] | None = None
    texts: Mapping[str, str] | None = None
    vectors: Mapping[str, NDArray[np.floating]] | None = None
    subtopics: Mapping[str, Mapping[str, Collection[Hashable]]] | None = None
    written: Mapping[str, WrittenCompletion] | None = None
    brought: Mapping[str, LineSpan] | None = None
    hidden: Mapping[str, Place] | None = None

    def has(self) -> frozenset[str]:
        """Return the names of the inputs that are given."""
        return frozenset(field.name for field in fields(self) if getattr(self, field.name) is not None)


def as_read(context: Context, query_id: str, chunk_id: str, location: ChunkPlace) -> ChunkPlace:
    """Return the place that is read for a hit: its lines and the lines it brings, but no hidden ones."""
    if context.brought is None:
        return location
    own, wide = location.lines, look_up("brought", context.brought, chunk_id, "chunk")
    start, end = wide.start, wide.end
    hidden = (context.hidden or {}).get(query_id)
    if hidden is not None and hidden.file == location.file:
        if hidden.lines.end <= own.start:
            start = max(start, hidden.lines.end)
        if hidden.lines.start >= own.end:
            end = min(end, hidden.lines.start)
    return ChunkPlace(location.file, LineSpan(start, end), location.header_nws)


def look_up(name: str, table: Mapping[str, _T] | None, key: str, owner: str) -> _T:
    """Return the entry of `key`, or raise a MetricError that names the input and the `owner`, a chunk or a query."""
    try:
        return (table or {})[key]
    except KeyError:
        raise MetricError(f"{name} has no entry for {owner} {key!r}; the context must cover the whole run") from None
