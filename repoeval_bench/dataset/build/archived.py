"""A source that is an archive: its files as they are packed, without the one folder that most packers put around."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from repoeval_bench.core.files import sha256_file
from repoeval_bench.dataset.archives import Entry, read_archive
from repoeval_bench.dataset.build.origin import ARCHIVES, Origin, repository_name
from repoeval_bench.dataset.sources.index_client import TamperedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MAX_UNPACKED = 4 * 1024**3
"""Bytes that an archive may unpack to. Its files are read one by one, and large ones not at all."""


def open_archive(path: Path) -> Origin:
    """A zip or tar archive, by its content; a DatasetError where it is broken or one of its names leads out of it."""
    lowered = path.name.lower()
    stem = path.name[: -max(len(ending) for ending in ARCHIVES if lowered.endswith(ending))]
    facts = {"kind": "archive", "file": path.name, "sha256": sha256_file(path)}
    return of_archive(path, repository_name(stem), facts)


def checked_hash(path: Path, pinned: Mapping[str, Any] | None) -> str:
    """The SHA-256 of a fetched package; a TamperedError where another was pinned."""
    digest, wanted = sha256_file(path), (pinned or {}).get("sha256")
    if wanted and digest != wanted:
        raise TamperedError(f"{path.name} has SHA-256 {digest}, and not {wanted}; the index serves another file")
    return digest


def of_archive(path: Path, name: str, facts: Mapping[str, object], licence: str = "") -> Origin:
    """An archive that is this repository; a wheel keeps its outermost folders, as they are packages."""
    listed = list(read_archive(path, max_unpacked=MAX_UNPACKED))
    files = [each.path for each in listed if _is_file(each)]
    tops = {each.partition("/")[0] if "/" in each else "" for each in files}
    top = f"{min(tops)}/" if len(tops) == 1 and not path.name.endswith(".whl") else ""
    links = sum(each.is_link for each in listed)
    return Origin(
        name=name,
        facts=facts,
        paths=frozenset(each.removeprefix(top) for each in files),
        entries=lambda: _entries(path, top),
        left_out={"link": links} if links else {},
        licence=licence,
    )


def _entries(path: Path, top: str) -> Iterator[Entry]:
    for member in read_archive(path, max_unpacked=MAX_UNPACKED):
        if _is_file(member):
            yield Entry(member.path.removeprefix(top), member.size, member.read)


def _is_file(member: Entry) -> bool:
    return not member.is_link and not member.path.startswith("__MACOSX/")  # which is not of the archive's author
