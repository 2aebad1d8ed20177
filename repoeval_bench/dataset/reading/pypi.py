"""A source that is a package of a Python package index: a version's pure-Python wheel or its sdist."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repoeval_bench.dataset.archives import read_archive
from repoeval_bench.dataset.reading.origin import MAX_UNPACKED, Origin, checked_hash, of_archive, repository_name

if TYPE_CHECKING:
    from repoeval_bench.dataset.sources.index_client import Index

_LICENCE = re.compile(r"^License(?:-Expression)?: *([^\n]{1,60})$", re.MULTILINE)
_UNSTATED = frozenset({"UNKNOWN", "None", ""})


class PyPI:
    """The package index of pip's settings as a registry; see `opening`."""

    form, example = "pypi:NAME==VERSION", "pypi:click==8.1.7"
    sdist = False
    spec = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*)\s*==\s*(?P<version>[\w.!+]+)")

    def __init__(self, index: Index) -> None:
        self.index = index

    def open_release(self, name: str, version: str, work: Path, pinned: Mapping[str, Any] | None = None) -> Origin:
        """The pure-Python wheel of a version, else its sdist, or the file that was pinned."""
        path, stated = self.index.fetch(name, version, work, file=(pinned or {}).get("file", ""), sdist=self.sdist)
        facts = {
            "kind": "wheel" if path.suffix == ".whl" else "sdist",
            "package": name,
            "version": version,
            "file": path.name,
            "sha256": checked_hash(path, pinned),
            "verified": sorted(stated),
        }
        return of_archive(path, repository_name(f"{name}-{version}"), facts, _short_licence(metadata(path)))


class Sdist(PyPI):
    """The same index, of which the sdist is taken: it often has the tests that a wheel lacks."""

    form, example = "sdist:NAME==VERSION", "sdist:click==8.1.7"
    sdist = True


def metadata(path: Path) -> str:
    """The metadata of a wheel or an sdist; "" where it has none."""
    for member in read_archive(path, max_unpacked=MAX_UNPACKED):
        *folders, base = member.path.split("/")
        if len(folders) == 1 and base in {"METADATA", "PKG-INFO"}:
            return member.read().decode("utf-8", "replace")
    return ""


def _short_licence(metadata: str) -> str:
    """Return what the metadata says of the licence; "" where it says nothing short."""
    values = (value.strip() for value in _LICENCE.findall(metadata.partition("\n\n")[0]))
    return next((licence for licence in values if licence not in _UNSTATED), "")
