"""OpenAI's embeddings API: what is asked of a server, and the checks on the vectors that it gives."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, Field

from repoeval_bench.core.api_server import Api, ApiServer, counted, utc_now
from repoeval_bench.core.errors import EmbeddingError
from repoeval_bench.core.validation import EXACT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

USAGE = ("prompt_tokens", "total_tokens")
"""What an answer's `usage` counts."""

ANSWER_BYTES = 2**20
"""What an answer may hold for each text, and once more: 40,000 numbers as servers write them."""


class _Row(BaseModel, strict=True):
    """A text's vector, as the API gives it."""

    index: int
    embedding: list[float] = Field(min_length=1)


class _Content(BaseModel):
    """An answer's content, as far as it is read."""

    data: list[_Row]
    usage: Any = None


class EmbeddingServer:
    """One model of one server.

    `dimensions` asks for shorter vectors; None takes the model's own. `timeout` is in seconds, from a request's
    beginning to the last byte of its answer.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        dimensions: int | None,
        timeout: float,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        api = Api(
            name="embeddings",
            path="embeddings",
            error=EmbeddingError,
            kept="what was embedded so far is kept, run the same command again",
            late="timeout=SECONDS gives more, batch=N asks for less",
            refused=f"model {model!r} or a text; check model and base_url, or shorten the texts with --query tail:N "
            "and a smaller chunker",
        )
        self._server = ApiServer(base_url, api, timeout=timeout, sleep=sleep, now=now)
        self._model, self._dimensions = model, dimensions
        self._width: int | None = dimensions
        self._usage = dict.fromkeys(USAGE, 0)

    @property
    def usage(self) -> Mapping[str, int]:
        """Tokens as the server counted them in its answers so far; a count that one of them lacked is left out."""
        return dict(self._usage)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32 (n, dim) as the server gave them, in the order of `texts`; errors are those of `ApiServer.post`."""
        body: dict[str, Any] = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        content = self._server.post(body, _Content, most=ANSWER_BYTES * (len(texts) + 1))
        vectors = self._vectors(content.data, len(texts))
        known = counted(content.usage, self._usage)
        self._usage = {name: min(EXACT, self._usage[name] + count) for name, count in known.items()}
        return vectors

    def _vectors(self, rows: Sequence[_Row], n: int) -> NDArray[np.float32]:
        if len(rows) != n:
            raise self._server.refusal(f"it gave {len(rows)} vectors for {n} texts")
        by_index = {row.index: row.embedding for row in rows}
        if by_index.keys() != set(range(n)):
            raise self._server.refusal(f"its vectors do not have an index each from 0 to {n - 1}")
        wanted = self._width or len(by_index[0])
        for vector in by_index.values():
            if len(vector) != wanted:
                raise EmbeddingError(
                    f"{self._server.url} gave a vector of {len(vector)} dimensions where {wanted} are expected; "
                    "check model and dimensions"
                )
        self._width = wanted
        with np.errstate(over="ignore"):  # a number that is too large becomes infinite, and is refused as that
            return np.array([by_index[i] for i in range(n)], dtype=np.float64).astype(np.float32)
