"""Bytes up to the last end of a line before a size, the end of each chunk repeated by the next: grepai's rule.

grepai cuts in this way (yoanbernabeu/grepai, indexer/chunker.go, read at commit 0c8d575): 512 "tokens" of four bytes,
50 of them repeated. So a chunk can begin within a line. Here no chunk begins within a character.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated, ClassVar

from repoeval_bench.chunkers._cutter import Cutter, cut_spans
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.fields import Doc, Natural, Positive
from repoeval_bench.core.source import Chunk, SourceFile


@CHUNKERS.register(parallel=True, scaled={"chunk_size": ("chunk_overlap",)})
@dataclass(frozen=True, slots=True)
class GrepaiChunker(Cutter):
    """Up to `chunk_size` bytes, ended at the last line end; the next chunk starts `chunk_overlap` before that end."""

    name: ClassVar[str] = "grepai"
    chunk_size: Annotated[Positive, Doc("bytes of a chunk, whitespace included")] = 2048
    chunk_overlap: Annotated[Natural, Doc("bytes that a chunk repeats of the one before it")] = 200

    def check(self) -> None:
        """Refuse an overlap that leaves nothing new."""
        if self.chunk_overlap >= self.chunk_size:
            raise SpecError(
                f"chunker grepai: chunk_overlap={self.chunk_overlap} is not below chunk_size={self.chunk_size}; "
                "give less"
            )

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """Return the chunks in order; none for a file without a non-blank line."""
        content = file.text.encode("utf-8", "surrogatepass")
        ends = list(accumulate(len(char.encode("utf-8", "surrogatepass")) for char in file.text))
        # Two byte spans can have the same characters; as keys they give one chunk.
        spans = {(bisect_right(ends, start), bisect_right(ends, end)): None for start, end in self._bytes(content)}
        return cut_spans(file, list(spans))

    def _bytes(self, content: bytes) -> Sequence[tuple[int, int]]:
        spans = []
        start = 0
        while start < len(content):
            end = min(start + self.chunk_size, len(content))
            if end < len(content) and (newline := content.rfind(b"\n", start, end)) > start:
                end = newline + 1
            is_blank = not content[start:end].strip()
            if not is_blank:
                spans.append((start, end))
            following = end - (0 if is_blank else self.chunk_overlap)
            start = following if following > start else end
        return spans
