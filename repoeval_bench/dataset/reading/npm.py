"""A source that is a package of npm: its published tarball, through npm, so that its registry, proxy and keys are used.

`npm pack` of a published version fetches and does not run anything; the tarball is checked against the integrity that
the registry states.
"""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from repoeval_bench.core.json_reader import JsonFaultError, parse_loose
from repoeval_bench.dataset.reading.origin import Origin, checked_hash, of_archive, repository_name
from repoeval_bench.dataset.sources import SourceError
from repoeval_bench.dataset.sources.index_client import TamperedError

LONGEST = 1800.0
"""The most seconds to fetch a package."""

_OPTIONS = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--json")


class Npm:
    """The registry of npm's settings; see `registries`."""

    form, example = "npm:NAME@VERSION", "npm:zod@3.23.8"
    spec = re.compile(
        r"(?P<name>(?:@[a-z0-9~-][\w.~-]*/)?[a-z0-9~-][\w.~-]*)@(?P<version>\d+\.\d+\.\d+[\w.+-]*)", re.IGNORECASE
    )

    def open_release(self, name: str, version: str, work: Path, pinned: Mapping[str, Any] | None = None) -> Origin:
        """The tarball of a version; one that is not pinned is checked against the integrity the registry states."""
        text = f"{name}@{version}"
        dist: dict[str, Any] = {}
        licence = None
        if not pinned:
            stated = ask_npm("view", text, "name", "version", "license", "dist", of=text)
            dist, licence = stated.get("dist") or {}, stated.get("license")
            if not isinstance(dist, dict) or not dist:
                raise SourceError(f"the npm registry states nothing of {text} that could be fetched")
        before = set(work.iterdir())
        ask_npm("pack", text, f"--pack-destination={work}", of=text)
        (path,) = set(work.iterdir()) - before
        integrity = str(dist.get("integrity") or "")
        if not pinned:
            _verify(path, text, integrity, str(dist.get("shasum") or ""))
        origin = of_archive(
            path,
            repository_name(f"{name.lstrip('@').replace('/', '_')}-{version}"),
            {
                "kind": "npm",
                "package": name,
                "version": version,
                "sha256": checked_hash(path, pinned),
                "integrity": integrity,
            },
            licence if isinstance(licence, str) else "",
        )
        return origin if pinned else _without_declarations(origin)


def _without_declarations(origin: Origin) -> Origin:
    """The package without declarations outside of the outermost folders with TypeScript: a compiler wrote them of it.

    Where a package has no TypeScript but declarations, they are its own as far as anyone can tell.
    """
    scripts = {path for path in origin.paths if re.search(r"\.[cm]?tsx?$", path)}
    declarations = {path for path in scripts if re.search(r"\.d\.[cm]?ts$", path)}
    tops = {path.partition("/")[0] for path in scripts - declarations}
    compiled = {path for path in declarations if tops and path.partition("/")[0] not in tops}
    return replace(
        origin,
        entries=lambda: (entry for entry in origin.entries() if entry.path not in compiled),
        skipped=Counter(origin.skipped) + Counter({"generated": len(compiled)}),
    )


def _verify(path: Path, package: str, integrity: str, shasum: str) -> None:
    """A TamperedError unless the tarball has the strongest hash that the registry states."""
    raw = path.read_bytes()
    stated = dict(hash_.partition("-")[::2] for hash_ in integrity.split())
    for algorithm in ("sha512", "sha384", "sha256", "sha1"):
        if algorithm in stated:
            digest = base64.b64encode(hashlib.new(algorithm, raw, usedforsecurity=False).digest()).decode()
            right = digest == stated[algorithm].partition("?")[0]
            break
    else:
        right = hashlib.sha1(raw, usedforsecurity=False).hexdigest() == shasum
    if not right:
        raise TamperedError(f"the tarball of {package} does not have the hash that the npm registry states; try again")


def ask_npm(*arguments: str, of: str) -> dict[str, Any]:
    """Return what npm answers of a package as JSON; a SourceError where it fails."""
    try:
        done = subprocess.run(
            ["npm", *arguments, *_OPTIONS],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError as error:
        raise SourceError(
            f"npm is not installed, so {of} cannot be fetched; install it, or name the tarball that you have downloaded"
        ) from error
    try:
        answer = parse_loose(done.stdout or "{}")
    except JsonFaultError:
        answer = {}
    if isinstance(answer, list):  # several versions, or several tarballs
        answer = answer[-1] if answer else {}
    answer = answer if isinstance(answer, dict) else {}
    problem = answer.get("error")
    problem = problem if isinstance(problem, dict | None) else {"summary": str(problem)}
    if done.returncode != 0 or problem or not answer:
        code = (problem or {}).get("code", "")
        if code in {"E404", "ETARGET"} or (done.returncode == 0 and not answer):
            name, _, version = of.rpartition("@")
            package = f"{name} in version {version}" if name else of
            raise SourceError(f"the npm registry has no package {package}")
        if code == "EINTEGRITY":
            raise TamperedError(f"the tarball of {of} does not have the hash that the npm registry states; try again")
        reason = (problem or {}).get("summary") or next(iter(done.stderr.splitlines()), "it gave no reason")
        raise SourceError(f"npm could not fetch {of} ({reason.strip().splitlines()[0].rstrip('.')})")
    return answer
