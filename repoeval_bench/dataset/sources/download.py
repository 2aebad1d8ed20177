"""Download of one file over HTTP, within limits of time and size; it gets its name when it is complete.

Whether the bytes are the right ones is for the caller to check, by hash. pooch would not do: it bounds neither size nor
time.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

from repoeval_bench.core.files import write_atomic
from repoeval_bench.core.progress import progress
from repoeval_bench.dataset.sources import SourceError

if TYPE_CHECKING:
    from tqdm import tqdm

_UNREACHABLE = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError)
"""Errors for which a retry does not help: another source is tried, or the user's settings are wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Limits of a download: seconds to wait, attempts after a break, and bytes.

    `total` bounds the whole download, however slowly its bytes come, and `size` their number; the published archives
    stay far below. The second attempt comes at once; the third waits up to `pause`, doubled with each further one.
    """

    connect: float = 5.0
    read: float = 30.0
    total: float = 1800.0
    attempts: int = 4
    pause: float = 0.5
    size: int = 256 * 1024 * 1024


class TooMuchError(Exception):
    """The answer has more bytes than are allowed."""


class AbsentError(SourceError):
    """The server does not have the file (404)."""


def download(url: str, target: Path, patience: Patience = Patience()) -> Path:
    """Fetch `url` to `target` (nothing to do where it exists); the path.

    SourceError: the server cannot be reached, refuses, stalls, breaks off too often, takes too long, or sends too much.
    """
    if target.is_file():
        return target
    deadline = time.monotonic() + patience.total
    attempts = Retrying(
        stop=stop_after_attempt(patience.attempts),
        wait=wait_chain(wait_none(), wait_random_exponential(multiplier=patience.pause, max=30)),
        retry=retry_if_exception_type(httpx.RequestError) & retry_if_not_exception_type(_UNREACHABLE),
        reraise=True,
    )
    try:
        with _client(patience) as client:
            attempts(_transfer, client, url, target, patience.size, deadline)
    except TimeoutError as error:
        raise SourceError(f"the download of {_shown(url)} takes too long; try again, or name another source") from error
    except TooMuchError as error:
        raise SourceError(f"{_shown(url)} is refused: it has more than {patience.size:,} bytes") from error
    except _UNREACHABLE as error:
        raise SourceError(f"{httpx.URL(url).host} cannot be reached ({_reason(error)})") from error
    except httpx.RequestError as error:
        raise SourceError(
            f"the download of {_shown(url)} broke off {patience.attempts} times ({_reason(error)}); try again"
        ) from error
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


def _transfer(client: httpx.Client, url: str, target: Path, most: int, deadline: float) -> None:
    """One request for the whole file."""
    with client.stream("GET", url) as reply:
        if reply.status_code != httpx.codes.OK:
            refusal = AbsentError if reply.status_code == httpx.codes.NOT_FOUND else SourceError
            raise refusal(f"the server answers {reply.status_code} for {_shown(url)}")
        length = reply.headers.get("Content-Length", "")
        total = int(length) if re.fullmatch("[0-9]{1,15}", length) else None
        with progress(desc=target.name, unit="B", total=total, unit_scale=True) as bar:
            write_atomic(target, _within(reply.iter_raw(), bar, most, deadline))


def _within(blocks: Iterable[bytes], bar: tqdm[Any], most: int, deadline: float) -> Iterator[bytes]:
    """Yield the blocks, within the limits of size and time."""
    size = 0
    for block in blocks:
        size += len(block)
        if size > most:
            raise TooMuchError
        if time.monotonic() > deadline:
            raise TimeoutError
        yield block
        bar.update(len(block))


def _reason(error: Exception) -> str:
    """An exception's text, or its kind in words where it has none: ReadTimeout -> `read timeout`."""
    words = "".join(f" {char.lower()}" if char.isupper() else char for char in type(error).__name__).strip()
    return str(error) or words


def _shown(url: str) -> str:
    """The address without user and password."""
    return str(httpx.URL(url).copy_with(username=None, password=None))
