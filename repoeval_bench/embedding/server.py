"""OpenAI's embeddings API: requests to a server, and checks of its vectors."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from repoeval_bench.core.api_server import Api, ApiServer, counted, no_pause, utc_now
from repoeval_bench.core.errors import EmbeddingError
from repoeval_bench.core.numbers import EXACT

if TYPE_CHECKING:
    from datetime import datetime

USAGE = ("prompt_tokens", "total_tokens")
"""Counts in an answer's `usage`."""

ANSWER_BYTES = 2**20
"""Bytes that an answer may hold for each text, and once more: 40,000 numbers as servers write them."""


class _Row(BaseModel, strict=True):
    """A text's vector, as the API gives it."""

    index: int
    embedding: list[float] = Field(min_length=1)


class _Content(BaseModel):
    """An answer's content, as far as it is read."""

    data: list[_Row]
    usage: Any = None


class Answered(NamedTuple):
    """The answer to a request: float32 (n, dim) in the order of its texts, and what the server counted for it."""

    vectors: NDArray[np.float32]
    usage: Mapping[str, int]


class EmbeddingServer:
    """One model of one server, for any number of threads.

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
            resumption="what was embedded so far is kept, run the same command again",
            timeout_advice="timeout=SECONDS gives more, batch=N asks for less",
            refused=partial(_refused, model),
        )
        self._server = ApiServer(base_url, api, timeout=timeout, sleep=sleep, now=now)
        self._model, self._dimensions = model, dimensions
        self._width, self._usage = dimensions, dict.fromkeys(USAGE, 0)
        self._lock = threading.Lock()

    @property
    def usage(self) -> Mapping[str, int]:
        """Tokens as the server counted them in its answers so far; a count that one of them lacked is left out."""
        return dict(self._usage)

    def embed(
        self, texts: Sequence[str], input_type: str | None = None, again: Callable[[], None] = no_pause
    ) -> Answered:
        """The vectors as the server gave them; errors are those of `ApiServer.post`.

        `input_type` is sent if given: some servers take a text's role from it. `again`: see
        `ApiServer.post`.
        """
        body: dict[str, Any] = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        if input_type is not None:
            body["input_type"] = input_type
        content = self._server.post(body, _Content, most=ANSWER_BYTES * (len(texts) + 1), again=again)
        usage = counted(content.usage, USAGE)
        with self._lock:
            vectors = self._vectors(content.data, len(texts))
            known = ((name, before) for name, before in self._usage.items() if name in usage)
            self._usage = {name: min(EXACT, before + usage[name]) for name, before in known}
        return Answered(vectors, usage)

    def _vectors(self, rows: Sequence[_Row], n: int) -> NDArray[np.float32]:
        if len(rows) != n:
            raise self._server.refusal(f"it gave {len(rows)} vectors for {n} texts")
        by_index = {row.index: row.embedding for row in rows}
        if by_index.keys() != set(range(n)):
            raise self._server.refusal(f"its vectors do not have an index each from 0 to {n - 1}")
        width = self._width or len(by_index[0])
        for vector in by_index.values():
            if len(vector) != width:
                raise EmbeddingError(
                    f"{self._server.url} gave a vector of {len(vector)} dimensions where {width} are expected; "
                    "check model and dimensions"
                )
        self._width = width
        with np.errstate(over="ignore"):  # a number that is too large becomes infinite, and is refused as that
            return np.array([by_index[i] for i in range(n)], dtype=np.float64).astype(np.float32)


def _refused(model: str, body: Mapping[str, Any], status: int, words: str) -> tuple[str, str]:
    """Return what a server may refuse of a request, and the way out."""
    sent = len(body["input"])
    if sent > 1 and (status == 413 or re.search(r"batch|array|number of", words, re.IGNORECASE)):
        # Such as "batch size 64 > maximum allowed batch size 32".
        limits = {number for number in map(int, re.findall(r"\b\d{1,9}\b", words)) if 0 < number < sent}
        fewer = str(limits.pop()) if len(limits) == 1 else f"N with N below {sent}"
        return f"{sent} texts in one request", f"give the embedder batch={fewer}"
    return (
        f"model {model!r} or a text",
        "check model and base_url, or shorten the texts with --set query=tail:N and a smaller chunker",
    )
