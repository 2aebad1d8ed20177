"""Objects at a URL: on a file system that machines share, in a bucket, wherever fsspec reads and writes.

An object is written whole. What a store holds is not trusted: callers check digests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from repoeval_bench.core.errors import BenchError, UsageError, in_one_line
from repoeval_bench.core.extras import require
from repoeval_bench.core.files import sha256_text, write_atomic
from repoeval_bench.runs.parts import is_url

TRIES = 5
"""Times that an object is read or written until the store has failed."""

_LONGEST_PAUSE = 4.0  # seconds

_PROBE = ".writable"


class StoreError(BenchError):
    """A store cannot be read or written."""


class ObjectStore:
    """The objects below a URL, by relative name. Failures are tried again, then they are a StoreError."""

    def __init__(self, url: str) -> None:
        require(f"a store such as {url}", "fsspec")
        from fsspec.core import url_to_fs

        self.url = url.rstrip("/")
        if not is_url(url):
            raise UsageError(f"{url} is not the address of a store; give one such as file:///shared or s3://BUCKET")
        if scheme := re.match(r"(file|local)://(?!/)", url):
            # It would be a folder below the one that a command is called in: another one on each machine.
            rest = url[scheme.end() :]
            raise UsageError(f"{url} has no whole path; write {scheme[0]}/{rest}, or {scheme[0]}{Path.cwd() / rest}")
        try:
            self._system, self._root = url_to_fs(self.url)
        except (ImportError, ValueError) as error:
            raise UsageError(
                f"{url} is not the address of a store ({error}); give one such as file:///shared"
            ) from error
        except Exception as error:  # implementations of fsspec raise what they like, some of them where they connect
            raise StoreError(f"the store {url} cannot be reached ({in_one_line(error)})") from error
        self._local = type(self._system).__name__ == "LocalFileSystem"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectStore) and other.url == self.url

    def __hash__(self) -> int:
        return hash(self.url)

    def __reduce__(self) -> tuple[object, ...]:
        """Return what makes it again, in another process."""
        return ObjectStore, (self.url,)

    def names(self, folder: str) -> list[str]:
        """The names of the objects below a folder, sorted; none where it is not there."""
        return sorted(self.states(folder))

    def states(self, folder: str) -> dict[str, str]:
        """Name -> a digest of what the store says of each object below a folder: its size, time, ETag."""
        self._system.invalidate_cache()
        start = len(self._path(""))
        entries = ((str(entry["name"])[start:], entry) for entry in self._files(self._path(folder)))
        return {name: sha256_text(repr(sorted(entry.items()))) for name, entry in entries if "/." not in f"/{name}"}

    def check_writable(self) -> None:
        """Fail before hours of work, not after: a StoreError unless objects can be put there; none is left."""
        self.write(_PROBE, b"\n", replace=True)
        with suppress(FileNotFoundError):  # another process has looked at the same moment
            self._tried("written", _PROBE, lambda: self._system.rm_file(self._path(_PROBE)))

    def _files(self, folder: str) -> Iterator[dict[str, Any]]:
        # fsspec's own `find` passes over folders that cannot be listed at the moment.
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
        """An object's bytes, whatever they are; a FileNotFoundError where it is not there."""
        content: bytes = self._tried("read", name, lambda: self._system.cat_file(self._path(name)))
        return content

    def tail(self, name: str, length: int) -> bytes:
        """The last bytes of an object, all of a shorter one; a FileNotFoundError where it is not there."""
        path = self._path(name)

        def read() -> bytes:
            if (size := self._size(path)) is None:
                raise FileNotFoundError(name)
            content: bytes = self._system.cat_file(path, start=max(0, size - length), end=size) if size else b""
            return content

        last: bytes = self._tried("read", name, read)
        return last

    def write(self, name: str, content: bytes, *, replace: bool = False) -> None:
        """Store an object; one of the same name and length is there already and stays, unless it is to be replaced.

        Without `replace` the name must decide the content, as a digest does: another length is that of a cut object.
        """
        path = self._path(name)

        def written() -> None:
            if replace or self._size(path) != len(content):
                self._write(path, content)

        self._tried("written", name, written)

    def _write(self, path: str, content: bytes) -> None:
        try:
            if self._local:
                write_atomic(Path(path), content)
            else:
                self._system.makedirs(path.rpartition("/")[0], exist_ok=True)
                self._system.pipe_file(path, content)
        except FileNotFoundError as error:  # where there is no such bucket: no answer, other than of a reader
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
        """Return what the work gives; a FileNotFoundError is an answer, and is not tried again."""
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
        except Exception as error:  # implementations of fsspec raise what they like
            raise StoreError(
                f"{name} of the store {self.url} cannot be {verb} after {TRIES} tries ({in_one_line(error)}); run the "
                "same command again when the store answers"
            ) from error
