"""astchunk, the code published with cAST (Zhang et al. 2025, arXiv 2506.15655), its lines mapped to the file.

Unit of `max_chunk_size`: non-whitespace characters, the unit of this project. astchunk rebuilds its texts
from syntax nodes, so they are not always slices of the file; what it says about lines is. A chunk here is the
whole lines that it names, so two neighbours share a line where astchunk cuts within one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from repoeval_bench.chunkers._adapters import named_failure, require
from repoeval_bench.chunkers._lines import cut_spans
from repoeval_bench.chunkers._options import at_least, one_of, spec_of
from repoeval_bench.core.errors import ChunkError

if TYPE_CHECKING:
    from repoeval_bench.core.source import Chunk, SourceFile


@dataclass(frozen=True, slots=True)
class AstchunkChunker:
    """The cAST authors' own package (extra `astchunk`); max_chunk_size is non-whitespace characters.

    ChunkError, with the file's name, where astchunk fails or names lines that the file does not have.
    """

    max_chunk_size: int = 1500
    language: str = "python"

    def __post_init__(self) -> None:
        at_least("astchunk", "max_chunk_size", self.max_chunk_size, 1)
        one_of("astchunk", "language", self.language, ["python", "java", "csharp", "typescript"])
        require("astchunk", "'repoeval-bench[astchunk]'")

    @property
    def spec(self) -> str:
        """`astchunk:max_chunk_size=…,language=…`."""
        return spec_of("astchunk", self)

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """The lines of astchunk's chunks; several on the same lines are one."""
        if not file.text.strip():
            return []
        with named_failure("astchunk", file):
            found = _library(self.max_chunk_size, self.language).chunkify(file.text)
            rows = [(piece["metadata"]["start_line_no"], piece["metadata"]["end_line_no"]) for piece in found]
        # Its lines end at a newline only, as tree-sitter counts.
        starts = [0, *accumulate(len(row) + 1 for row in file.text.split("\n"))]
        if any(not 0 <= first <= last < len(starts) - 1 for first, last in rows):
            raise ChunkError(
                f"{file.repo}/{file.path}: astchunk names lines that the file does not have; "
                "use another chunker or --skip-errors"
            )
        spans = {(starts[first], min(starts[last + 1], len(file.text))) for first, last in rows}
        return cut_spans(file, sorted(spans))


@cache
def _library(max_chunk_size: int, language: str) -> Any:
    return import_module("astchunk").ASTChunkBuilder(
        max_chunk_size=max_chunk_size, language=language, metadata_template="default"
    )
