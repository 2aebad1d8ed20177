"""Open the source that a user names: a folder, an archive, or a published package."""

from __future__ import annotations

import re
from pathlib import Path

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.files import sha256_file
from repoeval_bench.dataset.reading import folders, registries
from repoeval_bench.dataset.reading.origin import Origin, of_archive, repository_name

ARCHIVES = (".zip", ".whl", ".tar", ".tgz", ".tar.gz", ".tbz2", ".tar.bz2", ".txz", ".tar.xz", ".crate", ".gem")
"""Endings of the names of archives."""


def open_origin(source: str, work: Path) -> Origin:
    """Open a source, fetching it into the folder `work` where it is a package.

    UsageError: what the text names does not exist or is not of a known form. DatasetError: it cannot be fetched or
    read.
    """
    kind, colon, rest = source.partition(":")
    if colon and kind in registries.KINDS:
        return registries.open_package(kind, rest, work)
    refuse_address(source)
    path = Path(source).expanduser()
    if path.is_dir():
        return folders.open_folder(path)
    if path.is_file():
        if not path.name.lower().endswith(ARCHIVES):
            raise UsageError(
                f"the source {source!r} is neither a folder nor an archive; archives end in {', '.join(ARCHIVES)}"
            )
        return open_archive(path)
    raise UsageError(
        f"the source {source!r} does not exist; name a folder, an archive, pypi:NAME==VERSION or npm:NAME@VERSION"
    )


_ADDRESS = re.compile(
    r"[a-z][a-z0-9+.-]+://|[\w.-]+@[\w.-]+:|(?:github|gitlab|bitbucket|codeberg)\.\w+/", re.IGNORECASE
)
"""The start of an address: with its scheme, in the short form of ssh, or without the scheme of a host of checkouts."""


def refuse_address(source: str) -> None:
    """Raise a UsageError with the way out if a source is an address: nothing is cloned or fetched from one."""
    if _ADDRESS.match(source) and not Path(source).exists():
        raise UsageError(
            f"the source {source!r} is an address; clone it with git or download it, and name the folder or archive"
        )


def open_archive(path: Path) -> Origin:
    """A zip or tar archive, by its content; a DatasetError where it is broken or one of its names leads out of it."""
    lowered = path.name.lower()
    stem = path.name[: -max(len(ending) for ending in ARCHIVES if lowered.endswith(ending))]
    facts = {"kind": "archive", "file": path.name, "sha256": sha256_file(path)}
    return of_archive(path, repository_name(stem), facts)
