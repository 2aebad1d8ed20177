"""Embedders by name, and the interface of the encoders behind the cache. A new one registers itself in its file."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.errors import EmbeddingError, plug_in_errors_as
from repoeval_bench.core.parts import Role
from repoeval_bench.core.registry import Kind, ResolvedSpec, Row

AT_ONCE = 256
"""Texts that an encoder without a model of its own turns into vectors at a time."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The tokens of a text that are read, special ones included.

    starts: text -> character at which each of its tokens begins, special ones left out, nothing truncated.
    """

    max_tokens: int
    starts: Callable[[str], list[int]]


Encoded = Iterator[tuple[list[int], NDArray[np.float32]]]
"""Positions in the list of texts, and float32 (len(positions), dim), their unit rows; batch by batch."""


class TextEncoder(Protocol):
    """Encodes texts; it knows of no cache."""

    @property
    def spec(self) -> str:
        """The spec that rebuilds this encoder."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """All that decides a vector beside prompt and text."""

    @property
    def limit(self) -> Limit | None:
        """The part of a long text that is read; None where it is read whole or this is not known."""

    @property
    def count_tokens(self) -> Callable[[Sequence[str], Role], list[int]] | None:
        """Gives the tokens of each text before truncation, prompt and special ones included; None if not known."""

    def prompt(self, role: Role) -> str:
        """The text that is put before an input of this role, and what else decides how it is read; often empty."""

    def encode_batches(self, texts: Sequence[str], role: Role, tokens: Sequence[int]) -> Encoded:
        """Yield the vectors of the texts, which have so many tokens."""


class PlainEncoder(ABC):
    """An encoder without a limit and without prompts."""

    limit = None

    def prompt(self, role: Role) -> str:  # noqa: ARG002 - the same for both
        """No text."""
        return ""

    def encode_batches(self, texts: Sequence[str], role: Role, tokens: Sequence[int]) -> Encoded:  # noqa: ARG002
        """Yield the vectors in the order of the texts."""
        # Texts differ little in what they cost, or nothing is known of it.
        for start in range(0, len(texts), AT_ONCE):
            part = texts[start : start + AT_ONCE]
            yield list(range(start, start + len(part))), self.rows(part, role)

    @abstractmethod
    def rows(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Return float32 (n, dim) unit rows."""


def unit_rows(vectors: NDArray[np.float32], texts: Sequence[str]) -> NDArray[np.float32]:
    """The vectors of unit length, float32; one that is zero or not finite is an EmbeddingError that names its text."""
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
    broken = np.flatnonzero(~np.isfinite(norms) | (norms == 0))
    if broken.size:
        raise EmbeddingError(
            f"the model gave a zero or non-finite vector for the text {texts[int(broken[0])][:60]!r}; "
            "use another model or precision"
        )
    unit: NDArray[np.float32] = (vectors / norms[:, np.newaxis]).astype(np.float32)
    return unit


class PlugInEncoder(PlainEncoder):
    """Reads texts whole, without prompts; what `encode` gives is brought to unit length."""

    count_tokens = None

    def __init__(self, inner: Any, resolved: ResolvedSpec) -> None:
        self._inner, self.spec = inner, resolved.spec
        self.identity: Mapping[str, Any] = {"plug_in": resolved.row.where, **dict(inner.identity)}

    def rows(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Return the embedder's vector of each text, of unit length."""
        with plug_in_errors_as(EmbeddingError, self.spec, "repair the embedder"):
            rows = np.asarray(self._inner.encode(texts, role), dtype=np.float32)
        if rows.ndim != 2 or len(rows) != len(texts):
            raise EmbeddingError(
                f"{self.spec} gave an array of shape {rows.shape} for {len(texts)} texts; encode gives one row for each"
            )
        return unit_rows(rows, texts)


EMBEDDERS = Kind(
    "embedder",
    "repoeval_bench.embedding",
    Row,
    gives=("spec",),
    offers=("encode", "identity"),
    shown="encode(self, texts, role), which gives an array (n, dim), and a mapping `identity`",
    wrapper=PlugInEncoder,
)
