"""Pack a file's lines up to a size, and cut chunks of whole lines, regardless of language."""

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
    """Return chunks of whole lines that start at the given lines; the last one ends with the file.

    Each chunk but the first begins `overlap` lines earlier.
    """
    return [
        Chunk.cut(file, file.chars_of(LineSpan(max(0, first - overlap) if first else 0, last)))
        for first, last in pairwise((*starts, file.n_lines))
    ]


def cut_spans(file: SourceFile, spans: Iterable[tuple[int, int] | tuple[int, int, str]]) -> list[Chunk]:
    """Return chunks at the given (start, end) or (start, end, header), without blank ones."""
    return [
        Chunk.cut(file, CharSpan(start, end), *header)
        for start, end, *header in spans
        if start < end and not file.text[start:end].isspace()
    ]
