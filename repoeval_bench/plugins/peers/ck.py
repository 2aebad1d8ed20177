"""Definitions, nested ones too, the gaps between them, and windows over those that are too large: ck's rule.

The rule is in BeaconBay/ck, ck-chunk/src/lib.rs and query_chunker.rs of version 0.7. Its chunks are the matches of a
syntax query, and the gaps between them. A chunk above 400 estimated tokens becomes windows of 90 % of that, each
repeating 80 tokens. A token counts as 4.5 characters, so the size is 1,800 here. The definitions of all ten languages
replace the query.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge

from repoeval_bench.chunkers._cutter import Cutter, cut_spans
from repoeval_bench.chunkers._syntax import LanguageName, resolve_language
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.definitions import definitions
from repoeval_bench.core.fields import Doc
from repoeval_bench.core.source import Chunk, SourceFile

Span = tuple[int, int]


@CHUNKERS.register(parallel=True)
@dataclass(frozen=True, slots=True)
class CkChunker(Cutter):
    """Every definition, nested ones too, and the code between them; larger ones as overlapping windows.

    A method is also in its class's chunk. A window has nine tenths of `chunk_size` characters, and two ninths of them
    repeat the window before. Every line is in a chunk.
    """

    name: ClassVar[str] = "ck"
    chunk_size: Annotated[int, Ge(10), Doc("characters of a chunk, whitespace included, at most")] = 1800
    language: LanguageName = "auto"

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """Return the chunks in order of their start, outer ones first.

        LanguageError where the file's language is not known or its grammar is not installed.
        """
        defined = definitions(file, resolve_language(file, self.language))
        spans = {
            (span.start, span.end)
            for item in defined
            if item.kind != "variable"
            for span in [file.chars_of(item.lines)]
        }
        parts = spans | set(_gaps(spans, len(file.text)))
        windows = {window for part in parts for window in self._windows(part)}
        return cut_spans(file, sorted(windows, key=lambda span: (span[0], -span[1])))

    def _windows(self, part: Span) -> Iterator[Span]:
        start, end = part
        if end - start <= self.chunk_size:
            yield part
            return
        window = self.chunk_size * 9 // 10
        step = max(1, window - self.chunk_size // 5)
        while True:
            yield start, min(start + window, end)
            if start + window >= end:
                return
            start += step


def _gaps(spans: Iterable[Span], length: int) -> Iterator[Span]:
    """Yield the spans of text that no given span covers."""
    covered = 0
    for start, end in sorted(spans):
        if start > covered:
            yield covered, start
        covered = max(covered, end)
    if covered < length:
        yield covered, length
