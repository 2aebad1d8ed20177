"""Add other people's runs to a leaderboard: each is computed again here, and a record of the result is kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repoeval_bench.api.verification import verify
from repoeval_bench.core.errors import ResultError, of_each
from repoeval_bench.plugins.lab.verified import VerificationStatus, file_hashes, write_record
from repoeval_bench.runs.config import id_of
from repoeval_bench.runs.naming import check_finished, check_folder
from repoeval_bench.runs.parts import RESULTS, VERIFIED, shown_place
from repoeval_bench.runs.records import MANIFEST, METRICS
from repoeval_bench.runs.replay import code_named_by
from repoeval_bench.runs.results import differing, results_at
from repoeval_bench.runs.view import RunView

if TYPE_CHECKING:
    from repoeval_bench.analysis.verification import Verification

_SHOWN = 3


def check_folders(folders: Sequence[Path]) -> None:
    """Check all folders before the first is computed again.

    A UsageError names every folder that is no finished run, a ResultError the first that has files of no run.
    """
    of_each(check_finished, folders)
    for folder in folders:
        check_folder(RunView.open(folder))


def add_run(
    folder: Path,
    out: Path | str = RESULTS,
    *,
    source: str = "auto",
    questions: str | None = None,
    allowed: Collection[str] = (),
    home: Path | None = None,
) -> RunView:
    """Verify a run folder, copy it into `out` with a record beside it for `leaderboard`, and return the copy.

    `verify` computes the run again. An imported run, and one that names code or a server which is not `allowed`, cannot
    be computed again, and the record says so. `check_folders` may refuse the folder. ResultErrors: a run that is not
    what it claims or contradicts itself, and another run of the same id in `out`.
    """
    check_folders([folder])
    run = RunView.open(folder)
    results = results_at(out, home)
    results.fetch()
    stored = results.out / run.run_id
    if stored.is_dir() and (other := differing(folder, stored)):
        sentence = f"{shown_place(stored)} is another run of that id: {', '.join(other)} differ"
        raise ResultError(f"{sentence}; add it to another folder")
    # Hashed before the run is computed again, so that a file that changes meanwhile is noticed.
    sha256 = file_hashes(stored if stored.is_dir() else folder)
    reason, values = _cannot_be_computed(run, allowed), 0
    verification: dict[str, Any]
    if reason:
        if wrong := _contradictions(run):
            raise ResultError(f"{folder} contradicts itself: {'; '.join(wrong)}; nothing was added")
        verification = {"status": VerificationStatus.NOT_VERIFIED, "reason": reason}
    else:
        result = verify(run, source, questions=questions, allowed=allowed, home=home)
        if not result.holds:
            raise ResultError(f"{_refusal(result)}; nothing was added")
        values = sum(result.compared.values())
        verification = {"status": VerificationStatus.VERIFIED, "ranking": result.ranking, "reason": result.reason}
    # The record comes first: an added run without it would be taken for one that was made here.
    record = write_record(stored, **verification, values=values, sha256=sha256)
    results.write_object(f"{VERIFIED}/{record.name}", record.read_bytes())
    if not stored.is_dir():
        results.copy(folder)
    results.put(stored)
    return RunView(stored)


def _cannot_be_computed(run: RunView, allowed: Collection[str]) -> str:
    """Return why a run cannot be computed again; empty if it can."""
    config = run.manifest.config
    if config is None:
        return "it was imported, so no request and no data are known"
    if refused := [spec for spec in code_named_by(config) if spec not in allowed]:
        return f"it names code or a server from outside ({', '.join(refused)})"
    return ""


def _contradictions(run: RunView) -> list[str]:
    """Return the contradictions in a run; missing judgements, and means that do not fit scores, are a ResultError."""
    config, metrics, problems = run.manifest.config, run.metrics, []
    if config is not None:
        if run.manifest.completion is None and id_of(config) != run.run_id:
            problems.append(f"what {MANIFEST} asks has the id {id_of(config)}")
        requested = config.model_dump(include={"chunker", "embedder", "retriever", "k"})
        requested |= {"protocol": config.protocol.name, "fingerprint": config.fingerprint}
        stated = {
            **metrics.model_dump(),
            "fingerprint": metrics.dataset.fingerprint,
        }
        problems += [
            f"{name} is {requested[name]} in {MANIFEST} and {stated[name]} in {METRICS}"
            for name in requested
            if requested[name] != stated[name]
        ]
    run.qrels()
    measure = metrics.headline_measure or ""
    column = run.scores.values.get(measure)
    if column is not None and not measure.startswith("py:") and not ((column >= 0) & (column <= 1)).all():
        problems.append(f"{measure} is not between 0 and 1")
    return problems


def _refusal(verification: Verification) -> str:
    listed = [
        f"{difference.file} {difference.value} is {difference.claimed}, computed {difference.computed}"
        for difference in verification.differences[:_SHOWN]
    ]
    more = len(verification.differences) - len(listed)
    return (
        f"{verification.run_id} is not what it claims: {'; '.join(listed)}"
        + (f"; {more:,} more differences" if more else "")
        + f" (data: {verification.data}; verify lists all)"
    )
