"""What some measures need beside ranking and qrels: places, gold lines, texts, vectors, sub-topics."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from repoeval_bench.core.source import count_nws

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from repoeval_bench.core.benchmark import Task
    from repoeval_bench.core.source import Chunk, SourceFile
    from repoeval_bench.core.spans import LineSpan


@dataclass(frozen=True, slots=True)
class Place:
    """Where a chunk or a gold span stands: a file (any key, the same everywhere) and its lines.

    `header_nws` is what an embedded header adds to the text, in non-whitespace characters.
    """

    file: str
    lines: LineSpan
    header_nws: int = 0

    def __hash__(self) -> int:
        # Places are looked up by the hundred thousand: one call in place of two, and headers hardly tell them apart.
        return hash((self.file, self.lines.start, self.lines.end))

    @classmethod
    def of_chunk(cls, chunk: Chunk) -> Place:
        """The place of a chunk; the file is `repo/path`."""
        return cls(f"{chunk.repo}/{chunk.path}", chunk.lines, count_nws(chunk.header))

    @classmethod
    def of_task(cls, task: Task, gold: LineSpan) -> Place:
        """The place of a gold span in the task's file."""
        return cls(f"{task.repo}/{task.path}", gold)


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """Inputs by the names that `Measure.needs` uses; give only what the measures ask for.

    `places`: chunk_id -> Place. `gold`: query_id -> Place. `line_nws`: file -> non-whitespace characters of each
    line. `texts`: chunk_id -> text. `vectors`: chunk_id -> vector of any norm. `subtopics`: query_id -> chunk_id ->
    the sub-topics that the chunk covers.
    """

    places: Mapping[str, Place] | None = None
    gold: Mapping[str, Place] | None = None
    line_nws: Mapping[str, Sequence[int]] | None = None
    texts: Mapping[str, str] | None = None
    vectors: Mapping[str, NDArray[np.floating]] | None = None
    subtopics: Mapping[str, Mapping[str, Collection[Hashable]]] | None = None

    @classmethod
    def of_corpus(
        cls,
        chunks: Iterable[Chunk],
        files: Iterable[SourceFile],
        gold: Mapping[str, Place],
        vectors: Mapping[str, NDArray[np.floating]] | None = None,
    ) -> Context:
        """All that chunks and files tell; `gold` comes from the protocol, `vectors` from the embedder."""
        kept = list(chunks)
        return cls(
            places={chunk.chunk_id: Place.of_chunk(chunk) for chunk in kept},
            gold=gold,
            line_nws={f"{file.repo}/{file.path}": file.line_nws() for file in files},
            texts={chunk.chunk_id: chunk.text for chunk in kept},
            vectors=vectors,
        )

    def has(self) -> frozenset[str]:
        """The names of what is given."""
        return frozenset(field.name for field in fields(self) if getattr(self, field.name) is not None)
