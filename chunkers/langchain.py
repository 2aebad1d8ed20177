"""LangChain's RecursiveCharacterTextSplitter with its separators for a language.

Unit of `chunk_size` and `chunk_overlap`: characters, whitespace included. The default of 2200 gives chunks of
about the size of `ast:max_nws=1500` on Python; the realised size stands beside every score. The library
returns strings; with its whitespace kept and no overlap they follow each other in the file, which is how they
are found again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from repoeval_bench.chunkers._adapters import named_failure, require, spans_in_order
from repoeval_bench.chunkers._lines import cut_spans
from repoeval_bench.chunkers._options import at_least, one_of, spec_of
from repoeval_bench.core.errors import ChunkError

if TYPE_CHECKING:
    from repoeval_bench.core.source import Chunk, SourceFile


@dataclass(frozen=True, slots=True)
class LangchainChunker:
    """LangChain's text splitter for code (extra `langchain`); chunk_size is characters with whitespace.

    ChunkError, with the file's name, where it fails or returns a text that is not in the file.
    """

    chunk_size: int = 2200
    language: str = "python"

    def __post_init__(self) -> None:
        at_least("langchain", "chunk_size", self.chunk_size, 1)
        require("langchain_text_splitters", "'repoeval-bench[langchain]'")

    @property
    def spec(self) -> str:
        """`langchain:chunk_size=…,language=…`."""
        return spec_of("langchain", self)

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """The file's chunks as LangChain cuts them, without the blanks at their ends."""
        if not file.text.strip():
            return []
        with named_failure("langchain", file):
            pieces = _library(self.chunk_size, self.language).split_text(file.text)
        spans = spans_in_order(file.text, pieces)
        if spans is None:
            raise ChunkError(
                f"{file.repo}/{file.path}: langchain returned a text that is not in the file; "
                "use another chunker or --skip-errors"
            )
        return cut_spans(file, spans)


@cache
def _library(chunk_size: int, language: str) -> Any:
    library = import_module("langchain_text_splitters")
    one_of("langchain", "language", language, sorted(known.value for known in library.Language))
    return library.RecursiveCharacterTextSplitter.from_language(
        library.Language(language), chunk_size=chunk_size, chunk_overlap=0, strip_whitespace=False
    )
