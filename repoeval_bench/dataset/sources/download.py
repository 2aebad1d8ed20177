"""One file over HTTP: streamed, shown, resumed after a break, and never under its name before it is whole.

What has arrived is in `NAME.part`, beside it what identifies it on the server (`NAME.part.json`); the next attempt asks
for the rest only. Whether the bytes are the right ones is for the caller to check, by hash. pooch would not do: it
starts again after a break, and bounds neither size nor time.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path

import httpx
from tenacity import (
    Retrying,
    retry_if_exception_type,
    retry_if_not_exception_type,
    stop_after_attempt,
    wait_chain,
    wait_none,
    wait_random_exponential,
)

from repoeval_bench.core.http_reader import LONGEST, Reply, TooMuchError, exchange
from repoeval_bench.core.json_reader import JsonFaultError, UnreadableError, parse_plain, read_document
from repoeval_bench.core.progress import progress
from repoeval_bench.dataset.sources import SourceError

_UNREACHABLE = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError)
"""Trying again does not help: another source is tried, or the user's settings are wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Limits of a download: seconds to wait, breaks to go on after, and bytes to take before giving up.

    `total` bounds the whole download, however slowly its bytes come, and `size` their number; the published archives
    stay far below. The second attempt comes at once; the third waits up to `pause`, doubled with each further one.
    """

    connect: float = 5.0
    read: float = 30.0
    total: float = LONGEST
    attempts: int = 4
    pause: float = 0.5
    size: int = 256 * 1024 * 1024


class AbsentError(SourceError):
    """The server does not have the file (404)."""


class _RefusedError(httpx.RequestError):
    """The server sends other bytes than were asked for; the next attempt starts at the beginning."""


def download(url: str, target: Path, patience: Patience = Patience()) -> Path:
    """Fetch `url` to `target` (nothing to do where it exists); the path.

    A break in the middle is resumed with Range/If-Range, within this call and by the next one. SourceError: the server
    cannot be reached, refuses, stalls, breaks off too often, takes too long, or sends too much.
    """
    if target.is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    deadline = time.monotonic() + patience.total
    attempts = Retrying(
        stop=stop_after_attempt(patience.attempts),
        wait=wait_chain(wait_none(), wait_random_exponential(multiplier=patience.pause, max=30)),
        retry=retry_if_exception_type(httpx.RequestError) & retry_if_not_exception_type(_UNREACHABLE),
        reraise=True,
    )
    try:
        with _client(patience) as client:
            attempts(_transfer, client, url, part, patience.size, deadline)
    except TimeoutError as error:
        raise SourceError(
            f"the download of {_shown(url)} takes too long; run the same command again to resume it"
        ) from error
    except TooMuchError as error:
        part.unlink(missing_ok=True)
        raise SourceError(f"{_shown(url)} is refused: it has more than {patience.size:,} bytes") from error
    except _UNREACHABLE as error:
        raise SourceError(f"{httpx.URL(url).host} cannot be reached ({_reason(error)})") from error
    except httpx.RequestError as error:
        raise SourceError(
            f"the download of {_shown(url)} broke off {patience.attempts} times ({_reason(error)}); run the same "
            "command again to go on where it stopped"
        ) from error
    part.replace(target)
    _mark_file(part).unlink(missing_ok=True)
    return target


def _client(patience: Patience) -> httpx.Client:
    try:
        return httpx.Client(
            timeout=httpx.Timeout(patience.read, connect=patience.connect),
            follow_redirects=True,
            headers={"Accept-Encoding": "identity", "User-Agent": "repoeval-bench"},
        )
    except (ImportError, ValueError, OSError, httpx.InvalidURL) as error:
        # The environment names a proxy or certificates that do not exist or are not supported.
        raise SourceError(f"the proxy or certificate settings cannot be used ({error})") from error


def _transfer(client: httpx.Client, url: str, part: Path, most: int, deadline: float) -> None:
    """One request: the whole file, or the rest of it where the server agrees that it is the same file."""
    validator = _read_mark(part, url)
    arrived = part.stat().st_size if validator else 0
    headers = {"Range": f"bytes={arrived}-", "If-Range": validator} if validator else {}
    seconds = deadline - time.monotonic()
    with exchange(client, "GET", url, seconds=seconds, most=most, raw=True, headers=headers) as reply:
        if not _is_rest(reply, url, arrived, part):
            arrived = 0
            _write_mark(part, url, reply)
        length = reply.headers.get("Content-Length", "")
        total = arrived + int(length) if re.fullmatch("[0-9]{1,15}", length) else None
        name = part.name.removesuffix(".part")
        with (
            part.open("ab" if arrived else "wb", buffering=0) as stream,  # what has arrived outlives a kill
            progress(desc=name, unit="B", total=total, initial=arrived, unit_scale=True) as bar,
        ):
            for block in reply.blocks:
                stream.write(block)
                bar.update(len(block))
                if stream.tell() > most:
                    raise TooMuchError


def _is_rest(response: Reply, url: str, arrived: int, part: Path) -> bool:
    """Return whether the answer is the rest of the file, and not the whole; for anything else the part is removed."""
    status = response.status
    if status == httpx.codes.OK:
        return False
    if status == httpx.codes.PARTIAL_CONTENT:
        if arrived and response.headers.get("Content-Range", "").startswith(f"bytes {arrived}-"):
            return True
        problem = "the server sent another range than it was asked for"
    elif status == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE and arrived:
        problem = "the part that is here is not the server's"
    else:
        refusal = AbsentError if status == httpx.codes.NOT_FOUND else SourceError
        raise refusal(f"the server answers {status} for {_shown(url)}")
    part.unlink(missing_ok=True)
    raise _RefusedError(problem)


def _mark_file(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _write_mark(part: Path, url: str, response: Reply) -> None:
    """Keep a strong validator; with a weak one or none, If-Range must not be used (RFC 9110, 13.1.5)."""
    etag = response.headers.get("ETag", "")
    validator = etag if etag and not etag.startswith("W/") else response.headers.get("Last-Modified", "")
    part.unlink(missing_ok=True)
    _mark_file(part).write_text(json.dumps({"url": url, "mark": validator}), encoding="utf-8")


def _read_mark(part: Path, url: str) -> str:
    """Return what identifies the bytes of the part on the server; "" without a part, or where that is not known."""
    try:
        stored = parse_plain(read_document(_mark_file(part), 1 << 16))
        validator = str(stored["mark"]) if part.stat().st_size and stored["url"] == url else ""
    except (FileNotFoundError, UnreadableError, JsonFaultError, KeyError, TypeError):
        return ""  # no part, or a torn mark: the file is fetched from its beginning
    # A header can carry no other characters; without one the file is fetched from its beginning too.
    return validator if validator.isascii() and validator.isprintable() else ""


def _reason(error: Exception) -> str:
    """An exception's text, or its kind in words where it has none: ReadTimeout -> `read timeout`."""
    words = "".join(f" {char.lower()}" if char.isupper() else char for char in type(error).__name__).strip()
    return str(error) or words


def _shown(url: str) -> str:
    """The address without user and password."""
    return str(httpx.URL(url).copy_with(username=None, password=None))
