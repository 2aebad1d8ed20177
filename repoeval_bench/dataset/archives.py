"""Archives of other people: nothing is read from one before every entry has been checked."""

from __future__ import annotations

import lzma
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, Self, TypeVar, cast

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.files import path_problem

Archive = TypeVar("Archive")

MAX_UNPACKED = 512 * 1024 * 1024
"""Bytes that an archive may unpack to; the published ones stay far below."""

MAX_ENTRIES = 300_000
"""Entries and folders of an archive; Linux has 95,000."""

MAX_HEADER = 64 * 1024
"""Bytes before an entry of a tar archive: its header, with extended ones and long names."""

MAX_HEADERS = 512 * 1024 * 1024
"""Bytes of all headers of a tar archive."""


class ArchiveEntry(NamedTuple):
    """A file of a source: its posix path, its size in bytes, and a function that reads it; a link has no content."""

    path: str
    size: int
    read: Callable[[], bytes]
    is_link: bool = False


def read_zip(
    path: Path, is_included: Callable[[str], bool], *, max_unpacked: int = MAX_UNPACKED
) -> Iterator[tuple[str, bytes]]:
    """Yield (posix name, content) of each requested file, in the archive's order.

    A DatasetError if the archive is truncated or corrupt, or unpacks to more than `max_unpacked` bytes. Another is
    raised for any entry, requested or not, with an absolute path, `..`, a link, or a repeated name.
    """
    with _open(path, zipfile.ZipFile) as archive:
        for member in _judge(path, _zip_entries(archive), max_unpacked, links=False):
            if is_included(member.path) and not member.path.startswith(
                "__MACOSX/"
            ):  # not a file of the archive's author
                yield member.path, member.read()


def read_archive(path: Path, *, max_unpacked: int = MAX_UNPACKED) -> Iterator[ArchiveEntry]:
    """The files and links of a zip or tar archive, in its order, to be read while they come.

    A link is listed and not followed. Errors are those of `read_zip`; a file that is neither a zip nor a tar archive is
    a DatasetError too.
    """
    if zipfile.is_zipfile(path):
        with _open(path, zipfile.ZipFile) as archive:
            yield from _judge(path, _zip_entries(archive), max_unpacked)
        return
    with _open(path, partial(tarfile.open, tarinfo=_TarEntry)) as tar:
        yield from _judge(path, _tar_entries(tar), max_unpacked)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    """An entry; `original` is its name as it is stored; `kind` is `file`, `folder`, `link` or `other`."""

    name: str
    original: str
    size: int
    kind: str
    read: Callable[[], bytes]


def _zip_entries(archive: zipfile.ZipFile) -> Iterator[_Stored]:
    for info in archive.infolist():
        mode = stat.S_IFMT(info.external_attr >> 16)
        kind = "folder" if info.filename.endswith(("/", "\\")) else "file"
        if mode not in {0, stat.S_IFREG, stat.S_IFDIR}:
            kind = "link" if mode == stat.S_IFLNK else "other"
        # zipfile never reads past the declared size, so the declared sum bounds what is unpacked.
        yield _Stored(
            name=info.filename,
            original=info.orig_filename,
            size=info.file_size,
            kind=kind,
            read=lambda info=info: archive.read(info),  # type: ignore[misc]
        )


class _LimitError(Exception):
    """The headers of a tar archive are too long; the text is the reason. tarfile would hide an error of its own."""


class _TarEntry(tarfile.TarInfo):
    """An entry of a tar archive, whose headers are read within limits."""

    @classmethod
    def fromtarfile(cls, tarfile: tarfile.TarFile) -> Self:
        """Read an entry; extended headers of it are read by further calls within this one."""
        stream: Any = tarfile.fileobj
        if not isinstance(stream, _HeaderReader):
            tarfile.fileobj = stream = _HeaderReader(stream)
        with stream.reading_header():
            return super().fromtarfile(tarfile)


class _HeaderReader:
    """The stream of a tar archive; while an entry's headers are read, it counts and checks their bytes."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._all = 0
        self._of_entry: int | None = None

    @contextmanager
    def reading_header(self) -> Iterator[None]:
        """Count what is read in the block as one entry's headers."""
        if self._of_entry is not None:
            yield
            return
        self._of_entry = 0
        try:
            yield
        finally:
            self._of_entry = None

    def read(self, size: int = -1) -> bytes:
        """Read `size` bytes."""
        if self._of_entry is None:
            return cast("bytes", self._stream.read(size))
        self._of_entry += size
        self._all += size
        if self._of_entry > MAX_HEADER or self._all > MAX_HEADERS:
            most, of = (MAX_HEADER, "an entry") if self._of_entry > MAX_HEADER else (MAX_HEADERS, "its entries")
            raise _LimitError(f"the headers of {of} have more than {most:,} bytes")
        content: bytes = self._stream.read(size)
        # Some versions of tarfile search digits in time that grows with the square of their number.
        if re.search(rb"\d{65}", content):
            raise _LimitError("a header has a number of more than 64 digits")
        return content

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _tar_entries(tar: tarfile.TarFile) -> Iterator[_Stored]:
    for info in tar:
        kind = "file" if info.isreg() else "folder" if info.isdir() else "other"
        if info.issym() or info.islnk():
            kind = "link"

        def read(info: tarfile.TarInfo = info) -> bytes:
            stream = tar.extractfile(info)
            return stream.read() if stream else b""

        yield _Stored(name=info.name, original=info.name, size=info.size, kind=kind, read=read)


@contextmanager
def _open(path: Path, opener: Callable[[Path], AbstractContextManager[Archive]]) -> Iterator[Archive]:
    with _errors_of(path), opener(path) as archive:
        yield archive


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    """Raise what the libraries of archives raise in the block as a DatasetError."""
    try:
        yield
    except FileNotFoundError as error:
        raise DatasetError(f"the archive {path} does not exist") from error
    except _LimitError as error:
        raise DatasetError(f"the archive {path} is refused: {error}") from error
    except (
        zipfile.BadZipFile,
        tarfile.TarError,
        zlib.error,
        lzma.LZMAError,
        struct.error,
        EOFError,
        OSError,
        RuntimeError,  # encrypted entries, compression methods that zipfile does not know
        ValueError,  # names that are not UTF-8 though they say so
    ) as error:
        # tarfile says on lines of their own what each of its ways to open it gave.
        reason = str(error).partition("\n")[0].rstrip(":")
        raise DatasetError(
            f"the archive {path} is truncated or corrupt ({reason}); fetch it again or use another source"
        ) from error


def _judge(path: Path, entries: Iterable[_Stored], max_unpacked: int, *, links: bool = True) -> list[ArchiveEntry]:
    """Return the files, and links if they are allowed, by clean name, without folders."""
    files: dict[str, ArchiveEntry] = {}
    folders: set[str] = set()
    unpacked = 0
    for number, entry in enumerate(entries, 1):
        name = entry.name.replace("\\", "/")
        if problem := _problem(name, entry, links=links):
            raise _refused(path, entry.name, problem)
        if number + len(folders) > MAX_ENTRIES:
            raise DatasetError(f"the archive {path} is refused: it has more than {MAX_ENTRIES:,} files and folders")
        if entry.kind == "folder":
            continue
        # Empty parts and `.` say nothing: two names that differ in them alone are one file.
        name = PurePosixPath(name).as_posix()
        if name in files:
            raise _refused(path, entry.name, "appears twice")
        unpacked += entry.size
        if unpacked > max_unpacked:
            raise DatasetError(f"the archive {path} is refused: it unpacks to more than {max_unpacked // 1024**2} MiB")
        files[name] = ArchiveEntry(name, entry.size, partial(_read, path, entry), is_link=entry.kind == "link")
        folder = name.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    if both := folders & files.keys():
        raise _refused(path, min(both), "is a file and a folder")
    return list(files.values())


def _read(path: Path, entry: _Stored) -> bytes:
    with _errors_of(path):  # a wrong checksum or size shows here
        return entry.read()


def _refused(path: Path, name: str, problem: str) -> DatasetError:
    return DatasetError(f"the archive {path} is refused: its entry {name!r} {problem}")


def _problem(name: str, entry: _Stored, *, links: bool) -> str | None:
    if entry.kind == "folder" and not PurePosixPath(name).parts:  # `tar -C folder .` begins with the folder itself
        return None
    if "\0" in entry.original:  # zipfile ends the name there
        return "has a zero byte in its name"
    if problem := path_problem(name):
        return problem
    if entry.kind == "other" or (entry.kind == "link" and not links):
        return "is a link or a device"
    return None
