"""Any built-in chunker with headers: the option `header=path` or `header=scope` of its spec."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.chunkers._options import one_of
from repoeval_bench.chunkers.headers import KINDS, with_headers
from repoeval_bench.core.spec import Spec

if TYPE_CHECKING:
    from repoeval_bench.core.parts import Chunker
    from repoeval_bench.core.source import Chunk, SourceFile


class HeadedChunker:
    """The chunks of another chunker, each with a header of a kind; SpecError for an unknown kind."""

    def __init__(self, inner: Chunker, kind: str) -> None:
        one_of(inner.spec, "header", kind, KINDS)
        self._inner = inner
        self._kind = kind

    @property
    def spec(self) -> str:
        """The other's spec with `header=…`."""
        inner = Spec.parse(self._inner.spec)
        return str(Spec(inner.name, inner.target, {**inner.params, "header": self._kind}))

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """The other's chunks, at the same places."""
        return with_headers(file, self._inner.chunk(file), self._kind)
