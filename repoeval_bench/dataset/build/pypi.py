"""A source that is a package of a Python package index: the pure-Python wheel of one version, else its sdist."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.files import sha256_file
from repoeval_bench.dataset.archives import read_archive
from repoeval_bench.dataset.build.archived import MAX_UNPACKED, of_archive
from repoeval_bench.dataset.build.origin import Origin, repository_name
from repoeval_bench.dataset.sources.index_client import TamperedError, open_index

if TYPE_CHECKING:
    from pathlib import Path

    from repoeval_bench.dataset.sources.index_client import Index

_SPEC = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*)\s*==\s*(?P<version>[\w.!+]+)")
_LICENCE = re.compile(r"^License(?:-Expression)?: *([^\n]{1,60})$", re.MULTILINE)
_UNSTATED = frozenset({"UNKNOWN", "None", ""})


def open_package(text: str, work: Path) -> Origin:
    """The package `NAME==VERSION`, fetched into the folder `work`.

    UsageError: it is not written so. DatasetError: it cannot be fetched.
    """
    found = _SPEC.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"the source 'pypi:{text}' is not of the form pypi:NAME==VERSION, such as pypi:click==8.1.7")
    with open_index() as index:
        return open_release(index, found["name"], found["version"], work)


def open_release(index: Index, name: str, version: str, work: Path, *, file: str = "", sha256: str = "") -> Origin:
    """The package of a version, fetched into the folder `work`; `file` and `sha256` are what it has to be.

    A DatasetError where it cannot be fetched; a TamperedError where it is not the one that was pinned.
    """
    path, stated = index.fetch(name, version, work, file=file)
    digest = sha256_file(path)
    if sha256 and digest != sha256:
        raise TamperedError(f"{path.name} has SHA-256 {digest}, and not {sha256}; the index serves another file")
    facts = {
        "kind": "wheel" if path.suffix == ".whl" else "sdist",
        "package": name,
        "version": version,
        "file": path.name,
        "sha256": digest,
        "verified": sorted(stated),
    }
    return of_archive(path, repository_name(f"{name}-{version}"), facts, _licence(path))


def _licence(path: Path) -> str:
    """What the package's metadata says of its licence; "" where it says nothing short."""
    for member in read_archive(path, max_unpacked=MAX_UNPACKED):
        *folders, base = member.name.split("/")
        if len(folders) == 1 and base in {"METADATA", "PKG-INFO"}:
            head = member.read().decode("utf-8", "replace").partition("\n\n")[0]
            for found in _LICENCE.findall(head):
                if found.strip() not in _UNSTATED:
                    return str(found).strip()
    return ""
