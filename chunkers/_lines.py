"""A file's lines for chunkers: what fits together, and chunks of whole lines. Nothing here knows a language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import CharSpan, LineSpan


def pack(sizes: Iterable[int], limit: int) -> list[int]:
    """Return where chunks start when items of the given sizes are put together in order, up to `limit` each.

    An item above the limit is alone. Items of size 0 stay with what precedes them, and at the start with what follows.
    So no chunk has size 0 unless all have.
    """
    starts: list[int] = []
    filled = 0
    for index, size in enumerate(sizes):
        if not starts:
            starts.append(index)
        elif size and filled and filled + size > limit:
            starts.append(index)
            filled = 0
        filled += size
    return starts


def cut_before(file: SourceFile, starts: Sequence[int], overlap: int = 0) -> list[Chunk]:
    """Chunks of whole lines that start at the given lines, the last one ending with the file.

    `overlap` lines of what precedes are put in front of each chunk but the first. Trailing blank lines stay
    with the chunk they follow.
    """
    return [
        Chunk.cut(file, file.chars_of(LineSpan(max(0, first - overlap) if first else 0, last)))
        for first, last in pairwise((*starts, file.n_lines))
    ]


def cut_spans(file: SourceFile, spans: Iterable[tuple[int, int] | tuple[int, int, str]]) -> list[Chunk]:
    """Chunks at the given (start, end) or (start, end, header); spans that hold only whitespace are left out."""
    return [
        Chunk.cut(file, CharSpan(start, end), *header)
        for start, end, *header in spans
        if start < end and not file.text[start:end].isspace()
    ]
