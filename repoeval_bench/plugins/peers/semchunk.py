"""semchunk: splits a text at the longest run of newlines, else of tabs, else of blanks, else at punctuation.

It is made for prose and knows no language. A counter measures its sizes; here they are `max_nws`, this project's unit,
or `max_tokens`. Chunks are separated by blanks or line ends, which are in no chunk.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

from repoeval_bench.chunkers._adapters import Peer
from repoeval_bench.chunkers._tokens import Sized, counter
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.source import SourceFile


@CHUNKERS.register(requires=("semchunk",))
@dataclass(frozen=True, slots=True)
class SemchunkChunker(Peer, Sized):
    """semchunk (extra `semchunk`) without its AI chunking, which asks a server."""

    name: ClassVar[str] = "semchunk"

    def spans(self, file: SourceFile) -> Sequence[tuple[int, int]] | None:
        """Return the offsets that the library reports."""
        pieces = _library(self.limit, self.tokenizer if self.max_tokens else None)(file.text, offsets=True)
        spans: Sequence[tuple[int, int]] = pieces[1]
        return spans


@cache
def _library(size: int, tokenizer: str | None) -> Any:
    # Its memory of sizes would hold every text that was ever counted.
    return import_module("semchunk").chunkerify(counter(tokenizer), size, memoize=False)
