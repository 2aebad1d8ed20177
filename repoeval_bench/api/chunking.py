"""Chunkers for scripts: a text in, strings with their lines out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Self, overload

from repoeval_bench.chunkers import registry
from repoeval_bench.core.errors import LanguageError, SpecError, UsageError
from repoeval_bench.core.parts import Chunker
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.spec import Spec


class TextChunk(str):
    """A chunk's text as it is embedded, after its header if the spec names one, with its lines in the whole text.

    `lines` counts from 0 and excludes its end, as every span does; `start_line` and `end_line` count from 1, both
    included.
    """

    __slots__ = ("lines",)
    lines: LineSpan

    def __new__(cls, text: str, lines: LineSpan) -> Self:
        """Make a chunk of its text and lines."""
        chunk = super().__new__(cls, text)
        chunk.lines = lines
        return chunk

    def __getnewargs__(self) -> tuple[str, LineSpan]:  # type: ignore[override]  # a worker gets the lines too
        return str(self), self.lines

    @property
    def start_line(self) -> int:
        """The first line, from 1."""
        return self.lines.start + 1

    @property
    def end_line(self) -> int:
        """The last line, from 1."""
        return self.lines.end


@dataclass(frozen=True, slots=True)
class TextChunker:
    """A chunker that also cuts plain texts; a run may use it as any other."""

    inner: Chunker

    @property
    def spec(self) -> str:
        """The spec with every option."""
        return self.inner.spec

    @overload
    def chunk(self, file: SourceFile) -> Sequence[Chunk]: ...
    @overload
    def chunk(self, text: str, /, path: str | Path = "") -> list[TextChunk]: ...
    def chunk(self, file: SourceFile | str, path: str | Path = "") -> Sequence[Chunk] | list[TextChunk]:
        """Return the chunks of a text, whose `path` names its language, as strings; of a SourceFile, as spans of it."""
        if isinstance(file, SourceFile):
            return self.inner.chunk(file)
        if not isinstance(file, str):
            raise UsageError(f"chunk cuts a text or a SourceFile; got {type(file).__name__}")
        try:
            chunks = self.inner.chunk(SourceFile(".", PurePath(path).as_posix() if path else "", file))
        except LanguageError:
            if path:
                raise
            raise LanguageError(
                f'{self.spec} needs a language, and the text has no path; name one: chunk(text, path="a.py")'
            ) from None
        return [TextChunk(chunk.embed_text, chunk.lines) for chunk in chunks]


def make_chunker(spec: str | Spec) -> TextChunker:
    """Return the chunker that a spec names, such as `ast:max_nws=1260`; `list chunkers` has all names.

    `chunk(text, path="a.py")` gives strings with their lines, `chunk(file)` the `Chunk`s of a `SourceFile`. SpecError:
    the name, an option or a value is impossible.
    """
    if not isinstance(spec, str | Spec):
        raise SpecError(f"a chunker's spec is a text such as 'ast:max_nws=800'; got {type(spec).__name__}")
    return TextChunker(registry.make_chunker(spec))
