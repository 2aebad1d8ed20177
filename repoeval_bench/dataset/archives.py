"""Zip archives from elsewhere: nothing is taken from one before all of it has been judged harmless."""

from __future__ import annotations

import lzma
import stat
import struct
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.files import path_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MAX_UNPACKED = 512 * 1024 * 1024
"""Bytes that an archive may unpack to; the published ones stay far below."""


def read_zip(
    path: Path, wanted: Callable[[str], bool], *, max_unpacked: int = MAX_UNPACKED
) -> Iterator[tuple[str, bytes]]:
    """(posix name, content) of each wanted file, in the archive's order.

    A DatasetError for an archive that is truncated or corrupt, unpacks to more than `max_unpacked` bytes, or
    has an entry (wanted or not) with an absolute path, `..`, a link, or a name that appears twice.
    """
    with _open(path) as archive:
        entries = _judge(path, archive.infolist(), max_unpacked)
        for name, entry in entries.items():
            if wanted(name) and not name.startswith("__MACOSX/"):  # not a file of the archive's author
                yield name, archive.read(entry)


@contextmanager
def _open(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except FileNotFoundError as error:
        raise DatasetError(f"the archive {path} does not exist") from error
    except (
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        struct.error,
        EOFError,
        OSError,
        RuntimeError,  # encrypted entries, compression methods that zipfile does not know
        ValueError,  # names that are not UTF-8 though they say so
    ) as error:
        raise DatasetError(
            f"the archive {path} is truncated or corrupt ({error}); fetch it again or use another source"
        ) from error


def _judge(path: Path, infos: list[zipfile.ZipInfo], max_unpacked: int) -> dict[str, zipfile.ZipInfo]:
    """The files by clean name; directories are left out."""
    files: dict[str, zipfile.ZipInfo] = {}
    unpacked = 0
    for info in infos:
        name = info.filename.replace("\\", "/")
        if problem := _problem(name, info):
            raise DatasetError(f"the archive {path} is refused: its entry {info.filename!r} {problem}")
        if info.is_dir() or name.endswith("/"):
            continue
        # Empty parts and `.` say nothing: two names that differ in them alone are one file.
        name = PurePosixPath(name).as_posix()
        if name in files:
            raise DatasetError(f"the archive {path} is refused: its entry {info.filename!r} appears twice")
        # zipfile never reads past the declared size, so the declared sum bounds what is unpacked.
        unpacked += info.file_size
        if unpacked > max_unpacked:
            raise DatasetError(f"the archive {path} is refused: it unpacks to more than {max_unpacked // 1024**2} MiB")
        files[name] = info
    return files


def _problem(name: str, info: zipfile.ZipInfo) -> str | None:
    if "\0" in info.orig_filename:  # zipfile ends the name there
        return "has a zero byte in its name"
    if problem := path_problem(name):
        return problem
    mode = info.external_attr >> 16
    if stat.S_IFMT(mode) not in {0, stat.S_IFREG, stat.S_IFDIR}:
        return "is a link or a device"
    return None
