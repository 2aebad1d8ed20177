"""A source that is a package of npm: its published tarball, through npm, so that its registry, proxy and keys are used.

`npm pack` of a published version fetches and does not run anything. npm checks the tarball against the integrity that
the registry states.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from repoeval_bench.core.json_reader import JsonFaultError, parse_loose
from repoeval_bench.dataset.archives import read_archive
from repoeval_bench.dataset.reading.origin import MAX_UNPACKED, Origin, checked_hash, of_archive, repository_name
from repoeval_bench.dataset.sources import SourceError
from repoeval_bench.dataset.sources.index_client import TamperedError

_OPTIONS = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--json")


class Npm:
    """The registry of npm's settings; see `opening`."""

    form, example = "npm:NAME@VERSION", "npm:zod@3.23.8"
    spec = re.compile(
        r"(?P<name>(?:@[a-z0-9~-][\w.~-]*/)?[a-z0-9~-][\w.~-]*)@(?P<version>\d+\.\d+\.\d+[\w.+-]*)", re.IGNORECASE
    )

    def open_release(self, name: str, version: str, work: Path, pinned: Mapping[str, Any] | None = None) -> Origin:
        """The tarball of a version, whose hash npm checks against the registry's."""
        before = set(work.iterdir())
        packed = ask_npm("pack", f"{name}@{version}", f"--pack-destination={work}", of=f"{name}@{version}")
        (path,) = set(work.iterdir()) - before
        origin = of_archive(
            path,
            repository_name(f"{name.lstrip('@').replace('/', '_')}-{version}"),
            {
                "kind": "npm",
                "package": name,
                "version": version,
                "sha256": checked_hash(path, pinned),
                "integrity": str(packed.get("integrity", "")),
            },
            stated_licence(path),
        )
        return origin if pinned else _without_declarations(origin)


def stated_licence(path: Path) -> str:
    """Return the `license` of the package.json in a tarball; "" where none is stated, or not as a text."""
    for member in read_archive(path, max_unpacked=MAX_UNPACKED):
        if member.path.partition("/")[2] == "package.json":
            try:
                stated = parse_loose(member.read())
            except JsonFaultError:
                return ""
            named = stated.get("license") if isinstance(stated, dict) else None
            return named if isinstance(named, str) else ""
    return ""


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


def ask_npm(*arguments: str, of: str) -> dict[str, Any]:
    """Return what npm answers of a package as JSON; a SourceError where it fails."""
    command = ["npm", *arguments, *_OPTIONS]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise SourceError(
            f"npm is not installed, so {of} cannot be fetched; install it, or name the tarball that you have downloaded"
        ) from error
    try:
        answers = parse_loose(done.stdout or b"{}")
    except JsonFaultError:
        answers = {}
    answer = answers[-1] if isinstance(answers, list) and answers else answers  # several versions or tarballs
    if not answer or "error" in answer:
        problem = dict((answer or {}).get("error", {}))
        kind = TamperedError if problem.get("code") == "EINTEGRITY" else SourceError
        reason = problem.get("summary") or done.stderr.decode("utf-8", "replace") or "the registry has no such version"
        raise kind(f"npm could not fetch {of} ({reason.strip().splitlines()[0].rstrip('.')})")
    return dict(answer)
