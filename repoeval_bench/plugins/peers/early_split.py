"""Whole lines up to a size, ended early at blank lines, comments and declarations: a line rule of a code assistant.

Sourcegraph embedded files in this way for Cody (sourcegraph/sourcegraph-public-snapshot,
internal/codeintel/context/split.go). A chunk ends after 256 tokens, or after 224 if such a line follows, and a file
below 384 is not cut. A token is four bytes there; here these are shares of the size. The words are those of the source;
it has none of Python's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from repoeval_bench.chunkers._lines import cut_before
from repoeval_bench.chunkers._tokens import NWS, Size, Sized
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.fields import Doc
from repoeval_bench.core.source import Chunk, SourceFile

_WORDS = ("//", "#", "/*", "func", "var", "const", "fn", "public", "private", "type")
"""Words and marks at the start of a line that begin a comment or a declaration."""


@CHUNKERS.register(parallel=True)
@dataclass(frozen=True, slots=True)
class EarlySplitChunker(Sized):
    """Whole lines until `max_nws` is passed, or 7/8 of it in front of a blank line, a comment or a declaration.

    The line that passes the size is in the chunk, so a chunk can be larger by less than a line. A file below one and a
    half sizes is one chunk. Every line is in exactly one chunk. Blind to syntax: every line that starts with `type`
    counts as a declaration.
    """

    name: ClassVar[str] = "early-split"
    max_nws: Annotated[Size, Doc("non-whitespace characters beyond which a chunk ends")] = NWS
    max_tokens: Annotated[Size | None, Doc("tokens beyond which a chunk ends, in place of max_nws")] = None

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """The file's lines, packed in order; none for a file without a non-blank line."""
        before = self.before(file)
        if not before[-1]:
            return []
        starts = [0]
        if 2 * before[-1] >= 3 * self.limit:
            for line, text in enumerate(file.text.splitlines()):
                filled = before[line] - before[starts[-1]]
                early = 8 * filled > 7 * self.limit and (text.startswith(_WORDS) or not text.strip())
                # Blank lines at the end stay with the last chunk.
                if (early or filled > self.limit) and before[line] < before[-1]:
                    starts.append(line)
        return cut_before(file, starts)
