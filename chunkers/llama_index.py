"""LlamaIndex's CodeSplitter, which is Sweep's chunker on tree-sitter.

Unit of `max_chars`: characters, whitespace included; its `chunk_lines` and overlap have no effect in the
library and are not offered. The library returns stripped strings, which follow each other in the file; that
is how they are found again. The default of 2800 gives chunks of about the size of `ast:max_nws=1500` on
Python; the realised size stands beside every score. It refuses a file that begins with a syntax error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from repoeval_bench.chunkers._adapters import named_failure, require, spans_in_order
from repoeval_bench.chunkers._lines import cut_spans
from repoeval_bench.chunkers._options import at_least, spec_of
from repoeval_bench.core.errors import ChunkError

if TYPE_CHECKING:
    from repoeval_bench.core.source import Chunk, SourceFile


@dataclass(frozen=True, slots=True)
class LlamaIndexChunker:
    """LlamaIndex's CodeSplitter (extra `llama-index`); max_chars is characters with whitespace.

    ChunkError, with the file's name, where it fails or returns a text that is not in the file.
    """

    max_chars: int = 2800
    language: str = "python"

    def __post_init__(self) -> None:
        at_least("llama-index", "max_chars", self.max_chars, 1)
        require("llama_index", "'repoeval-bench[llama-index]'")

    @property
    def spec(self) -> str:
        """`llama-index:max_chars=…,language=…`."""
        return spec_of("llama-index", self)

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """The file's chunks as LlamaIndex cuts them, without the blanks at their ends."""
        if not file.text.strip():
            return []
        with named_failure("llama-index", file):
            pieces = _library(self.max_chars, self.language).split_text(file.text)
        spans = spans_in_order(file.text, pieces)
        if spans is None:
            raise ChunkError(
                f"{file.repo}/{file.path}: llama-index returned a text that is not in the file; "
                "use another chunker or --skip-errors"
            )
        return cut_spans(file, spans)


@cache
def _library(max_chars: int, language: str) -> Any:
    # Sizes are counted in characters; a tokenizer of our own keeps the library from fetching one.
    splitter = import_module("llama_index.core.node_parser").CodeSplitter
    return splitter(language=language, max_chars=max_chars, tokenizer=str.split)
