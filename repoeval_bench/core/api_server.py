"""A client of servers with a JSON API like OpenAI's, by the `openai` package, which tries failed requests again.

The callers (embeddings and completions) know what to send and what an answer means.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.pool import ThreadPool
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import AnyHttpUrl, BaseModel, ValidationError

from repoeval_bench.core.errors import BenchError, SpecError
from repoeval_bench.core.extras import require
from repoeval_bench.core.json_reader import JsonFaultError, parse

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI

OPENAI = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY"
BASE_URL = "OPENAI_BASE_URL"

RETRIES = 5
"""The most times that a request is sent again: after 408, 409, 429, 5xx, a dropped connection or a timeout."""

_Content = TypeVar("_Content", bound=BaseModel)
_Request = TypeVar("_Request")
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One API of a server: its name, the class of its errors, and two texts for their messages.

    `resource` is the client's part that sends its requests. `refused` says what a server may refuse, and the way out.
    """

    name: str
    resource: Callable[[OpenAI], Any]
    error: type[BenchError]
    resumption: str
    refused: str


class ApiServer:
    """One API of one server, for any number of threads; `timeout` is in seconds."""

    def __init__(self, base_url: str, api: Api, *, timeout: float) -> None:
        require("a model behind a server", "openai")
        self.url, self._api, self._timeout = base_url, api, timeout
        # From the environment into one header: a spec is stored with each run, and no message contains the key.
        self._key = os.environ.get(KEY, "").strip()
        if not (self._key.isascii() and self._key.isprintable()):
            # The library's error would quote the key.
            raise api.error(f"{KEY} has characters that a header cannot carry; set it again")

    @cached_property
    def _resource(self) -> Any:
        from openai import OpenAI

        # The client refuses to be without a key; servers of one's own ignore it.
        key = self._key or "none"
        client = OpenAI(api_key=key, base_url=self.url, timeout=self._timeout, max_retries=RETRIES)
        return self._api.resource(client).with_raw_response

    def post(self, content: type[_Content], /, **body: Any) -> _Content:
        """Return the server's answer as `content`; the API's error says what is wrong with it."""
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        try:
            answer = self._resource.create(**body).content
        except APIStatusError as error:
            raise self._refusal(error) from None
        except APITimeoutError:
            raise self._failure("no answer in time") from None
        except APIConnectionError as error:
            raise self._failure(f"{type(error.__cause__).__name__}: {error.__cause__}") from None
        try:
            return parse(answer, content)
        except JsonFaultError as fault:
            raise self.unlike_api(f"{fault.faults[0]} in {answer.decode(errors='replace')!r}") from None

    def unlike_api(self, reason: str) -> BenchError:
        """Return the error for an answer that does not follow the API."""
        return self._api.error(
            f"{self.url} does not speak the {self._api.name} API: {self._clean(reason)}; check base_url"
        )

    def _failure(self, reason: str) -> BenchError:
        return self._api.error(f"{self.url} fails ({self._clean(reason)}); {self._api.resumption} later")

    def _refusal(self, error: APIStatusError) -> BenchError:
        status = error.status_code
        if status in (401, 403):
            # A server may quote the key here.
            sent, way_out = (
                (f"the key in {KEY}", "check it") if self._key else ("a request without a key", f"set {KEY}")
            )
            return self._api.error(f"{self.url} refuses {sent} (HTTP {status}); {way_out}")
        # The library gives the text of `error.message` alone; servers of one's own and proxies answer in other shapes.
        said = error.message.removeprefix(f"Error code: {status}").removeprefix(" - ") or error.response.text.strip()
        reason = f"HTTP {status}" + (f": {said}" if said else "")
        if status in (408, 409, 429) or status >= 500:
            return self._failure(reason)
        return self._api.error(f"{self.url} refuses {self._api.refused.replace('{}', f'({self._clean(reason)})')}")

    def _clean(self, text: str) -> str:
        """Return a text from outside on one line, without the key."""
        if self._key:
            text = text.replace(self._key, f"[{KEY}]")
        return " ".join(text.split())


def answers(
    ask: Callable[[_Request], _Answer], requests: Sequence[_Request], at_once: int
) -> Iterator[tuple[_Request, _Answer]]:
    """Yield each request with its answer as they come, in any order.

    The first failure is raised once the requests that are under way have ended; no further one is sent.
    """
    failures: list[BenchError] = []

    def attempt(request: _Request) -> tuple[_Request, _Answer | None]:
        if not failures:
            try:
                return request, ask(request)
            except BenchError as error:
                failures.append(error)
        return request, None

    # Not a ThreadPoolExecutor: at Ctrl-C that waits for the answers that are under way.
    with ThreadPool(at_once) as pool:
        for request, answer in pool.imap_unordered(attempt, requests):
            if answer is not None:
                yield request, answer
    if failures:
        raise failures[0]


def check_no_key(owner: str, options: Iterable[str]) -> None:
    """Raise a SpecError if an option of a spec could be a key."""
    if any("key" in option.lower() or option.lower().endswith("token") for option in options):
        raise SpecError(f"{owner} takes its key from {KEY} in the environment only; leave it out here")


def server_address(url: str) -> str:
    """The base URL in use: `url`, else $OPENAI_BASE_URL, else OpenAI's; SpecError unless it is plain http(s)."""
    url = (url or os.environ.get(BASE_URL, "") or OPENAI).strip().rstrip("/")
    try:
        parts = AnyHttpUrl(url)
    except ValidationError:
        raise SpecError("base_url is not an http or https address; write it as http://HOST:PORT/v1") from None
    # A user, a password or a query would be stored with each run.
    if parts.username or parts.password or parts.query or parts.fragment:
        raise SpecError(f"base_url has more than an address; give scheme, host and path only, and the key in {KEY}")
    return url
