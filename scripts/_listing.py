"""Read from a registry the releases of a package, and from a fetched release its licence."""

import re
from datetime import datetime
from email.parser import HeaderParser
from pathlib import Path
from typing import NamedTuple

from packaging.version import InvalidVersion, Version

from repoeval_bench.core.json_reader import parse_loose
from repoeval_bench.dataset.archives import read_archive
from repoeval_bench.dataset.reading.opening import Npm, PyPI, ask_npm
from repoeval_bench.dataset.sources import SourceError

SOURCES = {"npm": "npm:{}@{}", "pypi": "pypi:{}=={}"}
"""Registry -> the form of a package's version as a source of a pack."""

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
"""Classifier of a licence -> its SPDX identifier; the classifier of BSD does not say which BSD licence."""


class Release(NamedTuple):
    """A release of a package: its version, the time of its upload if the index states it, and whether it is final.

    `is_final` is false for pre-releases, development releases and yanked files.
    """

    version: str
    uploaded: datetime | None
    is_final: bool


def releases(registry: Npm | PyPI, name: str) -> list[Release]:
    """Return all releases of a package, the newest version first; a SourceError if the registry has no such package."""
    return _of_npm(name) if isinstance(registry, Npm) else _of_index(registry, name)


def _of_index(registry: PyPI, name: str) -> list[Release]:
    listed = []
    for package in registry.index.files(name):
        try:
            version = Version(str(package.version))
        except InvalidVersion:
            continue
        final = not version.is_prerelease and package.link.yank_reason is None
        listed.append(Release(str(package.version), package.link.upload_time, final))
    return listed


def _of_npm(name: str) -> list[Release]:
    """Return all versions; the days are those that the registry states, and a mirror may state others.

    A version with a hyphen is a pre-release, and not final.
    """
    stated = ask_npm("view", name, "versions", "time", of=name)
    versions, times = stated.get("versions"), stated.get("time")
    if isinstance(versions, str):  # a package with one version
        versions = [versions]
    if not isinstance(versions, list) or not isinstance(times, dict):
        raise SourceError(f"the npm registry states no versions of {name}, or not when they were published")
    final = [text for text in versions if re.fullmatch(r"\d+\.\d+\.\d+", text)]
    final.sort(key=lambda version: [int(part) for part in version.split(".")], reverse=True)
    others = [version for version in versions if version not in set(final)]
    return [Release(number, _time(times.get(number)), number not in others) for number in (*final, *others)]


def _time(stated: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(stated))
    except ValueError:
        return None


def licence(registry: Npm | PyPI, path: Path) -> str:
    """Return the stated licence of a fetched package, as an SPDX expression if possible; "" if none is stated.

    It is `license` of npm's package.json, or a wheel's `License-Expression`, else the licences of its classifiers.
    """
    if isinstance(registry, Npm):
        of_npm = parse_loose(_outermost(path, "package.json") or b"{}").get("license")
        return of_npm if isinstance(of_npm, str) else ""
    headers = HeaderParser().parsestr(_outermost(path, "METADATA", "PKG-INFO").decode("utf-8", "replace"))
    if stated := headers["License-Expression"]:
        return str(stated)
    classifiers = [
        classifier.rpartition(" :: ")[2]
        for classifier in headers.get_all("Classifier", [])
        if "License ::" in classifier
    ]
    return " AND ".join(_SPDX.get(classifier, classifier) for classifier in classifiers)


def _outermost(path: Path, *names: str) -> bytes:
    """Return the first file with one of these names in the outermost folder of an archive; nothing if there is none."""
    members = (member for member in read_archive(path) if member.path.partition("/")[2] in names)
    return next((member.read() for member in members), b"")
