"""The whole file as one chunk: the upper bound of context and the lower bound of focus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.chunkers._lines import cut_spans
from repoeval_bench.chunkers._options import spec_of

if TYPE_CHECKING:
    from repoeval_bench.core.source import Chunk, SourceFile


@dataclass(frozen=True, slots=True)
class FileChunker:
    """The whole file, whatever its size; a file without a non-blank line gives none."""

    @property
    def spec(self) -> str:
        """`file`."""
        return spec_of("file", self)

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """One chunk, or none."""
        return cut_spans(file, [(0, len(file.text))])
