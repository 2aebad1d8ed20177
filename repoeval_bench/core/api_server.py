"""A client of servers with a JSON API like OpenAI's: one request, its retries, and the errors of its answer.

The key comes from the environment and goes into one header. No message of this module contains it. The callers
(embeddings and completions) know what to send and what an answer means.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from repoeval_bench.core.errors import BenchError, SpecError
from repoeval_bench.core.http_reader import Response, TooMuchError, ask
from repoeval_bench.core.json_reader import JsonFaultError, parse, parse_loose
from repoeval_bench.core.numbers import EXACT

if TYPE_CHECKING:
    import httpx
    from tenacity import RetryCallState

OPENAI = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY"
BASE_URL = "OPENAI_BASE_URL"

ATTEMPTS = 6
LONGEST_WAIT = 120.0
"""Seconds; a server that asks for a longer wait is given up."""

_SHOWN = 200  # characters of a server's message in an error

_Content = TypeVar("_Content", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One API of a server: its name and path, the class of its errors, and three texts for their messages.

    `resumption` says what is not lost when requests fail for good, `timeout_advice` what to do about a timeout.
    `refused` gets a request's body, the status and the server's words; it returns what may be wrong, and the way out.
    """

    name: str
    path: str
    error: type[BenchError]
    resumption: str
    timeout_advice: str
    refused: Callable[[Mapping[str, Any], int, str], tuple[str, str]]


class _RetryableError(Exception):
    """A failure that a retry may cure: the reason, and the seconds that the server asks to wait."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


def utc_now() -> datetime:
    """The current time, for dates in Retry-After."""
    return datetime.now(UTC)


def no_pause() -> None:
    """Send the next request at once."""


class ApiServer:
    """One API of one server, for any number of threads.

    `timeout` is in seconds, from the start of a request to the last byte of its answer.
    """

    def __init__(
        self,
        base_url: str,
        api: Api,
        *,
        timeout: float,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.url = f"{base_url}/{api.path}"
        self._api, self._timeout = api, timeout
        self._sleep, self._now = sleep, now
        self._key = os.environ.get(KEY, "").strip()
        self._client: httpx.Client | None = None
        self._lock = threading.Lock()

    def post(
        self, body: Mapping[str, Any], model: type[_Content], *, most: int, again: Callable[[], None] = no_pause
    ) -> _Content:
        """Return the server's answer as a `model`; the answer has at most `most` bytes.

        408, 429, 5xx, dropped connections, timeouts and answers that are not JSON are retried, with at most 6 attempts
        in all. The wait is Retry-After's, or 0.5, 1, 2, … seconds. Anything else raises the API's error at once.
        `again` is called before each retry, and may refuse it.
        """
        from tenacity import Retrying, retry_if_exception_type

        retrying = Retrying(
            retry=retry_if_exception_type(_RetryableError),
            stop=lambda state: state.attempt_number >= ATTEMPTS or _wait(state) > LONGEST_WAIT,
            wait=_wait,
            sleep=self._sleep,
            before=lambda state: again() if state.attempt_number > 1 else None,
            reraise=True,
        )
        try:
            content: _Content = retrying(self._attempt, body, model, most)
        except _RetryableError as error:
            if retrying.statistics["attempt_number"] < ATTEMPTS:
                reason = f"{self.url} asks to wait {error.wait:.0f} seconds ({error}); {self._api.resumption} then"
            else:
                reason = f"{self.url} failed {ATTEMPTS} times, at last with: {error}; {self._api.resumption} later"
        else:
            return content
        raise self._api.error(reason)

    def refusal(self, reason: str) -> BenchError:
        """The error for an answer that does not follow the API."""
        return self._api.error(f"{self.url} does not speak the {self._api.name} API: {reason}; check base_url")

    def _attempt(self, body: Mapping[str, Any], model: type[_Content], most: int) -> _Content:
        answer = self._ask(body, most)
        self._check_status(answer, body)
        try:
            return parse(answer.body, model)
        except JsonFaultError as fault:
            if fault.whole:
                raise _RetryableError(f"an answer that is not a JSON object: {self._words(answer)!r}") from None
            if "error" in parse_loose(answer.body):
                raise self._api.error(
                    f"{self.url} answers with an error (HTTP 200: {self._words(answer)!r}); {self._api.resumption} "
                    "when that is mended"
                ) from None
            raise self.refusal(f"its {self._clean(fault.faults[0])}") from None

    def _ask(self, body: Mapping[str, Any], most: int) -> Response:
        import httpx

        client = self._connected()
        try:
            return ask(client, "POST", self.url, seconds=self._timeout, most=most, json=dict(body))
        except TooMuchError:
            raise self._api.error(
                f"{self.url} answers with more than {most:,} bytes, more than the request needs; check base_url"
            ) from None
        except (TimeoutError, httpx.TimeoutException):
            # A thread may still read with this client; the next attempt gets another one.
            with self._lock:
                self._client = None if self._client is client else self._client
            raise _RetryableError(
                f"no whole answer within {self._timeout:g} seconds ({self._api.timeout_advice})"
            ) from None
        except httpx.TransportError as error:
            raise _RetryableError(self._clean(f"{type(error).__name__}: {error}".rstrip(": "))) from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            # The library's message may quote a header.
            raise self._api.error(f"{self.url} cannot be reached ({type(error).__name__}); check base_url") from None

    def _connected(self) -> httpx.Client:
        import httpx

        if not (self._key.isascii() and self._key.isprintable()):
            # The library's error would quote the key.
            raise self._api.error(f"{KEY} has characters that a header cannot carry; set it again")
        with self._lock:
            if self._client is None:
                headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
                # The caller limits the number of concurrent requests.
                limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
                self._client = httpx.Client(timeout=self._timeout, headers=headers, limits=limits)
            return self._client

    def _check_status(self, answer: Response, body: Mapping[str, Any]) -> None:
        status = answer.status
        if status == 200:
            return
        if status in (401, 403):
            # A server may quote the key here.
            sent = f"the key in {KEY}" if self._key else f"a request without a key; set {KEY}"
            raise self._api.error(f"{self.url} refuses {sent} (HTTP {status})")
        words = self._words(answer)
        reason = f"HTTP {status}: {words!r}"
        if status in (408, 429) or status >= 500:
            raise _RetryableError(reason, self._retry_after(answer.headers.get("Retry-After", "")))
        if 300 <= status < 400:
            raise self._api.error(
                f"{self.url} sends requests elsewhere (HTTP {status}), where no key is sent; give base_url as the "
                "server's own address"
            )
        what, way_out = self._api.refused(body, status, words)
        raise self._api.error(f"{self.url} refuses {what} ({reason}); {way_out}")

    def _retry_after(self, header: str) -> float | None:
        """Seconds from now, from either form of the header; None if it is missing or cannot be read."""
        if re.fullmatch(r"\d+(\.\d*)?", header.strip(), re.ASCII):
            return float(header)
        try:
            return max(0.0, (parsedate_to_datetime(header) - self._now()).total_seconds())
        except (TypeError, ValueError, OverflowError):
            return None

    def _words(self, answer: Response) -> str:
        """Return the server's error message, else its body; cut short, without the key."""
        try:
            content = parse_loose(answer.body)
            error = content.get("error", content)
            return self._clean(error if isinstance(error, str) else str(error["message"]))
        except (KeyError, TypeError, JsonFaultError):
            return self._clean(answer.body.decode("utf-8", "replace"))

    def _clean(self, text: str) -> str:
        """A text from outside, cut short, with the key removed in any quoting."""
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


def counted(usage: Any, names: Iterable[str]) -> dict[str, int]:
    """Name -> tokens, for the names that an answer's `usage` counts."""
    counts = usage if isinstance(usage, dict) else {}
    return {name: min(EXACT, counts[name]) for name in names if type(counts.get(name)) is int and counts[name] >= 0}


def check_no_key(owner: str, options: Iterable[str]) -> None:
    """Raise a SpecError if an option of a spec could be a key: it would be stored with each run."""
    if any("key" in option.lower() or option.lower().endswith("token") for option in options):
        raise SpecError(f"{owner} takes its key from {KEY} in the environment only; leave it out here")


def server_address(url: str) -> str:
    """The base URL in use: `url`, else $OPENAI_BASE_URL, else OpenAI's; SpecError unless it is plain http(s).

    A user, a password or a query is refused, as it would be stored with each run.
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
        raise SpecError(f"base_url has more than an address; give scheme, host and path only, and the key in {KEY}")
    return url
