"""Semble's chunker (semble 0.7.0, `semble.chunking.core`), by its own package and without its model.

Unit of `chunk_size`: UTF-8 bytes, whitespace included. Syntax nodes that fit are merged with their next siblings,
larger ones are opened, and their parts are merged again. A leaf is never cut, so a long string is a chunk of any size.
A chunk begins and ends with a node; the text between two chunks, mostly blanks, is in none.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, ClassVar

from repoeval_bench.chunkers._adapters import Peer
from repoeval_bench.chunkers._syntax import SAME_NAMES
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.fields import Doc, Positive
from repoeval_bench.core.source import SourceFile


@CHUNKERS.register(requires=("semble",))
@dataclass(frozen=True, slots=True)
class SembleChunker(Peer):
    """Semble's chunker (extra `semble`); Semble itself cuts at 750 bytes."""

    name: ClassVar[str] = "semble"
    names: ClassVar = SAME_NAMES
    chunk_size: Annotated[Positive, Doc("bytes of a chunk, whitespace included")] = 2000
    language: Annotated[str, Doc("the grammar; auto: by the file's name")] = "auto"

    def spans(self, file: SourceFile) -> Sequence[tuple[int, int]] | None:
        """Return the character offsets that the package reports."""
        language = self.language_in(file)
        logging.getLogger("semble").setLevel(logging.ERROR)  # it warns of what is nested deeper than it opens
        bounds = import_module("semble.chunking.core").chunk(file.text, language, self.chunk_size)
        # None where the package has no such grammar on this platform: it would cut by lines, and only its log says so.
        return None if bounds is None else [(bound.start, bound.end) for bound in bounds]
