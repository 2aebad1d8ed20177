"""Whole lines up to a size, blind to syntax: the baseline every other chunker is compared with."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar

from repoeval_bench.chunkers._cutter import cut_before, pack
from repoeval_bench.chunkers._tokens import Sized
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.fields import Doc, Natural
from repoeval_bench.core.source import Chunk, SourceFile


@CHUNKERS.register(parallel=True, colour=0)
@dataclass(frozen=True, slots=True)
class FixedChunker(Sized):
    """Whole lines up to max_nws non-whitespace characters (or max_tokens); with `offset`, packed from that line on.

    Every line is in exactly one chunk; a single line above the size is a chunk of its own. The lines before the offset
    join the first chunk, which may have up to `offset` lines more than fit.
    """

    name: ClassVar[str] = "fixed"
    # It moves the boundaries, so the spread between offsets shows how much of a difference is chance.
    offset: Annotated[Natural, Doc("line at which packing starts")] = 0

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """The file's lines, packed in order; none for a file without a non-blank line."""
        before = self.before(file)
        if not before[-1]:
            return []
        # An offset within the leading blank lines, or after the last line with text, moves nothing.
        offset = self.offset if 0 < before[min(self.offset, file.n_lines)] < before[-1] else 0
        sizes = [after - earlier for earlier, after in pairwise(before[offset:])]
        # The lines before the offset are no chunk of their own: that would be a small one in every file, and the spread
        # between offsets would show the effect of its size.
        _, *starts = pack(sizes, self.limit)
        return cut_before(file, [0, *(offset + start for start in starts)])
