"""Download of one file over HTTP, within a limit of size; it gets its name when it is complete.

Whether the bytes are the right ones is for the caller to check, by hash. pooch would not do: it bounds no size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from repoeval_bench.core.files import write_atomic
from repoeval_bench.core.progress import progress
from repoeval_bench.dataset.sources import SourceError

LARGEST = 256 * 1024 * 1024
"""Bytes of a download; the published archives stay far below."""

ATTEMPTS = 4
"""Attempts after a break or a silence in the middle."""

PAUSE = 0.5
"""Seconds before the second attempt at most, doubled with each further one."""

TIMEOUT = httpx.Timeout(30.0, connect=5.0)
"""Seconds to wait for the next bytes, and for a connection."""


class AbsentError(SourceError):
    """The server does not have the file (404)."""


def download(url: str, target: Path, most: int = LARGEST) -> Path:
    """Fetch `url` to `target` (nothing to do where it exists); the path.

    SourceError: the server cannot be reached, refuses, breaks off too often, or sends more than `most` bytes.
    """
    if target.is_file():
        return target
    broken = retry_if_exception_type((httpx.ReadError, httpx.ReadTimeout, httpx.RemoteProtocolError))
    wait = wait_random_exponential(multiplier=PAUSE, max=30)
    try:
        with httpx.Client(timeout=TIMEOUT, follow_redirects=True, headers={"Accept-Encoding": "identity"}) as client:
            Retrying(stop=stop_after_attempt(ATTEMPTS), wait=wait, retry=broken, reraise=True)(
                _transfer, client, url, target, most
            )
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
        raise SourceError(f"{httpx.URL(url).host} cannot be reached ({_reason(error)})") from error
    except httpx.RequestError as error:
        raise SourceError(
            f"the download of {_shown(url)} broke off {ATTEMPTS} times ({_reason(error)}); try again"
        ) from error
    except (ImportError, ValueError, FileNotFoundError, httpx.InvalidURL) as error:
        # The environment names a proxy or certificates that do not exist or are not supported.
        raise SourceError(f"the proxy or certificate settings cannot be used ({error})") from error
    return target


def _transfer(client: httpx.Client, url: str, target: Path, most: int) -> None:
    """One request for the whole file."""
    with client.stream("GET", url) as reply:
        if reply.status_code != httpx.codes.OK:
            refusal = AbsentError if reply.status_code == httpx.codes.NOT_FOUND else SourceError
            raise refusal(f"the server answers {reply.status_code} for {_shown(url)}")
        length = reply.headers.get("Content-Length", "")
        total = int(length) if re.fullmatch("[0-9]{1,15}", length) else None
        with progress(desc=target.name, unit="B", total=total, unit_scale=True) as bar:

            def blocks() -> Iterator[bytes]:
                for block in reply.iter_raw():
                    if reply.num_bytes_downloaded > most:
                        raise SourceError(f"{_shown(url)} is refused: it has more than {most:,} bytes")
                    yield block
                    bar.update(len(block))

            write_atomic(target, blocks())


def _reason(error: Exception) -> str:
    """An exception's text, or its kind in words where it has none: ReadTimeout -> `read timeout`."""
    words = "".join(f" {char.lower()}" if char.isupper() else char for char in type(error).__name__).strip()
    return str(error) or words


def _shown(url: str) -> str:
    """The address without user and password."""
    return str(httpx.URL(url).copy_with(username=None, password=None))
