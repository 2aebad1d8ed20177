"""chonkie's chunkers that need no model, their spans mapped back onto the file.

Unit of `chunk_size`: characters, whitespace included; bytes for `kind=fast`.
"""

# chonkie's CodeChunker adds up the lengths of syntax nodes and leaves the blanks between them out, so a chunk's text
# can be longer than `chunk_size`. The default of 2048 is chonkie's own. On Python its chunks have about the mean size
# of those of `ast:max_nws=1500`.

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Annotated, Any, ClassVar, Literal

from repoeval_bench.chunkers._adapters import Peer
from repoeval_bench.chunkers._syntax import PACK_NAMES, library_parser
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.fields import Doc, Positive
from repoeval_bench.core.parts import Snippet
from repoeval_bench.core.source import SourceFile

_KINDS = {  # the others need a model
    "code": "CodeChunker",
    "recursive": "RecursiveChunker",
    "sentence": "SentenceChunker",
    "token": "TokenChunker",
    "fast": "FastChunker",
}


@CHUNKERS.register(
    parallel=True,
    # 1.5 to 1.7 in data/leaderboard/leaderboard.csv.
    pasted={"chunk_size": 1.65},
    colour=2,
    requires=("chonkie",),
    libraries=("chonkie", "tree_sitter_language_pack"),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class ChonkieChunker(Peer):
    """chonkie's Code-, Recursive-, Sentence-, Token- or FastChunker.

    They need no model; a chunk may start or end in the middle of a line.
    """

    name: ClassVar[str] = "chonkie"
    names: ClassVar = PACK_NAMES
    kind: Annotated[Literal["code", "recursive", "sentence", "token", "fast"], Doc("which of chonkie's chunkers")] = (
        "code"
    )
    chunk_size: Annotated[Positive, Doc("characters of a chunk, whitespace included; bytes of kind=fast")] = 2048
    language: Annotated[str, Doc("the grammar of kind=code; auto: by the file's name")] = "auto"

    def check(self) -> None:
        """Refuse a grammar for text."""
        if self.kind != "code" and self.language != "auto":
            raise SpecError(
                f"chunker chonkie: kind={self.kind} reads no grammar; leave language out, or take kind=code"
            )

    def spans(self, file: SourceFile) -> Sequence[tuple[int, int]] | None:
        """Return the pieces' spans; None if a piece is not what the file holds there."""
        language = self.language_in(file)
        pieces = _library(self.kind, self.chunk_size, language).chunk(file.text)
        if any(file.text[piece.start_index : piece.end_index] != piece.text for piece in pieces):
            return None
        return [(piece.start_index, piece.end_index) for piece in pieces]

    def language_in(self, file: SourceFile) -> str:
        """Return chonkie's name for the file's language, "" for a kind that needs none; LanguageError if unknown."""
        return Peer.language_in(self, file) if self.kind == "code" else ""

    def snippet(self, language: str) -> Snippet | None:
        """Return the call that `spans` makes."""
        named = PACK_NAMES.get(language) if self.language == "auto" else self.language
        if named is None:
            return None
        arguments = _arguments(self.kind, self.chunk_size, named).items()
        listed = ", ".join(f"{name}={json.dumps(value)}" for name, value in arguments)
        return Snippet("chonkie", f"from chonkie import {_KINDS[self.kind]}", f"{_KINDS[self.kind]}({listed})")


@cache
def _library(kind: str, chunk_size: int, language: str) -> Any:
    chunker = getattr(import_module("chonkie"), _KINDS[kind])(**_arguments(kind, chunk_size, language))
    if kind == "code":
        chunker.parser = library_parser(language)
    return chunker


def _arguments(kind: str, chunk_size: int, language: str) -> dict[str, Any]:
    """Return the arguments of chonkie's chunker of a kind; sizes are characters, or bytes for `fast`."""
    arguments: dict[str, Any] = {"chunk_size": chunk_size}
    if kind == "code":
        arguments["language"] = language
    elif kind != "fast":
        arguments["tokenizer"] = "character"
    if kind == "recursive":
        arguments["min_characters_per_chunk"] = 1
    return arguments
