"""An embedder of another package: completed, so that the cache and the retrievers can use it as any other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from repoeval_bench.core.errors import BenchError, EmbeddingError
from repoeval_bench.embedding.text_encoder import PlainEncoder, unit_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from repoeval_bench.core.parts import Role
    from repoeval_bench.core.registry import Chosen


class PlugInEncoder(PlainEncoder):
    """Reads texts whole, without prompts; what `encode` gives is brought to unit length."""

    count_tokens = None

    def __init__(self, inner: Any, chosen: Chosen) -> None:
        self._inner, self.spec = inner, chosen.spec
        self.identity: Mapping[str, Any] = {"plug_in": chosen.row.where, **dict(inner.identity)}

    def rows(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """What the embedder gives for each text, of unit length."""
        try:
            rows = np.asarray(self._inner.encode(texts, role), dtype=np.float32)
        except BenchError:
            raise
        except Exception as error:
            raise EmbeddingError(
                f"{self.spec} failed with {type(error).__name__}: {error}; repair the embedder"
            ) from error
        if rows.ndim != 2 or len(rows) != len(texts):
            raise EmbeddingError(
                f"{self.spec} gave an array of shape {rows.shape} for {len(texts)} texts; encode gives one row for each"
            )
        return unit_rows(rows, texts)
