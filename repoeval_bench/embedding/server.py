"""A server that speaks OpenAI's embeddings API: one request, its retries, and the checks on its answer.

The key comes from the environment and goes into one header. No text that this module makes holds it.
"""

from __future__ import annotations

import json
import os
import re
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, Field

from repoeval_bench.core.errors import EmbeddingError, SpecError
from repoeval_bench.core.http_reader import TooMuchError, ask
from repoeval_bench.core.json_reader import JsonFaultError, parse, parse_loose
from repoeval_bench.core.validation import EXACT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import httpx
    from numpy.typing import NDArray
    from tenacity import RetryCallState

    from repoeval_bench.core.http_reader import Answer

OPENAI = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY"
BASE_URL = "OPENAI_BASE_URL"

USAGE = ("prompt_tokens", "total_tokens")
"""What an answer's `usage` counts."""

ATTEMPTS = 6
LONGEST_WAIT = 120.0
"""Seconds; a server that asks for more is not waited for."""

ANSWER_BYTES = 2**20
"""What an answer may hold for each text, and once more: 40,000 numbers as servers write them."""

_SHOWN = 200  # characters of a server's own words in an error
_KEPT = "what was embedded so far is kept, run the same command again"


class _Row(BaseModel, strict=True):
    """A text's vector, as the API gives it."""

    index: int
    embedding: list[float] = Field(min_length=1)


class _Content(BaseModel):
    """An answer's content, as far as it is read."""

    data: list[_Row]
    usage: Any = None


class _RetryableError(Exception):
    """An answer that may be another one next time: the reason, and how many seconds the server asks to wait."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


def _now() -> datetime:
    return datetime.now(UTC)


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
        now: Callable[[], datetime] = _now,
    ) -> None:
        self._url = f"{base_url}/embeddings"
        self._model, self._dimensions, self._timeout = model, dimensions, timeout
        self._sleep, self._now = sleep, now
        self._key = os.environ.get(KEY, "").strip()
        self._client: httpx.Client | None = None
        self._width: int | None = dimensions
        self._usage = dict.fromkeys(USAGE, 0)

    @property
    def usage(self) -> Mapping[str, int]:
        """Tokens as the server counted them in its answers so far; a count that one of them lacked is left out."""
        return dict(self._usage)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32 (n, dim) as the server gave them, in the order of `texts`.

        429, 5xx, dropped connections, timeouts and answers that are not JSON are tried again, at most 6 times in all,
        after what Retry-After asks for or 0.5, 1, 2, … seconds. Everything else is an EmbeddingError at once.
        """
        from tenacity import Retrying, retry_if_exception_type

        retrying = Retrying(
            retry=retry_if_exception_type(_RetryableError),
            stop=lambda state: state.attempt_number >= ATTEMPTS or _wait(state) > LONGEST_WAIT,
            wait=_wait,
            sleep=self._sleep,
            reraise=True,
        )
        try:
            return retrying(self._attempt, texts)
        except _RetryableError as error:
            if retrying.statistics["attempt_number"] < ATTEMPTS:
                reason = f"{self._url} asks to wait {error.wait:.0f} seconds ({error}); {_KEPT} then"
            else:
                reason = f"{self._url} failed {ATTEMPTS} times, at last with: {error}; {_KEPT} later"
        raise EmbeddingError(reason)

    def _attempt(self, texts: Sequence[str]) -> NDArray[np.float32]:
        answer = self._ask(texts)
        self._check_status(answer)
        try:
            content = parse(answer.body, _Content)
        except JsonFaultError as fault:
            if fault.whole:
                raise _RetryableError(f"an answer that is not a JSON object: {self._words(answer)!r}") from None
            raise self._refusal(f"its {self._clean(fault.faults[0])}") from None
        vectors = self._vectors(content.data, len(texts))
        usage = content.usage if isinstance(content.usage, dict) else {}
        known = {name: usage[name] for name in self._usage if type(usage.get(name)) is int and usage[name] >= 0}
        self._usage = {name: min(EXACT, self._usage[name] + count) for name, count in known.items()}
        return vectors

    def _ask(self, texts: Sequence[str]) -> Answer:
        import httpx

        body: dict[str, Any] = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        most = ANSWER_BYTES * (len(texts) + 1)
        try:
            return ask(self._connected(), "POST", self._url, seconds=self._timeout, most=most, json=body)
        except TooMuchError:
            raise EmbeddingError(
                f"{self._url} answers with more than {most:,} bytes, more than was asked for; check base_url"
            ) from None
        except (TimeoutError, httpx.TimeoutException):
            # A thread may still read with the client that was given up; the next attempt gets one of its own.
            self._client = None
            late = f"no whole answer within {self._timeout:g} seconds"
            raise _RetryableError(f"{late} (timeout=SECONDS gives more, batch=N asks for less)") from None
        except httpx.TransportError as error:
            raise _RetryableError(self._clean(f"{type(error).__name__}: {error}".rstrip(": "))) from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            # The library's own words may quote a header.
            raise EmbeddingError(f"{self._url} cannot be reached ({type(error).__name__}); check base_url") from None

    def _connected(self) -> httpx.Client:
        import httpx

        if self._client is None:
            if not (self._key.isascii() and self._key.isprintable()):
                # The library would quote it in its complaint.
                raise EmbeddingError(f"{KEY} holds characters that a header cannot carry; set it again")
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            self._client = httpx.Client(timeout=self._timeout, headers=headers)
        return self._client

    def _check_status(self, answer: Answer) -> None:
        status = answer.status
        if status == 200:
            return
        if status in (401, 403):
            # A server may quote the key here.
            sent = f"the key in {KEY}" if self._key else f"a request without a key; set {KEY}"
            raise EmbeddingError(f"{self._url} refuses {sent} (HTTP {status})")
        reason = f"HTTP {status}: {self._words(answer)!r}"
        if status in (408, 429) or status >= 500:
            raise _RetryableError(reason, self._retry_after(answer.headers.get("Retry-After", "")))
        if 300 <= status < 400:
            raise EmbeddingError(
                f"{self._url} sends requests elsewhere (HTTP {status}), where no key is sent; give base_url as the "
                "server's own address"
            )
        raise EmbeddingError(
            f"{self._url} refuses model {self._model!r} or a text ({reason}); check model and base_url, or shorten the "
            "texts with --query tail:N and a smaller chunker"
        )

    def _retry_after(self, header: str) -> float | None:
        """Seconds from now, from either form of the header; None where it is missing or cannot be read."""
        if re.fullmatch(r"\d+(\.\d*)?", header.strip(), re.ASCII):
            return float(header)
        try:
            return max(0.0, (parsedate_to_datetime(header) - self._now()).total_seconds())
        except (TypeError, ValueError, OverflowError):
            return None

    def _vectors(self, rows: Sequence[_Row], n: int) -> NDArray[np.float32]:
        if len(rows) != n:
            raise self._refusal(f"it gave {len(rows)} vectors for {n} texts")
        by_index = {row.index: row.embedding for row in rows}
        if by_index.keys() != set(range(n)):
            raise self._refusal(f"its vectors do not have an index each from 0 to {n - 1}")
        wanted = self._width or len(by_index[0])
        for vector in by_index.values():
            if len(vector) != wanted:
                raise EmbeddingError(
                    f"{self._url} gave a vector of {len(vector)} dimensions where {wanted} are expected; "
                    "check model and dimensions"
                )
        self._width = wanted
        with np.errstate(over="ignore"):  # a number that is too large becomes infinite, and is refused as that
            return np.array([by_index[i] for i in range(n)], dtype=np.float64).astype(np.float32)

    def _refusal(self, reason: str) -> EmbeddingError:
        return EmbeddingError(f"{self._url} does not speak the embeddings API: {reason}; check base_url")

    def _words(self, answer: Answer) -> str:
        """What the server says is wrong: its error's message, else its whole body; cut short, without the key."""
        try:
            return self._clean(str(parse_loose(answer.body)["error"]["message"]))
        except (KeyError, TypeError, JsonFaultError):
            return self._clean(answer.body.decode("utf-8", "replace"))

    def _clean(self, text: str) -> str:
        """A text from outside, cut short, without the key in any quoting or spelling."""
        from urllib.parse import quote, quote_plus

        if self._key:
            forms = {self._key, quote(self._key), quote_plus(self._key), json.dumps(self._key)[1:-1]}
            shown = "|".join(map(re.escape, sorted(forms, key=len, reverse=True)))
            text = re.sub(shown, f"[{KEY}]", text, flags=re.IGNORECASE)
        return " ".join(text.split())[:_SHOWN]


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, _RetryableError) and error.wait is not None:
        return error.wait
    return float(2 ** (state.attempt_number - 2))


def server_address(url: str) -> str:
    """The base URL in use: `url`, else $OPENAI_BASE_URL, else OpenAI's; a SpecError unless it is plain http(s).

    User, password and query do not belong in it: they would be stored with each run.
    """
    from urllib.parse import urlsplit

    url = (url or os.environ.get(BASE_URL, "") or OPENAI).strip().rstrip("/")
    try:
        parts = urlsplit(url)
        plain = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        plain = False
        parts = urlsplit("")
    if not plain:
        raise SpecError("base_url is not an http or https address; write it as http://HOST:PORT/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise SpecError(f"base_url holds more than an address; give scheme, host and path only, and the key in {KEY}")
    return url
