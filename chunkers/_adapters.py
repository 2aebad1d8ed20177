"""Adapters for chunkers of other packages and for plain functions: spans, specs, and errors with names."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, redirect_stdout
from dataclasses import dataclass
from itertools import accumulate
from typing import Self, cast

from repoeval_bench.chunkers._cutter import Cutter
from repoeval_bench.chunkers._lines import cut_spans
from repoeval_bench.core.errors import OR_SKIP, ChunkError, UsageError, plug_in_errors_as
from repoeval_bench.core.parts import Chunker, Snippet
from repoeval_bench.core.source import Chunk, SourceFile


def named_failure(chunker: str, file: SourceFile) -> AbstractContextManager[None]:
    """Turn any exception of other people's code into a ChunkError that names the chunker and the file."""
    return plug_in_errors_as(ChunkError, f"{file.name}: {chunker}", f"repair the chunker or use another{OR_SKIP}")


def chunks_of(file: SourceFile, chunker: Chunker) -> tuple[Chunk, ...]:
    """Return a chunker's unchecked chunks of a file; any exception becomes a ChunkError that names both.

    A generator is run to its end here, and what a plug-in prints goes to standard error.
    """
    with named_failure(chunker.spec, file), redirect_stdout(sys.stderr):
        return tuple(chunker.chunk(file))


def char_offsets(text: str) -> dict[int, int]:
    """UTF-8 byte offset -> character offset, for every character boundary of the text, its end included."""
    widths = (len(char.encode("utf-8", "surrogatepass")) for char in text)
    return {byte: index for index, byte in enumerate(accumulate(widths, initial=0))}


def spans_of(text: str, pieces: Sequence[tuple[int, int, str]]) -> list[tuple[int, int]] | None:
    """Return character spans of (start, end, text) pieces whose unit, characters or UTF-8 bytes, is not known.

    It is the unit in which every slice equals its text; None if neither does.
    """

    def fitting(spans: list[tuple[int, int]]) -> list[tuple[int, int]] | None:
        # Python silently shortens a slice beyond the text, hence the bounds.
        matches = (
            0 <= start <= end <= len(text) and text[start:end] == piece
            for (start, end), (*_, piece) in zip(spans, pieces, strict=True)
        )
        return spans if all(matches) else None

    spans = fitting([(start, end) for start, end, _ in pieces])
    if spans is None and not text.isascii():
        offsets = char_offsets(text)
        spans = fitting([(offsets.get(start, -1), offsets.get(end, -1)) for start, end, _ in pieces])
    return spans


def spans_in_order(text: str, pieces: Iterable[str], overlap: int = 0) -> list[tuple[int, int]] | None:
    """Return character spans of pieces that follow each other in a text, for libraries that return strings only.

    Each piece is expected right after the one before it, blanks skipped, and searched further on only if it is not
    there. So a piece that occurs twice can be mistaken only if text before it was left out. With an `overlap` in
    characters a piece may begin that far before the end of the one before it, and not before its start. None if a
    piece is not found.
    """
    spans: list[tuple[int, int]] = []
    start = end = 0
    for piece in pieces:
        body = piece.strip()
        if not body:
            continue
        if overlap:
            start = text.find(body, max(start, end - overlap))
        else:
            while end < len(text) and text[end].isspace():
                end += 1
            start = end if text.startswith(body, end) else text.find(body, end)
        if start < 0:
            return None
        end = start + len(body)
        spans.append((start, end))
    return spans


@dataclass(frozen=True, slots=True)
class Peer(Cutter, ABC):
    """A chunker of another package, whose spans are found in the file."""

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """Return the file's chunks as the package cuts them, without blank ones.

        ChunkError, with the file's name, if the package fails or returns text that is not in the file.
        """
        if not file.text.strip():
            return []
        with named_failure(self.name, file):
            spans = self.spans(file)
        if spans is None:
            raise ChunkError(
                f"{file.name}: {self.name} returned a text or lines that are not in the file; "
                f"use another chunker{OR_SKIP}"
            )
        return cut_spans(file, spans)

    @abstractmethod
    def spans(self, file: SourceFile) -> Sequence[tuple[int, int] | tuple[int, int, str]] | None:
        """Return character spans in order of their start, with a header if any; None if one is not in the text.

        LanguageError if the package cannot cut the file's language.
        """

    @classmethod
    def of_size(cls, nws: int) -> Self | None:  # noqa: ARG003  # packages that know it override this
        """Return the chunker whose chunks have about the mean size of `fixed:max_nws=NWS` on ordinary code.

        The package need not be installed. None if the ratio of sizes is not known.
        """
        return None

    def snippet(self, language: str) -> Snippet | None:  # noqa: ARG002  # packages that know it override this
        """Return Python that makes this chunker with its package alone, for files in `language`, one of ours.

        It cuts a file's text as measured, apart from blanks at the ends of chunks. None if the package does not know
        the language, or no such code is known.
        """
        return None


@dataclass(frozen=True, slots=True)
class NamedChunker:
    """A plug-in under the spec that names it; its chunks are checked like those of every chunker."""

    inner: Chunker
    spec: str
    """The spec with every option, regardless of what the plug-in prints."""

    def chunk(self, file: SourceFile) -> Sequence[Chunk]:
        """The plug-in's chunks as it returns them."""
        return self.inner.chunk(file)


@dataclass(frozen=True, slots=True)
class FunctionChunker:
    """A function that takes a `SourceFile` and returns its chunks; the spec is `py:module:name`."""

    function: Callable[[SourceFile], Sequence[Chunk]]

    @property
    def spec(self) -> str:
        """`py:module:name` of the function."""
        return f"py:{self.function.__module__}:{self.function.__qualname__}"

    def chunk(self, file: SourceFile) -> Sequence[Chunk]:
        """Return the function's chunks of the file."""
        return self.function(file)


def as_chunker(value: object) -> Chunker:
    """Return an object with `spec` and `chunk` as it is, and wrap a function; anything else is a UsageError."""
    has_spec = isinstance(getattr(value, "spec", None), str)
    if has_spec and callable(getattr(value, "chunk", None)):
        return cast("Chunker", value)
    if isinstance(value, type):
        raise UsageError(f"chunker {value.__name__} is a class; give an object of it, {value.__name__}()")
    if hasattr(value, "chunk"):
        raise UsageError(
            f"chunker {type(value).__name__} has no spec; give it an attribute spec, a text such as "
            f"'py:{type(value).__module__}:{type(value).__name__}'"
        )
    name = getattr(value, "__qualname__", "")
    if not callable(value) or not name:
        raise UsageError(
            f"{value!r} is not a chunker; give a spec such as 'ast', an object with spec and chunk, or a function"
        )
    if not name.isidentifier():
        raise UsageError(f"function {name} cannot be named in a run; define it at the top of a module or script")
    return FunctionChunker(cast("Callable[[SourceFile], Sequence[Chunk]]", value))
