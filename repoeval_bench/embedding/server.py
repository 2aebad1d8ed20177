"""A server that speaks OpenAI's embeddings API: one request, its retries, and what its answer has to be.

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

from repoeval_bench.core.errors import EmbeddingError, SpecError
from repoeval_bench.embedding.request import post

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import httpx
    from numpy.typing import NDArray

    from repoeval_bench.embedding.request import Answer

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


class _Again(Exception):  # noqa: N818 - caught here, shown to nobody
    """An answer that may be another one next time: why, and how many seconds the server asks to wait."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


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
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
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

        429, 5xx, dropped connections, timeouts and answers that are no JSON are tried again, at most 6 times in all,
        after what Retry-After asks for or 0.5, 1, 2, … seconds. Everything else is an EmbeddingError at once.
        """
        for attempt in range(ATTEMPTS):
            try:
                content = self._ask(texts)
                vectors = self._vectors(content, len(texts))
            except _Again as again:
                wait = 0.5 * 2**attempt if again.wait is None else again.wait
                if attempt == ATTEMPTS - 1:
                    raise EmbeddingError(
                        f"{self._url} failed {ATTEMPTS} times, at last with: {again}; what was embedded so far is "
                        "kept, run the same command again later"
                    ) from None
                if wait > LONGEST_WAIT:
                    raise EmbeddingError(
                        f"{self._url} asks to wait {wait:.0f} seconds ({again}); what was embedded so far is kept, run "
                        "the same command again then"
                    ) from None
                self._sleep(wait)
            else:
                self._count(content.get("usage"))
                return vectors
        raise AssertionError

    def _count(self, given: object) -> None:
        told = given if isinstance(given, dict) else {}
        self._usage = {
            name: count + told[name]
            for name, count in self._usage.items()
            if type(told.get(name)) is int and told[name] >= 0
        }

    def _ask(self, texts: Sequence[str]) -> dict[str, Any]:
        import httpx

        body: dict[str, Any] = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        late = f"no whole answer within {self._timeout:g} seconds (timeout=SECONDS gives more, batch=N asks for less)"
        try:
            answer = post(
                self._connected(), self._url, body, seconds=self._timeout, most=ANSWER_BYTES * (len(texts) + 1)
            )
        except (TimeoutError, httpx.TimeoutException):
            # Whoever still reads has the client that was given up; the next attempt gets one of its own.
            self._client = None
            raise _Again(late) from None
        except httpx.TransportError as error:
            raise _Again(self._clean(f"{type(error).__name__}: {error}".rstrip(": "))) from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            # The library's own words may quote a header.
            raise EmbeddingError(f"{self._url} cannot be asked ({type(error).__name__}); check base_url") from None
        self._check_status(answer)
        content = _parsed(answer.body)
        if content is None:
            raise _Again(f"an answer that is no JSON: {self._words(answer)!r}")
        if not isinstance(content, dict):
            raise _Again("an answer that is no JSON object")
        return content

    def _connected(self) -> httpx.Client:
        import httpx

        if self._client is None:
            if not (self._key.isascii() and self._key.isprintable()):
                # The library would quote it in its complaint.
                raise EmbeddingError(f"{KEY} holds characters that no header can carry; set it again")
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            self._client = httpx.Client(timeout=self._timeout, headers=headers)
        return self._client

    def _check_status(self, answer: Answer) -> None:
        status = answer.status
        if status == 200:
            return
        if status in (401, 403):
            # What a server says here may quote the key.
            given = f"the key in {KEY}" if self._key else f"a request without a key; set {KEY}"
            raise EmbeddingError(f"{self._url} refuses {given} (HTTP {status})")
        reason = f"HTTP {status}: {self._words(answer)!r}"
        if status in (408, 429) or status >= 500:
            raise _Again(reason, self._retry_after(answer.headers.get("Retry-After")))
        if 300 <= status < 400:
            raise EmbeddingError(
                f"{self._url} sends requests elsewhere (HTTP {status}), where no key is sent; give base_url as the "
                "server's own address"
            )
        raise EmbeddingError(
            f"{self._url} refuses model {self._model!r} or a text ({reason}); check model and base_url, or shorten the "
            "texts with --query tail:N and a smaller chunker"
        )

    def _retry_after(self, header: str | None) -> float | None:
        """Seconds from now, from either form of the header; None where there is none that can be read."""
        if not header:
            return None
        try:
            seconds = float(header) if header.strip().replace(".", "", 1).isdecimal() else None
            if seconds is None:
                seconds = (parsedate_to_datetime(header) - self._now()).total_seconds()
        except (TypeError, ValueError):
            return None
        return max(0.0, seconds)

    def _vectors(self, content: dict[str, Any], n: int) -> NDArray[np.float32]:
        rows = content.get("data")
        if not isinstance(rows, list) or len(rows) != n or not all(isinstance(row, dict) for row in rows):
            got = len(rows) if isinstance(rows, list) else "no"
            raise EmbeddingError(f"{self._url} gave {got} vectors for {n} texts; it does not speak the embeddings API")
        by_index = {row["index"]: row.get("embedding") for row in rows if type(row.get("index")) is int}
        if by_index.keys() != set(range(n)):
            raise EmbeddingError(f"{self._url} gave vectors without an index each from 0 to {n - 1}; it cannot be used")
        try:
            with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused as that
                vectors = [_numbers(by_index[i]) for i in range(n)]
        except (TypeError, ValueError, OverflowError):
            raise EmbeddingError(f"{self._url} gave a vector that is no list of numbers; it cannot be used") from None
        wanted = self._width or len(vectors[0])
        for vector in vectors:
            if vector.shape != (wanted,):
                raise EmbeddingError(
                    f"{self._url} gave a vector of {vector.size} dimensions where {wanted} are expected; "
                    "check model and dimensions"
                )
        self._width = wanted
        return np.stack(vectors)

    def _words(self, answer: Answer) -> str:
        """What the server says is wrong: its error's message, else its whole body; cut short, without the key."""
        try:
            return self._clean(str(_parsed(answer.body)["error"]["message"]))
        except (KeyError, TypeError):
            return self._clean(answer.body.decode("utf-8", "replace"))

    def _clean(self, text: str) -> str:
        """A text that somebody else made, cut short, without the key, however it is quoted or spelt."""
        from urllib.parse import quote, quote_plus

        if self._key:
            forms = {self._key, quote(self._key), quote_plus(self._key), json.dumps(self._key)[1:-1]}
            shown = "|".join(map(re.escape, sorted(forms, key=len, reverse=True)))
            text = re.sub(shown, f"[{KEY}]", text, flags=re.IGNORECASE)
        return " ".join(text.split())[:_SHOWN]


def _parsed(body: bytes) -> Any:
    """The body as JSON; None where it is none, or brackets in brackets without an end."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _numbers(given: object) -> NDArray[np.float32]:
    """float32 (dim,); a ValueError where it is no list of numbers."""
    if not isinstance(given, list) or not all(type(number) in (int, float) for number in given):
        raise ValueError("no list of numbers")
    return np.array(given, dtype=np.float32)


def server_address(given: str) -> str:
    """The base URL in use: `given`, else $OPENAI_BASE_URL, else OpenAI's; a SpecError unless it is plain http(s).

    User, password and query have no place in it: they would be stored with every run.
    """
    from urllib.parse import urlsplit

    url = (given or os.environ.get(BASE_URL, "") or OPENAI).strip().rstrip("/")
    try:
        parts = urlsplit(url)
        plain = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        plain = False
        parts = urlsplit("")
    if not plain:
        raise SpecError("base_url is no http or https address; write it as http://HOST:PORT/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise SpecError(f"base_url holds more than an address; give scheme, host and path only, and the key in {KEY}")
    return url
