"""A run from elsewhere on one's own leaderboard: computed again from its ranking, and marked where it could not be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path

from repoeval_bench.analysis.verification import Verification, verify
from repoeval_bench.core.errors import ResultError, of_each
from repoeval_bench.runs.naming import check_finished
from repoeval_bench.runs.parts import RESULTS, shown_place, silent
from repoeval_bench.runs.publish import differing
from repoeval_bench.runs.records import VERIFIED
from repoeval_bench.runs.replay import code_named_by
from repoeval_bench.runs.run_store import Results
from repoeval_bench.runs.verified import mark
from repoeval_bench.runs.view import RunView

_SHOWN = 3


def check_folders(folders: Sequence[Path]) -> None:
    """A UsageError with every folder that holds no finished run, before the first is computed again."""
    of_each(check_finished, folders)


def add_run(
    folder: Path,
    out: Path | str = RESULTS,
    *,
    source: str = "auto",
    questions: str | None = None,
    allowed: Collection[str] = (),
    home: Path | None = None,
    notify: Callable[[str], None] = silent,
) -> RunView:
    """Verify a run folder, copy it into `out` with a mark, for `leaderboard` to show; the run there.

    It is `verify` that computes. An imported run, and one that names code or a server which is not `allowed`, cannot be
    computed again: it is marked with that. Nothing is copied where the folder holds no run (a UsageError), and with
    a ResultError where the run is not what it claims or `out` holds another one of its id.
    """
    check_finished(folder)
    run = RunView.open(folder)
    if run.manifest.run_id != run.run_id:
        raise ResultError(f"{folder} holds the run {run.manifest.run_id}; give the folder that name")
    results = Results.at(out, home)
    results.fetch(notify)
    place = results.out / run.run_id
    if place.is_dir() and (other := [name for name in differing(folder, place) if name != VERIFIED]):
        told = f"{shown_place(place)} is another run of that id: {', '.join(other)} differ"
        raise ResultError(f"{told}; add it to another folder")
    reason, values = _cannot_be_computed(run, allowed), 0
    if not reason:
        found = verify(run, source, questions=questions, allowed=allowed, home=home, notify=notify)
        if not found.holds:
            raise ResultError(f"{_refusal(found)}; nothing was added")
        values = sum(found.compared.values())
    marked = partial(mark, reason=reason, values=values)
    if not place.is_dir():
        return results.copy(folder, marked)
    marked(place)
    results.put(place)
    return RunView(place)


def _cannot_be_computed(run: RunView, allowed: Collection[str]) -> str:
    """Why a run cannot be computed again; empty where it can."""
    config = run.manifest.config
    if config is None:
        return "it was imported, so no request and no data are known"
    if refused := [spec for spec in code_named_by(config) if spec not in allowed]:
        return f"it names code or a server from outside ({', '.join(refused)})"
    return ""


def _refusal(found: Verification) -> str:
    listed = [
        f"{each.file} {each.value} is {each.claimed}, computed {each.computed}" for each in found.differences[:_SHOWN]
    ]
    more = len(found.differences) - len(listed)
    return (
        f"{found.run_id} is not what it claims: {'; '.join(listed)}"
        + (f"; {more:,} more differences" if more else "")
        + f" (data: {found.data}; verify lists all)"
    )
