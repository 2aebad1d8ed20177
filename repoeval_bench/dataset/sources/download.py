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


def download(url: str, target: Path, most: int = LARGEST) -> None:
    """Fetch `url` to `target`.

    SourceError: the server cannot be reached, refuses, breaks off too often, or sends more than `most` bytes.
    """
    broken = retry_if_exception_type((httpx.ReadError, httpx.ReadTimeout, httpx.RemoteProtocolError))
    wait = wait_random_exponential(multiplier=PAUSE, max=30)
    shown = re.sub(r"//[^/]*@", "//", url)  # without a password
    try:
        with httpx.Client(timeout=TIMEOUT, follow_redirects=True, headers={"Accept-Encoding": "identity"}) as client:
            Retrying(stop=stop_after_attempt(ATTEMPTS), wait=wait, retry=broken, reraise=True)(
                _transfer, client, url, target, most
            )
    except httpx.HTTPStatusError as error:
        raise SourceError(f"the server answers {error.response.status_code} for {shown}") from error
    except (httpx.HTTPError, httpx.InvalidURL, ImportError, ValueError, FileNotFoundError) as error:
        # The last three: the environment names a proxy or certificates that do not exist or are not supported.
        raise SourceError(f"{shown} cannot be fetched ({error or type(error).__name__}); try again") from error


def _transfer(client: httpx.Client, url: str, target: Path, most: int) -> None:
    """One request for the whole file."""
    with client.stream("GET", url) as reply:
        reply.raise_for_status()
        total = int(reply.headers.get("Content-Length", 0)) or None
        with progress(desc=target.name, unit="B", total=total, unit_scale=True) as bar:

            def blocks() -> Iterator[bytes]:
                for block in reply.iter_raw():
                    if reply.num_bytes_downloaded > most:
                        raise SourceError(f"{target.name} is refused: it has more than {most:,} bytes")
                    yield block
                    bar.update(len(block))

            write_atomic(target, blocks())
