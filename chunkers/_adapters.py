"""Adapters for chunkers of other packages and for plain functions: spans, specs, and errors with names."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, redirect_stdout
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from repoeval_bench.chunkers._cutter import Cutter, cut_spans
from repoeval_bench.core.errors import OR_SKIP, ChunkError, GrammarError, LanguageError, plug_in_errors_as
from repoeval_bench.core.languages import language_name
from repoeval_bench.core.parts import Chunker
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.words import few


def named_failure(chunker: str, file: SourceFile) -> AbstractContextManager[None]:
    """Turn any exception of other people's code into a ChunkError that names the chunker and the file."""
    return plug_in_errors_as(ChunkError, f"{file.name}: {chunker}", f"repair the chunker or use another{OR_SKIP}")


def chunks_of(file: SourceFile, chunker: Chunker) -> tuple[Chunk, ...]:
    """Return a chunker's unchecked chunks of a file; any exception becomes a ChunkError that names both."""
    # What a plug-in prints goes to standard error.
    with named_failure(chunker.spec, file), redirect_stdout(sys.stderr):
        return tuple(chunker.chunk(file))  # here a generator is run to its end


def contract_faults(file: SourceFile, chunks: Iterable[Chunk]) -> Iterator[tuple[str, str]]:
    """Yield (promise of the conformance suite, sentence) for each chunk that is broken, blank, out of order or twice.

    Raises whatever a chunk of odd fields raises.
    """
    seen: set[str] = set()
    before: Chunk | None = None
    for chunk in chunks:
        if type(chunk) is not Chunk:
            yield "chunks", f"{file.name} gave the {type(chunk).__name__} {str(chunk)[:60]!r}, not a Chunk"
            return  # the promises on chunks need chunks
        if wrong := _misplaced(chunk, file):
            yield "slices", wrong
        if chunk.text.isspace():
            yield "no blanks", f"{chunk.chunk_id} holds only whitespace"
        if chunk.rewritten.isspace():
            yield "no blanks", f"{chunk.chunk_id} is rewritten as whitespace"
        if before and chunk.chars.start < before.chars.start:
            yield "in order", f"{chunk.chunk_id} comes behind {before.chunk_id} and starts before it"
        if chunk.chunk_id in seen:
            yield "in order", f"{chunk.chunk_id} is returned twice"
        seen.add(chunk.chunk_id)
        before = chunk


def _misplaced(chunk: Chunk, file: SourceFile) -> str:
    """Return how a chunk differs from what `Chunk.cut` makes of its span in the file; empty if it does not."""
    for what in ("header", "rewritten"):
        if not isinstance(text := getattr(chunk, what), str):
            return f"{what} of {chunk.chunk_id} is a {type(text).__name__}, not a text"
    try:
        expected = Chunk.cut(file, chunk.chars, chunk.header, chunk.rewritten)
    except ValueError as error:
        return str(error)
    return "" if chunk == expected else f"{chunk.chunk_id} is not what {file.name} holds at {chunk.chars}"


def spans_in_order(text: str, pieces: Iterable[str], overlap: int = 0) -> list[tuple[int, int]] | None:
    """Return character spans of pieces that follow each other in a text, for libraries that return strings only.

    Each piece is expected right after the one before it, blanks skipped, and searched further on only if it is not
    there. With an `overlap` in characters a piece may begin that far before the end of the one before it, and not
    before its start. None if a piece is not found.
    """
    # So a piece that occurs twice can be mistaken only if text before it was left out.
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

    names: ClassVar[Mapping[str, str]] = {}
    """Language -> the package's name of it; empty if it needs none."""

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

    def language_in(self, file: SourceFile) -> str:
        """Return the package's name of the file's language, or the option `language` unless it is `auto`.

        LanguageError if the package does not know the file's language.
        """
        chosen: str = getattr(self, "language", "auto")
        language = language_name(file.path, file.text)
        if chosen == "auto" and language not in self.names:
            raise LanguageError(
                f"{file.name}: {self.name} does not know {language}, only {few([*self.names], 10)}; "
                f"use another chunker{OR_SKIP}"
            )
        return self.names[language] if chosen == "auto" else chosen

    @abstractmethod
    def spans(self, file: SourceFile) -> Sequence[tuple[int, int] | tuple[int, int, str]] | None:
        """Return character spans in order of their start, with a header if any; None if one is not in the text.

        LanguageError if the package cannot cut the file's language.
        """


@dataclass(frozen=True, slots=True)
class NamedChunker:
    """A plug-in under the spec that names it; its chunks are checked like those of every chunker."""

    inner: Chunker
    spec: str
    """The spec with every option, regardless of what the plug-in prints."""

    def chunk(self, file: SourceFile) -> Sequence[Chunk]:
        """The plug-in's chunks as it returns them."""
        return self.inner.chunk(file)


def unknown_language(chunker: Chunker, files: Iterable[SourceFile]) -> LanguageError | None:
    """Return the error of a chunker that does not know a language of the files, or None.

    The shortest file of each language is cut, except of Python, which every chunker here knows. Raises GrammarError if
    a grammar is not installed. Other failures are ignored here.
    """
    shortest: dict[str, SourceFile] = {}
    for file in files:
        name = language_name(file.path, file.text)
        if name != "python" and file.text.strip() and len(file.text) < len(shortest.setdefault(name, file).text):
            shortest[name] = file
    check: Callable[[SourceFile], object] = partial(chunks_of, chunker=chunker)
    if isinstance(chunker, Peer) and chunker.names:
        check = chunker.language_in  # decides by the file's name, before the library is imported
    for file in shortest.values():
        try:
            check(file)
        except GrammarError:  # it says nothing about the chunker
            raise
        except LanguageError as error:
            return error
        except ChunkError:
            continue
    return None
