"""One file over HTTP: streamed, shown, resumed after a break, and never under its name before it is whole.

What arrives stands in `NAME.part`, beside it what identifies it on the server (`NAME.part.json`); the next
attempt asks for the rest only. Whether the bytes are the right ones is judged by the caller, by hash.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx

from repoeval_bench.core.progress import progress
from repoeval_bench.dataset.install import SourceError

if TYPE_CHECKING:
    from pathlib import Path

MAX_DOWNLOAD = 256 * 1024 * 1024
"""Bytes that one archive may have; the published ones stay far below."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait (seconds) and how often to go on after a break before giving up."""

    connect: float = 5.0
    read: float = 30.0
    attempts: int = 4


def download(url: str, target: Path, patience: Patience = Patience()) -> Path:
    """Fetch `url` to `target` (nothing to do where it exists); the path.

    A break in the middle is resumed with Range/If-Range, within this call and by the next one. SourceError:
    the server cannot be reached, refuses, stalls, breaks off too often or sends more than MAX_DOWNLOAD bytes.
    """
    if target.is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    with _client(patience) as client:
        for attempt in range(1, patience.attempts + 1):
            try:
                _transfer(client, url, part)
                break
            except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
                raise _unreachable(url, error) from error
            except httpx.RequestError as error:
                if attempt == patience.attempts:
                    raise SourceError(
                        f"the download of {_shown(url)} broke off {attempt} times "
                        f"({_reason(error)}); run the same command again to go on where it stopped"
                    ) from error
    part.replace(target)
    _note(part).unlink(missing_ok=True)
    return target


def fetch_small(url: str, patience: Patience = Patience()) -> bytes | None:
    """The content of a small file, or None where the server has none (404); SourceError as in `download`."""
    try:
        with _client(patience) as client:
            response = client.get(url)
    except httpx.RequestError as error:
        raise _unreachable(url, error) from error
    if response.status_code == httpx.codes.NOT_FOUND:
        return None
    _check_status(response, url)
    return response.content


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


def _transfer(client: httpx.Client, url: str, part: Path) -> None:
    """One request: the whole file, or the rest of it where the server agrees that it is the same file."""
    have = part.stat().st_size if part.is_file() else 0
    mark = _read_mark(part, url) if have else ""
    headers = {"Range": f"bytes={have}-", "If-Range": mark} if mark else {}
    with client.stream("GET", url, headers=headers) as response:
        if response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE and mark:
            part.unlink()
            raise httpx.RemoteProtocolError("the part that stands here is not the server's")
        _check_status(response, url)
        resumed = (
            response.status_code == httpx.codes.PARTIAL_CONTENT
            and bool(mark)
            and response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        )
        if response.status_code == httpx.codes.PARTIAL_CONTENT and not resumed:
            part.unlink(missing_ok=True)
            raise httpx.RemoteProtocolError("the server sent another range than it was asked for")
        start = have if resumed else 0
        length = response.headers.get("Content-Length")
        total = start + int(length) if length and length.isdigit() else None
        if not resumed:
            _write_mark(part, url, response)
        name = part.name.removesuffix(".part")
        with (
            part.open("ab" if resumed else "wb", buffering=0) as stream,  # what arrived outlives a kill
            progress(desc=name, unit="B", total=total, initial=start, unit_scale=True) as bar,
        ):
            arrived = start
            for block in response.iter_raw():
                arrived += len(block)
                if arrived > MAX_DOWNLOAD:
                    raise SourceError(f"{_shown(url)} is refused: more than {MAX_DOWNLOAD // 1024**2} MiB")
                stream.write(block)
                bar.update(len(block))


def _check_status(response: httpx.Response, url: str) -> None:
    if response.status_code not in {httpx.codes.OK, httpx.codes.PARTIAL_CONTENT}:
        raise SourceError(f"the server answers {response.status_code} for {_shown(url)}")


def _note(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _write_mark(part: Path, url: str, response: httpx.Response) -> None:
    """Remember a strong validator; with a weak one or none, If-Range must not be used (RFC 9110, 13.1.5)."""
    etag = response.headers.get("ETag", "")
    mark = etag if etag and not etag.startswith("W/") else response.headers.get("Last-Modified", "")
    part.unlink(missing_ok=True)
    _note(part).write_text(json.dumps({"url": url, "mark": mark}), encoding="utf-8")


def _read_mark(part: Path, url: str) -> str:
    """What identifies the bytes of the part on the server; '' where that is not known."""
    try:
        note = json.loads(_note(part).read_text(encoding="utf-8"))
        return str(note["mark"]) if note["url"] == url else ""
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return ""  # a torn note: the file is fetched from its beginning


def _unreachable(url: str, error: Exception) -> SourceError:
    return SourceError(f"{httpx.URL(url).host} cannot be reached ({_reason(error)})")


def _reason(error: Exception) -> str:
    """An exception's text, or its kind in words where it has none: ReadTimeout -> `read timeout`."""
    words = "".join(f" {char.lower()}" if char.isupper() else char for char in type(error).__name__).strip()
    return str(error) or words


def _shown(url: str) -> str:
    """The address without user and password."""
    return str(httpx.URL(url).copy_with(username=None, password=None))
