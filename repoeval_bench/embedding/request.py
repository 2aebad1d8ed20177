"""One request and its whole answer, within a time and a size: an HTTP library only bounds the wait for each byte."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple

from repoeval_bench.core.errors import EmbeddingError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx


class Answer(NamedTuple):
    """What a server said."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def post(client: httpx.Client, url: str, content: Mapping[str, Any], *, seconds: float, most: int) -> Answer:
    """POST `content` as JSON; a TimeoutError after `seconds`, however much has arrived by then.

    An answer of more than `most` bytes is an EmbeddingError; other faults are raised as httpx raises them. After a
    TimeoutError a thread still uses the client, until the server next sends something.
    """
    found: Future[Answer] = Future()
    given_up = threading.Event()

    def read() -> None:
        try:
            found.set_result(_read(client, url, content, most, given_up))
        except BaseException as error:  # noqa: BLE001 - raised where the answer is waited for
            found.set_exception(error)

    threading.Thread(target=read, name="request", daemon=True).start()
    try:
        return found.result(seconds)
    finally:
        given_up.set()


def _read(client: httpx.Client, url: str, content: Mapping[str, Any], most: int, given_up: threading.Event) -> Answer:
    body = bytearray()
    with client.stream("POST", url, json=content) as answer:
        for part in answer.iter_bytes():
            body += part
            if len(body) > most:
                raise EmbeddingError(
                    f"{url} answers with more than {most:,} bytes, more than was asked for; check base_url"
                )
            if given_up.is_set():
                break
    return Answer(answer.status_code, answer.headers, bytes(body))
