"""The whole file as one chunk: the upper bound of context and the lower bound of focus."""

from dataclasses import dataclass
from typing import ClassVar

from repoeval_bench.chunkers._cutter import Cutter, cut_spans
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.source import Chunk, SourceFile


@CHUNKERS.register(parallel=True, colour=7)
@dataclass(frozen=True, slots=True)
class FileChunker(Cutter):
    """The whole file, of any size; a file without a non-blank line gives none."""

    name: ClassVar[str] = "file"

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """One chunk, or none."""
        return cut_spans(file, [(0, len(file.text))])
