"""chonkie's chunkers, their spans mapped back onto the file.

Unit of `chunk_size`: characters, whitespace included (chonkie's tokenizer "character"). Its CodeChunker adds
up the lengths of syntax nodes and leaves the blanks between them out, so a chunk's text can be longer than
`chunk_size`. The default of 2048 is chonkie's own; on Python it gives chunks of a mean size near those of
`ast:max_nws=1500`, but a nominal size is no promise: the realised size stands beside every score.

chonkie up to 1.6.5 reports characters, later versions UTF-8 bytes. Which of the two is decided per file, by
looking: the unit in which every slice equals the chunk's text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from repoeval_bench.chunkers._adapters import named_failure, require, spans_of
from repoeval_bench.chunkers._lines import cut_spans
from repoeval_bench.chunkers._options import at_least, one_of, spec_of
from repoeval_bench.core.errors import ChunkError

if TYPE_CHECKING:
    from repoeval_bench.core.source import Chunk, SourceFile

_KINDS = {"code": "CodeChunker", "recursive": "RecursiveChunker", "token": "TokenChunker"}


@dataclass(frozen=True, slots=True)
class ChonkieChunker:
    """chonkie's CodeChunker, TokenChunker or RecursiveChunker; chunk_size is characters with whitespace.

    A chunk may start or end in the middle of a line. What holds only whitespace is left out. ChunkError, with
    the file's name, where chonkie fails or returns a text that is no slice of the file.
    """

    kind: str = "code"
    chunk_size: int = 2048
    language: str = "python"

    def __post_init__(self) -> None:
        one_of("chonkie", "kind", self.kind, _KINDS)
        at_least("chonkie", "chunk_size", self.chunk_size, 1)
        require("chonkie", "chonkie==1.6.5")

    @property
    def spec(self) -> str:
        """`chonkie:kind=…,chunk_size=…,language=…`."""
        return spec_of("chonkie", self)

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """The file's chunks as chonkie cuts them."""
        if not file.text.strip():
            return []
        with named_failure("chonkie", file):
            pieces = _library(self.kind, self.chunk_size, self.language).chunk(file.text)
        spans = spans_of(file.text, [(piece.start_index, piece.end_index, piece.text) for piece in pieces])
        if spans is None:
            raise ChunkError(
                f"{file.repo}/{file.path}: chonkie returned a text that is no slice of the file, "
                "neither by characters nor by UTF-8 bytes; use another chunker or --skip-errors"
            )
        return cut_spans(file, spans)


@cache
def _library(kind: str, chunk_size: int, language: str) -> Any:
    import chonkie

    options: dict[str, object] = {"chunk_size": chunk_size}
    if kind == "code":
        options["language"] = language
    if kind == "recursive":
        options["min_characters_per_chunk"] = 1
    if kind != "code":
        options["tokenizer"] = "character"
    return getattr(chonkie, _KINDS[kind])(**options)
