"""LlamaIndex's CodeSplitter, which is Sweep's chunker on tree-sitter.

The library returns stripped strings, which follow each other in the file and are found there in their order. It refuses
a file that begins with a syntax error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Annotated, Any, ClassVar

from repoeval_bench.chunkers._adapters import Peer, spans_in_order
from repoeval_bench.chunkers._syntax import PACK_NAMES, library_parser
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.fields import Doc, Positive
from repoeval_bench.core.parts import Snippet
from repoeval_bench.core.source import SourceFile


@CHUNKERS.register(
    parallel=True,
    # 2.1 to 2.9 in data/leaderboard/leaderboard.csv.
    pasted={"max_chars": 2.4},
    requires=("llama_index",),
    libraries=("llama_index.core.node_parser", "tree_sitter_language_pack"),
)
@dataclass(frozen=True, slots=True)
class LlamaIndexChunker(Peer):
    """LlamaIndex's CodeSplitter (extra `llama-index`).

    Its chunks have no blanks at their ends.
    """

    name: ClassVar[str] = "llama-index"
    names: ClassVar = PACK_NAMES
    # On Python the chunks are of about the size of those of `ast:max_nws=1500`. `chunk_lines` and the overlap have no
    # effect in the library.
    max_chars: Annotated[Positive, Doc("characters of a chunk, whitespace included")] = 2800
    language: Annotated[str, Doc("the grammar; auto: by the file's name")] = "auto"

    def spans(self, file: SourceFile) -> Sequence[tuple[int, int]] | None:
        """Return the spans of the library's strings."""
        return spans_in_order(file.text, _library(self.max_chars, self.language_in(file)).split_text(file.text))

    def snippet(self, language: str) -> Snippet | None:
        """Return the call with LlamaIndex's own defaults."""
        named = PACK_NAMES.get(language) if self.language == "auto" else self.language
        if named is None:
            return None
        return Snippet(
            "LlamaIndex",
            "from llama_index.core.node_parser import CodeSplitter",
            f'CodeSplitter(language="{named}", max_chars={self.max_chars})',
        )


@cache
def _library(max_chars: int, language: str) -> Any:
    # Sizes are counted in characters; a tokenizer of our own keeps the library from fetching one.
    return import_module("llama_index.core.node_parser").CodeSplitter(
        language=language, max_chars=max_chars, tokenizer=str.split, parser=library_parser(language)
    )
