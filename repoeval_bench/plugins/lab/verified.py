"""Records of runs that others made and that were added to a folder: whether they could be computed again.

`verified/RUN_ID.json` lies beside the run folders, because a run's own files are its maker's word. It has the hash of
every file of the run from when it was computed again, so that a later change is noticed.
"""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Any

from repoeval_bench.analysis.verification import RankingStatus  # noqa: TC001 - pydantic reads it
from repoeval_bench.core.errors import ResultError
from repoeval_bench.core.files import sha256_file, write_named
from repoeval_bench.core.json_reader import faults_as, parse, read_document
from repoeval_bench.core.validation import Count  # noqa: TC001 - pydantic reads it
from repoeval_bench.core.words import few
from repoeval_bench.runs.parts import VERIFIED
from repoeval_bench.runs.provenance import code_state, versions
from repoeval_bench.runs.records import CodeState, Record

_SHOWN = 3


class VerificationStatus(StrEnum):
    """The status of an added run: computed again, not computable, or changed since."""

    VERIFIED = "verified"
    NOT_VERIFIED = "not verified"
    CHANGED = "changed"


class VerificationRecord(Record):
    """The content of verified/RUN_ID.json.

    `reason` says why a run could not be computed again, or why its stored ranking was used. `values` counts the values
    that were compared, by this `code` and these `versions`. `sha256` is file -> hash of every file of the folder.
    """

    run_id: str
    status: VerificationStatus
    ranking: RankingStatus | None = None
    reason: str = ""
    values: Count = 0
    code: CodeState
    versions: dict[str, str | None]
    sha256: dict[str, str]


def write_record(folder: Path, **fields: Any) -> Path:
    """Write the record of a run, which has these fields, beside its folder, and return its path."""
    record = VerificationRecord(run_id=folder.name, code=code_state(), versions=versions(), **fields)
    path = record_file(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_named(path, json.dumps(record.as_json(), indent=1) + "\n", "another folder with --out")
    return path


def record_file(folder: Path) -> Path:
    """Return the path of the record of a run's folder."""
    return folder.parent / VERIFIED / f"{folder.name}.json"


def verification_of(folder: Path) -> VerificationRecord | None:
    """Return the record of an added run, with the files that changed since as its reason; None for any other run."""
    path = record_file(folder)
    if not path.is_file():
        return None
    with faults_as(ResultError, path, "add the run again"):
        record = parse(read_document(path), VerificationRecord)
    if record.run_id != folder.name:
        raise ResultError(f"{path} is of the run {record.run_id}; add {folder.name} again")
    now = file_hashes(folder)
    if changed := sorted(name for name in {*record.sha256, *now} if record.sha256.get(name) != now.get(name)):
        why = few(changed, _SHOWN)
        return record.model_copy(update={"status": VerificationStatus.CHANGED, "ranking": None, "reason": why})
    return record


def file_hashes(folder: Path) -> dict[str, str]:
    """Return name -> SHA-256 of every file in a run's folder, or `link` or `not a file`."""
    return {
        path.name: "link" if path.is_symlink() else sha256_file(path) if path.is_file() else "not a file"
        for path in sorted(folder.iterdir())
    }
