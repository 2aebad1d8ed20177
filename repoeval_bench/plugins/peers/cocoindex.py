"""CocoIndex's RecursiveSplitter: syntax nodes with tree-sitter, opened where too large and merged up to a size.

Unit of `chunk_size`, `min_chunk_size` and `chunk_overlap`: UTF-8 bytes, whitespace included. The default of 2000 gives
chunks of about the size of `ast:max_nws=1500` on Python; the realised size is printed beside every score.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Annotated, Any, ClassVar

from repoeval_bench.chunkers._adapters import Peer
from repoeval_bench.chunkers._syntax import LanguageName, resolve_language
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.fields import Doc, Natural, Positive
from repoeval_bench.core.source import SourceFile


@CHUNKERS.register(requires=("cocoindex",))
@dataclass(frozen=True, slots=True)
class CocoindexChunker(Peer):
    """CocoIndex's splitter (extra `cocoindex`), its telemetry switched off."""

    name: ClassVar[str] = "cocoindex"
    chunk_size: Annotated[Positive, Doc("bytes of a chunk, whitespace included")] = 2000
    min_chunk_size: Annotated[Positive | None, Doc("bytes of a chunk, at least; none: half of chunk_size")] = None
    chunk_overlap: Annotated[Natural, Doc("bytes that a chunk repeats of the one before it, at most")] = 0
    language: LanguageName = "auto"

    @property
    def unused(self) -> frozenset[str]:
        """The least size, if the library chooses it."""
        return frozenset({"min_chunk_size"} if self.min_chunk_size is None else ())

    def check(self) -> None:
        """Refuse an overlap that leaves nothing new."""
        if self.chunk_overlap >= self.chunk_size:
            raise SpecError(
                f"chunker cocoindex: chunk_overlap={self.chunk_overlap} is more than chunk_size={self.chunk_size} "
                f"allows; give at most {self.chunk_size - 1}"
            )

    def spans(self, file: SourceFile) -> Sequence[tuple[int, int]] | None:
        """The character offsets that the library reports."""
        pieces = _library().split(
            file.text,
            self.chunk_size,
            min_chunk_size=self.min_chunk_size,
            chunk_overlap=self.chunk_overlap or None,
            # It knows every language under the same name; one that it does not know would be cut as plain text.
            language=resolve_language(file, self.language).name,
        )
        return [(piece.start.char_offset, piece.end.char_offset) for piece in pieces]


@cache
def _library() -> Any:
    # The package reports its use to a server when it is imported. A program that imported it earlier has decided for
    # itself.
    os.environ["COCOINDEX_DISABLE_USAGE_TRACKING"] = "1"
    return import_module("cocoindex.ops.text").RecursiveSplitter()
