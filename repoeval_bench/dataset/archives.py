"""Archives of other people: nothing is read from one before every entry has been checked."""

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

MAX_UNPACKED = 4 * 1024**3
"""Bytes that an archive may unpack to. Its files are read one by one."""


class ArchiveEntry(NamedTuple):
    """A file of a source: its posix path, its size in bytes, and a function that reads it; a link has no content."""

    path: str
    size: int
    read: Callable[[], bytes]
    is_link: bool = False


def read_zip(path: Path, is_included: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """Yield (posix name, content) of each requested file of an archive, as `read_archive` lists it."""
    for entry in read_archive(path):
        if is_included(entry.path) and not entry.is_link:
            yield entry.path, entry.read()


def read_archive(path: Path) -> Iterator[ArchiveEntry]:
    """The files and links of a zip or tar archive, in its order, to be read while they come.

    A link is listed and not followed, and has no content. A DatasetError if it is no archive or broken, unpacks to more
    than `MAX_UNPACKED` bytes, or has an entry with an absolute path or `..`.
    """
    with _errors_of(path):
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                yield from _checked(path, _zip_entries(archive))
        else:
            with tarfile.open(path) as tar:
                yield from _checked(path, _tar_entries(tar))


def _zip_entries(archive: zipfile.ZipFile) -> Iterator[ArchiveEntry]:
    for info in archive.infolist():
        if not info.filename.endswith("/"):
            # zipfile never reads past the declared size, so the declared sum bounds what is unpacked.
            is_link = stat.S_ISLNK(info.external_attr >> 16)
            yield ArchiveEntry(info.filename, info.file_size, partial(archive.read, info), is_link)


def _tar_entries(tar: tarfile.TarFile) -> Iterator[ArchiveEntry]:
    def read(info: tarfile.TarInfo) -> bytes:
        stream = tar.extractfile(info)
        return stream.read() if stream else b""

    for info in tar:
        if not info.isdir():
            yield ArchiveEntry(info.name, info.size, partial(read, info), not info.isreg())


def _checked(path: Path, entries: Iterator[ArchiveEntry]) -> list[ArchiveEntry]:
    """Return the files and links by clean name."""
    files: dict[str, ArchiveEntry] = {}
    unpacked = 0
    for entry in entries:
        name = PurePosixPath(entry.path.replace("\\", "/")).as_posix()
        if problem := path_problem(entry.path.replace("\\", "/")):
            raise DatasetError(f"the archive {path} is refused: its entry {entry.path!r} {problem}")
        unpacked += entry.size
        if unpacked > MAX_UNPACKED:
            raise DatasetError(f"the archive {path} is refused: it unpacks to more than {MAX_UNPACKED // 1024**3} GiB")
        if not name.startswith("__MACOSX/"):  # macOS adds that folder, which is not the author's
            files[name] = entry._replace(path=name, read=partial(_read, path, entry))
    return list(files.values())


def _read(path: Path, entry: ArchiveEntry) -> bytes:
    with _errors_of(path):  # a wrong checksum or size shows here
        return entry.read()


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    """Raise what the libraries of archives raise in the block as a DatasetError."""
    try:
        yield
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
        raise DatasetError(f"the archive {path} cannot be read ({reason}); fetch it again") from error
