"""Open the source that a user names: a folder, an archive, or a published package."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.files import sha256_file
from repoeval_bench.dataset.reading.folders import open_folder
from repoeval_bench.dataset.reading.npm import Npm
from repoeval_bench.dataset.reading.origin import Origin, of_archive, repository_name
from repoeval_bench.dataset.reading.pypi import PyPI, Sdist
from repoeval_bench.dataset.sources.index_client import open_index

KINDS: Mapping[str, type[Npm | PyPI]] = {"npm": Npm, "pypi": PyPI, "sdist": Sdist}
"""Kind of registry -> its class: how a source is written, and the registry itself."""

ARCHIVES = (".zip", ".whl", ".tar", ".tgz", ".tar.gz", ".tbz2", ".tar.bz2", ".txz", ".tar.xz", ".crate", ".gem")
"""Endings of the names of archives."""


def open_origin(source: str, work: Path) -> Origin:
    """Open a source, fetching it into the folder `work` where it is a package.

    UsageError: what the text names does not exist or is not of a known form. DatasetError: it cannot be fetched or
    read.
    """
    kind, colon, rest = source.partition(":")
    if colon and kind in KINDS:
        written = KINDS[kind]
        match = written.spec.fullmatch(rest.strip())
        if match is None:
            raise UsageError(f"the source {source!r} is not of the form {written.form}, such as {written.example}")
        with open_registry(kind) as registry:
            return registry.open_release(match["name"], match["version"], work)
    refuse_address(source)
    path = Path(source).expanduser()
    if path.is_dir():
        return open_folder(path)
    if path.is_file():
        if not path.name.lower().endswith(ARCHIVES):
            raise UsageError(
                f"the source {source!r} is neither a folder nor an archive; archives end in {', '.join(ARCHIVES)}"
            )
        stem = path.name[: -max(len(ending) for ending in ARCHIVES if path.name.lower().endswith(ending))]
        facts = {"kind": "archive", "file": path.name, "sha256": sha256_file(path)}
        return of_archive(path, repository_name(stem), facts)
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


@contextmanager
def open_registry(kind: str) -> Iterator[Npm | PyPI]:
    """The registry of a kind, `pypi`, `sdist` or `npm`, as the user's own settings name it."""
    if kind == "npm":
        yield Npm()
        return
    with open_index() as index:
        yield Sdist(index) if kind == "sdist" else PyPI(index)
