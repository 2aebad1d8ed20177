"""ChunkHound's parser (chunkhound 6.1.0, `chunkhound.parsers`), by its own package and without its database.

Unit of `max_chunk_size` and `min_chunk_size`: non-whitespace characters, this project's unit. Definitions, comments,
imports and blocks are found by queries, larger ones halved by lines, and small neighbours merged. A chunk here is the
whole lines that ChunkHound names; its own texts join merged pieces without the code between them. A line that no query
finds is in no chunk.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Annotated, Any, ClassVar

from repoeval_bench.chunkers._adapters import Peer
from repoeval_bench.chunkers._syntax import SAME_NAMES
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.fields import Doc, Positive
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan


@CHUNKERS.register(requires=("chunkhound",))
@dataclass(frozen=True, slots=True)
class ChunkhoundChunker(Peer):
    """ChunkHound's parser (extra `chunkhound`); its chunks of the same lines are merged into one."""

    name: ClassVar[str] = "chunkhound"
    names: ClassVar = SAME_NAMES
    max_chunk_size: Annotated[Positive, Doc("non-whitespace characters of a chunk, at most")] = 1200
    min_chunk_size: Annotated[Positive, Doc("a chunk with fewer is not halved")] = 50

    def spans(self, file: SourceFile) -> Sequence[tuple[int, int]] | None:
        """Return the whole lines that the package names."""
        language = self.language_in(file)
        pieces = _library(self.max_chunk_size, self.min_chunk_size, language).parse_content(file.text)
        # It counts an empty line after the file's last line end, and a chunk may consist of that line.
        rows = [(int(chunk.start_line), int(chunk.end_line)) for chunk in pieces]
        if any(not 1 <= first <= last <= file.n_lines + 1 for first, last in rows):
            return None
        lines = sorted({(first - 1, min(last, file.n_lines)) for first, last in rows})
        spans = [file.chars_of(LineSpan(first, last)) for first, last in lines]
        return [(span.start, span.end) for span in spans]


@cache
def _library(most: int, least: int, language: str) -> Any:
    parsers = import_module("chunkhound.parsers.parser_factory")
    config = import_module("chunkhound.parsers.chunk_splitter").CASTConfig(max_chunk_size=most, min_chunk_size=least)
    known = import_module("chunkhound.core.types.common").Language(language)
    return parsers.ParserFactory(config).create_parser(known)
