"""Wrapper of an embedder from another package, so that the cache and the retrievers can use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.errors import EmbeddingError, plug_in_errors_as
from repoeval_bench.core.parts import Role
from repoeval_bench.embedding.text_encoder import PlainEncoder, unit_rows

if TYPE_CHECKING:
    from repoeval_bench.core.registry import ResolvedSpec


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
