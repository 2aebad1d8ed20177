"""The interfaces of exchangeable parts: chunker, embedder, pair scorer, retriever."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from repoeval_bench.core.run import Query, Run
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import CharSpan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Role = Literal["query", "document"]
"""Role of a text, for models that were trained with one prompt for each role."""


class Chunker(Protocol):
    """Cuts one file. Build chunks with `Chunk.cut`; keep no state between files."""

    @property
    def spec(self) -> str:
        """The spec that rebuilds this chunker, every parameter printed."""

    def chunk(self, file: SourceFile) -> Sequence[Chunk]:
        """The file's chunks in order of their start; none for a blank file."""


class Snippet(NamedTuple):
    """Python that makes a chunker outside this tool.

    framework: its name as its users write it, such as `LangChain`; imports: the import line that `code` needs; code:
    one expression; use: the line that cuts a `text` with this `chunker`, "" where it is the framework's usual one.
    """

    framework: str
    imports: str
    code: str
    use: str = ""


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    spec: str
    """The spec that rebuilds this embedder."""
    identity: Mapping[str, Any]
    """Everything but the text that decides a vector: model, weights, maximum length, pooling, precision."""
    max_tokens: int | None
    """The most tokens that the model reads, special ones included; None without a limit."""

    def truncates(self, role: Role) -> bool:
        """Return whether a text beyond `max_tokens` loses something."""

    def read_chars(self, texts: Sequence[str], role: Role) -> list[CharSpan]:
        """The characters of each text that the model reads; all of them if nothing is lost."""

    def pending(self, texts: Mapping[Role, Iterable[str]]) -> dict[Role, list[str]]:
        """The distinct parts that `ensure` would encode; a part that two roles share is under one of them."""

    def ensure(self, texts: Mapping[Role, Iterable[str]]) -> int:
        """Make the vectors of all texts available in one pass; return how many were missing, and encoded."""

    def encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Return float32 (n, dim), unit rows, in the order of `texts`; `role` selects the model's own prompt."""

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int] | None:
        """Tokens of each text before truncation, special ones and the role's prompt included; None if not known."""


class PairScorer(Protocol):
    """Reads a query and a chunk together, as a reranker does."""

    identity: Mapping[str, Any] = MappingProxyType({})
    """Everything but the two texts, and the retriever's spec, that decides a score."""
    pairs: tuple[int, int] = (0, 0)
    """Pairs that a model has read so far, and how many of them were longer than it reads."""
    n_cached: int = 0
    """The number of these pairs whose score was cached."""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score for each text, the higher the better; it depends on the query and that text alone."""


class Retriever(Protocol):
    """Ranks the chunks of a query's repository."""

    def search(self, queries: Sequence[Query], k: int, excluded: Mapping[str, frozenset[str]] | None = None) -> Run:
        """The k best chunks a query may see; `excluded` maps a query_id to the chunk ids it may not."""
