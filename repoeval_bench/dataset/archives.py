"""Archives of other people: nothing is read from one before every entry has been checked."""

from __future__ import annotations

import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.files import path_problem

MAX_UNPACKED = 512 * 1024 * 1024
"""Bytes that an archive may unpack to; the published ones stay far below."""


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
    with _errors_of(path), zipfile.ZipFile(path) as archive:
        entries = _checked(path, _zip_entries(archive), max_unpacked)
        if link := next((entry.path for entry in entries if entry.is_link), None):
            raise _refused(path, link, "is a link")
        for entry in entries:
            if is_included(entry.path) and not entry.path.startswith("__MACOSX/"):  # not a file of the author
                yield entry.path, entry.read()


def read_archive(path: Path, *, max_unpacked: int = MAX_UNPACKED) -> Iterator[ArchiveEntry]:
    """The files and links of a zip or tar archive, in its order, to be read while they come.

    A link is listed and not followed. Errors are those of `read_zip`; a file that is neither a zip nor a tar archive is
    a DatasetError too.
    """
    with _errors_of(path):
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                yield from _checked(path, _zip_entries(archive), max_unpacked)
        else:
            with tarfile.open(path) as tar:
                yield from _checked(path, _tar_entries(tar), max_unpacked)


def _zip_entries(archive: zipfile.ZipFile) -> Iterator[tuple[str, ArchiveEntry]]:
    """Yield (kind, entry): `file`, `folder`, `link` or `device`."""
    for info in archive.infolist():
        mode = stat.S_IFMT(info.external_attr >> 16)
        kind = "folder" if info.filename.endswith(("/", "\\")) else "file"
        if mode not in {0, stat.S_IFREG, stat.S_IFDIR}:
            kind = "link" if mode == stat.S_IFLNK else "device"
        # zipfile never reads past the declared size, so the declared sum bounds what is unpacked.
        yield kind, ArchiveEntry(info.filename, info.file_size, partial(archive.read, info), kind == "link")


def _tar_entries(tar: tarfile.TarFile) -> Iterator[tuple[str, ArchiveEntry]]:
    for info in tar:
        is_link = info.issym() or info.islnk()
        kind = "link" if is_link else "file" if info.isreg() else "folder" if info.isdir() else "device"
        yield kind, ArchiveEntry(info.name, info.size, partial(_read_member, tar, info), is_link)


def _read_member(tar: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    stream = tar.extractfile(info)
    return stream.read() if stream else b""


def _checked(path: Path, entries: Iterator[tuple[str, ArchiveEntry]], max_unpacked: int) -> list[ArchiveEntry]:
    """Return the files and links by clean name, without folders."""
    files: dict[str, ArchiveEntry] = {}
    unpacked = 0
    for kind, entry in entries:
        name = entry.path.replace("\\", "/")
        if kind == "folder" and not PurePosixPath(name).parts:  # `tar -C folder .` begins with the folder itself
            continue
        if problem := "is a device" if kind == "device" else path_problem(name):
            raise _refused(path, entry.path, problem)
        if kind == "folder":
            continue
        # Empty parts and `.` say nothing: two names that differ in them alone are one file.
        name = PurePosixPath(name).as_posix()
        if name in files:
            raise _refused(path, entry.path, "appears twice")
        unpacked += entry.size
        if unpacked > max_unpacked:
            raise DatasetError(f"the archive {path} is refused: it unpacks to more than {max_unpacked // 1024**2} MiB")
        files[name] = entry._replace(path=name, read=partial(_read, path, entry))
    return list(files.values())


def _read(path: Path, entry: ArchiveEntry) -> bytes:
    with _errors_of(path):  # a wrong checksum or size shows here
        return entry.read()


def _refused(path: Path, name: str, problem: str) -> DatasetError:
    return DatasetError(f"the archive {path} is refused: its entry {name!r} {problem}")


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    """Raise what the libraries of archives raise in the block as a DatasetError."""
    try:
        yield
    except FileNotFoundError as error:
        raise DatasetError(f"the archive {path} does not exist") from error
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
