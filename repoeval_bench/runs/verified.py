"""The mark of a run that came from elsewhere: whether it was computed again, and that it was not changed since."""

from __future__ import annotations

import json
from pathlib import Path

from repoeval_bench.core.errors import ResultError
from repoeval_bench.core.files import sha256_file, write_named
from repoeval_bench.core.json_reader import faults_as, parse, read_document
from repoeval_bench.core.validation import Count  # noqa: TC001 - pydantic reads it
from repoeval_bench.runs.provenance import code_state, versions
from repoeval_bench.runs.records import TIMINGS, VERIFIED, CodeState, Record


class Verified(Record):
    """The content of verified.json: whether a run from elsewhere was computed again when it was added, and by what.

    `reason` says why it could not be, "" where it was. `values` counts what was compared. `sha256` is file -> hash of
    every other file of the folder, so that a later change is noticed.
    """

    reason: str = ""
    values: Count = 0
    code: CodeState
    versions: dict[str, str | None]
    sha256: dict[str, str]


def mark(folder: Path, *, reason: str = "", values: int = 0) -> None:
    """Write the mark of a run that holds, or of one of which a `reason` says why it could not be computed again."""
    found = Verified(reason=reason, values=values, code=code_state(), versions=versions(), sha256=_hashes(folder))
    write_named(folder / VERIFIED, json.dumps(found.as_json(), indent=1) + "\n", "another folder with --out")


def mark_of(folder: Path) -> str:
    """`verified`, or `not verified: ` and why; empty for a run that was not added from elsewhere."""
    if not (folder / VERIFIED).is_file():
        return ""
    with faults_as(ResultError, folder / VERIFIED, "add the run again"):
        found = parse(read_document(folder / VERIFIED), Verified)
    if found.sha256 != (now := _hashes(folder)):
        changed = sorted(name for name in {*found.sha256, *now} if found.sha256.get(name) != now.get(name))
        return f"not verified: {', '.join(changed)} changed since the run was added"
    return f"not verified: {found.reason}" if found.reason else "verified"


def _hashes(folder: Path) -> dict[str, str]:
    names = sorted(path.name for path in folder.iterdir() if path.is_file())
    return {name: sha256_file(folder / name) for name in names if name not in {VERIFIED, TIMINGS}}
