"""Where code comes from: a folder, a git checkout, an archive or a published package, each as a list of files.

`SOURCE` on the command line is the text that `open_origin` reads. An origin is opened once, may fetch, and then lists
its files in one order; nothing of it is unpacked, run or imported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from repoeval_bench.dataset.archives import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A source that was opened. `name` is the repository's name in the pack.

    `facts` are what a pack records of it: kind, version, hash, commit … `paths` are those of its files. `entries`
    lists them in one order, each to be read before the next is taken. `left_out` are counts of what is known to be left
    out before that. `licence` is what its metadata says, "" where they say nothing.
    """

    name: str
    facts: Mapping[str, object]
    paths: Collection[str]
    entries: Callable[[], Iterator[Entry]]
    left_out: Mapping[str, int] = field(default_factory=dict)
    licence: str = ""


ARCHIVES = (".zip", ".whl", ".tar", ".tgz", ".tar.gz", ".tbz2", ".tar.bz2", ".txz", ".tar.xz", ".crate", ".gem")
"""How the names of archives end."""


def open_origin(source: str, work: Path) -> Origin:
    """Open a source, fetching it into the folder `work` where it is a package.

    UsageError: what the text names does not exist or is not of a known form. DatasetError: it cannot be fetched or
    read.
    """
    from repoeval_bench.dataset.build import archived, folders, registries

    kind, colon, rest = source.partition(":")
    if colon and kind in registries.KINDS:
        return registries.open_package(kind, rest, work)
    if re.match(r"[a-z][a-z0-9+.-]+://", source):
        raise UsageError(
            f"the source {source!r} is an address; download it, and name the folder or the archive that you have then"
        )
    path = Path(source).expanduser()
    if path.is_dir():
        return folders.open_folder(path)
    if path.is_file():
        if not path.name.lower().endswith(ARCHIVES):
            raise UsageError(
                f"the source {source!r} is neither a folder nor an archive; archives end in {', '.join(ARCHIVES)}"
            )
        return archived.open_archive(path)
    raise UsageError(
        f"the source {source!r} does not exist; name a folder, an archive, pypi:NAME==VERSION or npm:NAME@VERSION"
    )


def repository_name(text: str) -> str:
    """A name that a task's id and a list of names can hold: letters, digits, `_`, `.` and single `-`."""
    name = re.sub(r"[^\w.-]+", "_", text).strip("._-")
    return re.sub(r"--+", "_", name) or "source"
