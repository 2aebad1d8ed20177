"""semantic-text-splitter, the Rust crate text-splitter: whole syntax nodes, else whole words, merged up to a size.

A callback measures its sizes; here they are `max_nws`, this project's unit, or `max_tokens`. Blanks at the ends of a
chunk are left out, as by default.

The time of its CodeSplitter grows with about the third power of the nesting: minutes for thousands of levels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Annotated, Any, ClassVar, Literal

from repoeval_bench.chunkers._adapters import Peer
from repoeval_bench.chunkers._syntax import LanguageName, resolve_language
from repoeval_bench.chunkers._tokens import Sized, counter
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.fields import Doc
from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.syntax import bare_grammar


@CHUNKERS.register(requires=("semantic_text_splitter",))
@dataclass(frozen=True, slots=True)
class SemanticTextSplitterChunker(Peer, Sized):
    """text-splitter's CodeSplitter or TextSplitter (extra `semantic-text-splitter`)."""

    name: ClassVar[str] = "semantic-text-splitter"
    kind: Annotated[
        Literal["code", "text"], Doc("its CodeSplitter with the language's grammar, or its TextSplitter")
    ] = "code"
    language: LanguageName = "auto"

    def check(self) -> None:
        """Refuse a grammar for text too."""
        Sized.check(self)
        if self.kind == "text" and self.language != "auto":
            raise SpecError(f"chunker {self.name}: kind=text reads no grammar; leave language out, or take kind=code")

    def spans(self, file: SourceFile) -> Sequence[tuple[int, int]] | None:
        """Return the spans of the library's texts, in characters."""
        language = resolve_language(file, self.language).name if self.kind == "code" else ""
        splitter = _library(language, self.limit, self.tokenizer if self.max_tokens else None)
        return [(start, start + len(text)) for start, text in splitter.chunk_indices(file.text)]


@cache
def _library(language: str, size: int, tokenizer: str | None) -> Any:
    library = import_module("semantic_text_splitter")
    if not language:
        return library.TextSplitter.from_callback(counter(tokenizer), size)
    return library.CodeSplitter.from_callback(bare_grammar(LANGUAGES[language]), counter(tokenizer), size)
