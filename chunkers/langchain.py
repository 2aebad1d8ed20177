"""LangChain's RecursiveCharacterTextSplitter with its separators for a language.

The library returns strings. Without an overlap they follow each other in the file, and are found there in their order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Annotated, Any, ClassVar

from repoeval_bench.chunkers._adapters import Peer, spans_in_order
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.fields import Doc, Natural, Positive
from repoeval_bench.core.parts import Snippet
from repoeval_bench.core.source import SourceFile

# TSX has no separators of its own there; TypeScript's fit, as they are words.
_NAMES = {
    "python": "python",
    "javascript": "js",
    "typescript": "ts",
    "tsx": "ts",
    "java": "java",
    "go": "go",
    "rust": "rust",
    "c": "c",
    "cpp": "cpp",
    "csharp": "csharp",
    **{name: name for name in ("ruby", "php", "kotlin", "scala", "swift", "elixir", "haskell", "lua", "proto")},
}


@CHUNKERS.register(
    parallel=True,
    # 1.7 to 1.9 in data/leaderboard/leaderboard.csv.
    pasted={"chunk_size": 1.85},
    requires=("langchain_text_splitters",),
    libraries=("langchain_text_splitters",),
)
@dataclass(frozen=True, slots=True)
class LangchainChunker(Peer):
    """LangChain's text splitter for code (extra `langchain`).

    Its chunks have no blanks at their ends.
    """

    name: ClassVar[str] = "langchain"
    names: ClassVar = _NAMES
    # On Python the chunks are of about the size of those of `ast:max_nws=1500`.
    chunk_size: Annotated[Positive, Doc("characters of a chunk, whitespace included")] = 2200
    chunk_overlap: Annotated[Natural, Doc("characters that a chunk may repeat of the one before it")] = 0
    language: Annotated[str, Doc("whose separators are used; auto: by the file's name")] = "auto"

    @property
    def unused(self) -> frozenset[str]:
        """The overlap, where there is none."""
        # Specs of stored runs were printed without it before the option came.
        return frozenset() if self.chunk_overlap else frozenset({"chunk_overlap"})

    def check(self) -> None:
        """Refuse an overlap that leaves no new character."""
        if self.chunk_overlap >= self.chunk_size:
            raise SpecError(
                f"chunker langchain: chunk_overlap={self.chunk_overlap} is not below chunk_size={self.chunk_size}; "
                "choose a smaller overlap"
            )

    def spans(self, file: SourceFile) -> Sequence[tuple[int, int]] | None:
        """Return the spans of the library's strings."""
        splitter = _library(self.chunk_size, self.chunk_overlap, self.language_in(file))
        return spans_in_order(file.text, splitter.split_text(file.text), self.chunk_overlap)

    def snippet(self, language: str) -> Snippet | None:
        """Return the call with LangChain's own defaults, which leave out the blanks at the ends of chunks."""
        named = _NAMES.get(language) if self.language == "auto" else self.language
        if named is None:
            return None
        sizes = f"chunk_size={self.chunk_size}, chunk_overlap={self.chunk_overlap}"
        code = f"from_language(Language.{named.upper()}, {sizes})"
        return Snippet(
            "LangChain",
            "from langchain_text_splitters import Language, RecursiveCharacterTextSplitter",
            f"RecursiveCharacterTextSplitter.{code}",
        )


@cache
def _library(chunk_size: int, chunk_overlap: int, language: str) -> Any:
    library = import_module("langchain_text_splitters")
    return library.RecursiveCharacterTextSplitter.from_language(
        library.Language(language), chunk_size=chunk_size, chunk_overlap=chunk_overlap, strip_whitespace=False
    )
