"""A source that is a package of npm: its published tarball, through npm, so that its registry, proxy and keys are used.

`npm pack` of a published version fetches and does not run anything; the tarball is held against the integrity that
the registry states.
"""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.errors import DatasetError, UsageError
from repoeval_bench.core.files import sha256_file
from repoeval_bench.core.http_reader import LONGEST
from repoeval_bench.core.json_reader import JsonFaultError, parse_loose
from repoeval_bench.dataset.build.archived import of_archive
from repoeval_bench.dataset.build.origin import Origin, repository_name

if TYPE_CHECKING:
    from pathlib import Path

_SPEC = re.compile(
    r"(?P<name>(?:@[a-z0-9~-][\w.~-]*/)?[a-z0-9~-][\w.~-]*)@(?P<version>\d+\.\d+\.\d+[\w.+-]*)", re.IGNORECASE
)
_OPTIONS = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--json")


def open_package(text: str, work: Path) -> Origin:
    """The package `NAME@VERSION`, fetched into the folder `work`.

    UsageError: it is not written so. DatasetError: npm is not installed, has no such package, takes too long, or its
    bytes are not those that the registry states.
    """
    found = _SPEC.fullmatch(text)
    if found is None:
        raise UsageError(f"the source 'npm:{text}' is not of the form npm:NAME@VERSION, such as npm:zod@3.23.8")
    stated: dict[str, Any] = _npm("view", text, "name", "version", "license", "dist", of=text)
    dist = stated.get("dist")
    if not isinstance(dist, dict):
        raise DatasetError(f"the npm registry states nothing of {text} that could be fetched")
    before = set(work.iterdir())
    _npm("pack", text, f"--pack-destination={work}", of=text)
    (path,) = set(work.iterdir()) - before
    integrity = str(dist.get("integrity") or "")
    _verify(path, text, integrity, str(dist.get("shasum") or ""))
    licence = stated.get("license")
    return of_archive(
        path,
        repository_name(f"{found['name'].lstrip('@').replace('/', '_')}-{found['version']}"),
        {
            "kind": "npm",
            "package": found["name"],
            "version": found["version"],
            "sha256": sha256_file(path),
            "integrity": integrity,
        },
        licence if isinstance(licence, str) else "",
    )


def _verify(path: Path, package: str, integrity: str, shasum: str) -> None:
    """A DatasetError unless the tarball has the strongest hash that the registry states."""
    raw = path.read_bytes()
    stated = dict(each.partition("-")[::2] for each in integrity.split())
    for algorithm in ("sha512", "sha384", "sha256", "sha1"):
        if algorithm in stated:
            digest = base64.b64encode(hashlib.new(algorithm, raw, usedforsecurity=False).digest()).decode()
            right = digest == stated[algorithm].partition("?")[0]
            break
    else:
        right = hashlib.sha1(raw, usedforsecurity=False).hexdigest() == shasum
    if not right:
        raise DatasetError(f"the tarball of {package} does not have the hash that the npm registry states; try again")


def _npm(*arguments: str, of: str) -> dict[str, Any]:
    try:
        done = subprocess.run(
            ["npm", *arguments, *_OPTIONS],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired as error:
        raise DatasetError(
            f"npm fetched no {of} within {LONGEST:g} seconds; try again, or name the tarball that you have downloaded"
        ) from error
    except FileNotFoundError as error:
        raise DatasetError(
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
            raise DatasetError(f"the npm registry has no package {name} in version {version}")
        reason = (problem or {}).get("summary") or next(iter(done.stderr.splitlines()), "it gave no reason")
        raise DatasetError(f"npm could not fetch {of} ({reason.strip().splitlines()[0].rstrip('.')})")
    return answer
