"""Whole lines up to a size, each chunk from the middle of the one before: a window rule of a code search engine.

bloop cut in this way (BloopAI/bloop, server/bleep/src/semantic/chunk.rs and semantic.rs), from 50 up to 256 tokens.
Here too the least size is a fifth of the largest. Chunks are whole lines; bloop cuts within a line if the lines before
it leave a quarter of the size free.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from repoeval_bench.chunkers._tokens import Sized
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import LineSpan


@CHUNKERS.register(parallel=True)
@dataclass(frozen=True, slots=True)
class HalfOverlapChunker(Sized):
    """As many whole lines as fit in `max_nws`, then again from the line nearest to the middle of their size.

    The next chunk starts within the last three quarters of the one before, or after it if no line starts there. A chunk
    smaller than a fifth of the size is left out, so the rule loses small files. A single line above the size is a chunk
    of its own.
    """

    name: ClassVar[str] = "half-overlap"

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """The chunks in order; most lines are in two."""
        before = self.before(file)
        return [
            Chunk.cut(file, file.chars_of(lines))
            for lines in _windows(before, self.limit)
            if 5 * (before[lines.end] - before[lines.start]) >= max(1, self.limit)
        ]


def _windows(before: Sequence[int], limit: int) -> Iterator[LineSpan]:
    first = 0
    while first < len(before) - 1:
        last = max(first + 1, bisect_right(before, before[first] + limit, lo=first) - 1)
        yield LineSpan(first, last)
        if before[last] == before[-1]:
            return
        first = _middle(before, first, last)


def _middle(before: Sequence[int], first: int, last: int) -> int:
    """Return the line after the first quarter that starts nearest to the middle (in a tie the earlier), or `last`."""
    size = before[last] - before[first]
    inside = [line for line in range(first + 1, last) if 4 * (before[line] - before[first]) >= size]
    return min(inside, key=lambda line: abs(2 * (before[line] - before[first]) - size), default=last)
