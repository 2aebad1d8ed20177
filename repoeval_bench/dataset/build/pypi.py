"""A source that is a package of a Python package index: the pure wheel of a version, else its sdist, or that."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.parser import HeaderParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repoeval_bench.dataset.archives import read_archive
from repoeval_bench.dataset.build.origin import MAX_UNPACKED, Origin, checked_hash, of_archive, repository_name

if TYPE_CHECKING:
    from repoeval_bench.dataset.sources.index_client import Index, Release

_LICENCE = re.compile(r"^License(?:-Expression)?: *([^\n]{1,60})$", re.MULTILINE)
_UNSTATED = frozenset({"UNKNOWN", "None", ""})
_SPDX = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "MIT No Attribution License (MIT-0)": "MIT-0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
    "Zero-Clause BSD (0BSD)": "0BSD",
}
"""A classifier of a licence -> its SPDX identifier; that of BSD does not say which one."""


class PyPI:
    """The package index of pip's settings as a registry; see `registries`."""

    form, example = "pypi:NAME==VERSION", "pypi:click==8.1.7"
    sdist = False
    spec = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*)\s*==\s*(?P<version>[\w.!+]+)")

    def __init__(self, index: Index) -> None:
        self._index = index

    def releases(self, name: str) -> list[Release]:
        """All files of a package, the newest version first."""
        return self._index.releases(name)

    def open_release(self, name: str, version: str, work: Path, pinned: Mapping[str, Any] | None = None) -> Origin:
        """The pure-Python wheel of a version, else its sdist, or the file that was pinned."""
        path, stated = self._index.fetch(name, version, work, file=(pinned or {}).get("file", ""), sdist=self.sdist)
        facts = {
            "kind": "wheel" if path.suffix == ".whl" else "sdist",
            "package": name,
            "version": version,
            "file": path.name,
            "sha256": checked_hash(path, pinned),
            "verified": sorted(stated),
        }
        return of_archive(path, repository_name(f"{name}-{version}"), facts, _short_licence(_metadata(path)))

    def licence(self, path: Path) -> str:
        """The `License-Expression`, else what the classifiers say."""
        headers = HeaderParser().parsestr(_metadata(path))
        if stated := headers["License-Expression"]:
            return str(stated)
        classifiers = [
            classifier.rpartition(" :: ")[2]
            for classifier in headers.get_all("Classifier", [])
            if "License ::" in classifier
        ]
        return " AND ".join(_SPDX.get(classifier, classifier) for classifier in classifiers)

    def source(self, name: str, version: str) -> str:
        """`pypi:NAME==VERSION`."""
        return f"pypi:{name}=={version}"


class Sdist(PyPI):
    """The same index, of which the sdist is taken: it often has the tests that a wheel lacks."""

    form, example = "sdist:NAME==VERSION", "sdist:click==8.1.7"
    sdist = True

    def source(self, name: str, version: str) -> str:
        """`sdist:NAME==VERSION`."""
        return f"sdist:{name}=={version}"


def _metadata(path: Path) -> str:
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
