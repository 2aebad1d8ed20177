"""Origins of code: a folder, a git checkout, an archive or a published package, each as a list of files.

`SOURCE` on the command line is the text that `open_origin` reads. An origin is opened once, may fetch, and then lists
its files in one order; nothing of it is unpacked, run or imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from repoeval_bench.core.files import sha256_file
from repoeval_bench.dataset.archives import ArchiveEntry, read_archive
from repoeval_bench.dataset.sources.index_client import TamperedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A source that was opened. `name` is the repository's name in the pack.

    `facts` are what a pack records of it: kind, version, hash, commit … `paths` are those of its files. `entries` lists
    them in one order, each to be read before the next is taken. `skipped` counts files that are left out before that,
    by reason. `licence` is that of its metadata, or "". `notes` tell the user how it was read.
    """

    name: str
    facts: Mapping[str, object]
    paths: Collection[str]
    entries: Callable[[], Iterator[ArchiveEntry]]
    skipped: Mapping[str, int] = field(default_factory=dict)
    licence: str = ""
    notes: tuple[str, ...] = ()


def repository_name(text: str) -> str:
    """A name that a task's id and a list of names can hold: letters, digits, `_`, `.` and single `-`."""
    name = re.sub(r"[^\w.-]+", "_", text).strip("._-")
    return re.sub(r"--+", "_", name) or "source"


def name_of_repository(folder: Path) -> str:
    """The name of a repository in such a folder: `shop` for `shop`, `shop.git` and `shop/.git`."""
    return repository_name((folder.parent if folder.name == ".git" else folder).name.removesuffix(".git"))


MAX_UNPACKED = 4 * 1024**3
"""Bytes that an archive may unpack to. Its files are read one by one, and large ones not at all."""


def checked_hash(path: Path, pinned: Mapping[str, Any] | None) -> str:
    """The SHA-256 of a fetched package; a TamperedError where another was pinned."""
    digest, expected = sha256_file(path), (pinned or {}).get("sha256")
    if expected and digest != expected:
        raise TamperedError(f"{path.name} has SHA-256 {digest}, and not {expected}; the index serves another file")
    return digest


def of_archive(path: Path, name: str, facts: Mapping[str, object], licence: str = "") -> Origin:
    """An archive that is this repository; a wheel keeps its outermost folders, as they are packages."""
    listed = list(read_archive(path, max_unpacked=MAX_UNPACKED))
    files = [member.path for member in listed if _is_file(member)]
    tops = {file.partition("/")[0] if "/" in file else "" for file in files}
    top = f"{min(tops)}/" if len(tops) == 1 and not path.name.endswith(".whl") else ""
    links = sum(member.is_link for member in listed)
    return Origin(
        name=name,
        facts=facts,
        paths=frozenset(file.removeprefix(top) for file in files),
        entries=lambda: _entries(path, top),
        skipped={"link": links} if links else {},
        licence=licence,
    )


def _entries(path: Path, top: str) -> Iterator[ArchiveEntry]:
    for member in read_archive(path, max_unpacked=MAX_UNPACKED):
        if _is_file(member):
            yield ArchiveEntry(member.path.removeprefix(top), member.size, member.read)


def _is_file(member: ArchiveEntry) -> bool:
    return not member.is_link and not member.path.startswith("__MACOSX/")  # which is not of the archive's author
