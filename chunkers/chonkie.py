"""chonkie's chunkers, their spans mapped back onto the file.

Unit of `chunk_size`: characters, whitespace included (chonkie's tokenizer "character"). Its CodeChunker adds
up the lengths of syntax nodes and leaves the blanks between them out, so a chunk's text can be longer than
`chunk_size`. The default of 2048 is chonkie's own; on Python it gives chunks of a mean size near those of
`ast:max_nws=1500`, but a nominal size is not a promise: the realised size is printed beside every score.

chonkie up to 1.6.5 reports characters, later versions UTF-8 bytes. Which of the two is decided per file, by
looking: the unit in which every slice equals the chunk's text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from repoeval_bench.chunkers._adapters import Peer, spans_of
from repoeval_bench.chunkers._syntax import SAME_NAMES, library_language
from repoeval_bench.core.options import OneOf, Text, Whole
from repoeval_bench.core.registry import option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from repoeval_bench.core.source import SourceFile

_KINDS = {"code": "CodeChunker", "recursive": "RecursiveChunker", "token": "TokenChunker"}


@dataclass(frozen=True, slots=True)
class ChonkieChunker(Peer):
    """chonkie's CodeChunker, TokenChunker or RecursiveChunker; a chunk may start or end in the middle of a line."""

    name: ClassVar[str] = "chonkie"
    kind: str = option("code", "which of chonkie's chunkers", OneOf(tuple(_KINDS)))
    chunk_size: int = option(2048, "characters of a chunk, whitespace included", Whole(1))
    language: str = option("auto", "the grammar of kind=code; auto: by the file's name", Text())

    def spans(self, file: SourceFile) -> Sequence[tuple[int, int]] | None:
        """The pieces' spans, from any unit they are reported in."""
        code = self.kind == "code"
        language = library_language(file, self.language, SAME_NAMES, self.name) if code else ""
        pieces = _library(self.kind, self.chunk_size, language).chunk(file.text)
        return spans_of(file.text, [(piece.start_index, piece.end_index, piece.text) for piece in pieces])


@cache
def _library(kind: str, chunk_size: int, language: str) -> Any:
    import chonkie

    options: dict[str, object] = {"chunk_size": chunk_size}
    if kind == "code":
        options["language"] = language
    else:
        options["tokenizer"] = "character"
    if kind == "recursive":
        options["min_characters_per_chunk"] = 1
    return getattr(chonkie, _KINDS[kind])(**options)
