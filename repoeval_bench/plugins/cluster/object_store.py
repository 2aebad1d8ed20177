"""Objects at a URL that fsspec reads and writes: on a file system that machines share, in a bucket, ….

An object is written whole. The content of a store is not trusted: callers check digests.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from repoeval_bench.core.errors import BenchError, UsageError, in_one_line
from repoeval_bench.core.extras import require
from repoeval_bench.core.files import sha256_text, write_atomic
from repoeval_bench.runs.parts import is_url

# Attempts to read or write an object.
TRIES = 5

_LONGEST_PAUSE = 4.0  # seconds

_PROBE = ".writable"


class StoreError(BenchError):
    """A store cannot be read or written."""


class ObjectStore:
    """The objects below a URL, by relative name. A failure is tried again, and in the end is a StoreError."""

    def __init__(self, url: str) -> None:
        require(f"a store such as {url}", "fsspec")
        from fsspec.core import url_to_fs

        self.url = url.rstrip("/")
        if not is_url(url):
            raise UsageError(f"{url} is not the address of a store; give one such as file:///shared or s3://BUCKET")
        if scheme := re.match(r"(file|local)://(?!/)", url):
            # A relative folder depends on where the command is called, so it would be another one on each machine.
            rest = url[scheme.end() :]
            raise UsageError(f"{url} has no whole path; write {scheme[0]}/{rest}, or {scheme[0]}{Path.cwd() / rest}")
        try:
            self._system, self._root = url_to_fs(self.url)
        except (ImportError, ValueError) as error:
            raise UsageError(
                f"{url} is not the address of a store ({error}); give one such as file:///shared"
            ) from error
        except Exception as error:  # implementations of fsspec raise anything, some of them when they connect
            raise StoreError(f"the store {url} cannot be reached ({in_one_line(error)})") from error
        self._local = type(self._system).__name__ == "LocalFileSystem"

    def __reduce__(self) -> tuple[object, ...]:
        """Make it again from its URL in another process."""
        return ObjectStore, (self.url,)

    def states(self, folder: str) -> dict[str, str]:
        """Return name -> a digest of what the store says of each object below a folder: its size, time, ETag.

        Nothing if there is no such folder.
        """
        self._system.invalidate_cache()
        start = len(self._path(""))
        entries = ((str(entry["name"])[start:], entry) for entry in self._files(self._path(folder)))
        return {name: sha256_text(repr(sorted(entry.items()))) for name, entry in entries if "/." not in f"/{name}"}

    def check_writable(self) -> None:
        """Raise a StoreError unless objects can be written, before hours of work; the object written is removed."""
        self.write(_PROBE, b"\n", replace=True)
        with suppress(FileNotFoundError):  # another process has looked at the same moment
            self._tried("written", _PROBE, lambda: self._system.rm_file(self._path(_PROBE)))

    def _files(self, folder: str) -> Iterator[dict[str, Any]]:
        # fsspec's own `find` silently skips folders that cannot be listed at the moment.
        try:
            entries = self._tried("read", folder, lambda: self._system.ls(folder, detail=True))
        except FileNotFoundError:
            return
        for entry in entries:
            if entry["type"] != "directory":
                yield entry
            elif entry["name"].rstrip("/") != folder.rstrip("/"):
                yield from self._files(entry["name"])

    def read(self, name: str) -> bytes:
        """Return an object's bytes; a FileNotFoundError if there is none."""
        content: bytes = self._tried("read", name, lambda: self._system.cat_file(self._path(name)))
        return content

    def holds(self, name: str) -> bool:
        """Return whether there is an object of this name."""
        size: int | None = self._tried("read", name, lambda: self._size(self._path(name)))
        return size is not None

    def write(self, name: str, content: bytes, *, replace: bool = False) -> None:
        """Store an object; without `replace`, one of the same name and length stays."""
        self._tried("written", name, lambda: self._write(self._path(name), content, replace=replace))

    def _write(self, path: str, content: bytes, *, replace: bool) -> None:
        # The name determines the content, as a digest does: another length means a broken object.
        if not replace and self._size(path) == len(content):
            return
        try:
            if self._local:
                write_atomic(Path(path), content)
            else:
                self._system.makedirs(path.rpartition("/")[0], exist_ok=True)
                self._system.pipe_file(path, content)
        except FileNotFoundError as error:  # there is no such bucket; `_tried` takes this error for a reader's answer
            raise OSError(str(error)) from error
        if (size := self._size(path)) != len(content):
            raise OSError(f"{len(content)} bytes were written and {size} are there")

    def _size(self, path: str) -> int | None:
        self._system.invalidate_cache()
        try:
            size = self._system.info(path)["size"]
        except FileNotFoundError:
            return None
        return None if size is None else int(size)

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def _tried(self, verb: str, name: str, work: Callable[[], Any]) -> Any:
        """Return the result of the work, in several attempts; a FileNotFoundError is an answer and not tried again."""
        from tenacity import Retrying, retry_if_not_exception_type, stop_after_attempt, wait_random_exponential

        try:
            return Retrying(
                retry=retry_if_not_exception_type(FileNotFoundError),
                stop=stop_after_attempt(TRIES),
                wait=wait_random_exponential(multiplier=0.05, max=_LONGEST_PAUSE),
                reraise=True,
            )(work)
        except FileNotFoundError:
            raise
        except Exception as error:  # implementations of fsspec raise anything
            raise StoreError(
                f"{name} of the store {self.url} cannot be {verb} after {TRIES} tries ({in_one_line(error)}); run the "
                "same command again when the store answers"
            ) from error
