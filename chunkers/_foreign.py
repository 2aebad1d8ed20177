"""What it takes to trust somebody else's chunker: named failures, checked spans, checked results."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import accumulate
from typing import TYPE_CHECKING

from repoeval_bench.errors import BenchError, ChunkError
from repoeval_bench.types import Chunk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from repoeval_bench.types import Chunker, SourceFile


def is_installed(package: str) -> bool:
    """Whether a package can be imported, without importing it."""
    return find_spec(package) is not None


@contextmanager
def named_failure(chunker: str, file: SourceFile) -> Iterator[None]:
    """Turn whatever foreign code raises into a ChunkError that names the chunker and the file."""
    try:
        yield
    except BenchError:
        raise
    except Exception as error:
        raise ChunkError(
            f"{file.repo}/{file.path}: {chunker} failed with {type(error).__name__}: {_first_line(error)}; "
            "mend the chunker or leave such files out with --skip-errors"
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:200] or "no message"


def char_offsets(text: str) -> dict[int, int]:
    """UTF-8 byte offset -> character offset, for every character boundary of the text, its end included."""
    widths = (len(char.encode("utf-8", "surrogatepass")) for char in text)
    return {byte: index for index, byte in enumerate(accumulate(widths, initial=0))}


def spans_of(text: str, pieces: Sequence[tuple[int, int, str]]) -> list[tuple[int, int]] | None:
    """Character spans of (start, end, text) pieces whose unit, characters or UTF-8 bytes, is not known.

    The unit is the one in which every slice equals its text; None where neither is.
    """

    def fitting(spans: list[tuple[int, int]]) -> list[tuple[int, int]] | None:
        # A slice beyond the text would be cut short without a word, hence the bounds.
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


@dataclass(frozen=True, slots=True)
class CheckedChunker:
    """A plug-in, its failures named and its chunks looked at before they enter a run."""

    inner: Chunker
    spec: str

    def chunk(self, file: SourceFile) -> Sequence[Chunk]:
        """The plug-in's chunks; ChunkError where it fails or returns what is no chunk of this file."""
        name = f"{file.repo}/{file.path}"
        with named_failure(self.spec, file):
            chunks = list(self.inner.chunk(file))
        start = 0
        for chunk in chunks:
            if not isinstance(chunk, Chunk):
                raise ChunkError(
                    f"{name}: {self.spec} returned a {type(chunk).__name__}, {str(chunk)[:40]!r}, where a Chunk "
                    "belongs; cut chunks with Chunk.cut(file, CharSpan(start, end))"
                )
            same = Chunk.cut(file, chunk.chars) if chunk and chunk.chars.end <= len(file.text) else None
            if same is None or (chunk.text, chunk.lines, chunk.chunk_id) != (
                same.text,
                same.lines,
                same.chunk_id,
            ):
                raise ChunkError(
                    f"{name}: {self.spec} returned {chunk.chunk_id}, which is not what the file holds there; "
                    "cut chunks with Chunk.cut(file, CharSpan(start, end))"
                )
            if chunk.chars.start < start:
                raise ChunkError(
                    f"{name}: {self.spec} returned {chunk.chunk_id} after a chunk that starts at {start}; "
                    "return chunks in order of their start"
                )
            start = chunk.chars.start
        return chunks
