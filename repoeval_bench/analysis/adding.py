"""A run from elsewhere on one's own leaderboard: computed again from its ranking, and marked where it could not be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path

from repoeval_bench.analysis.verification import Verification, verify
from repoeval_bench.core.errors import ResultError, UsageError, of_each
from repoeval_bench.core.words import few
from repoeval_bench.retrieval.expansion import NOTHING
from repoeval_bench.runs.config import id_of
from repoeval_bench.runs.inspection import CHUNKS, QUERIES, SOURCES
from repoeval_bench.runs.naming import check_finished
from repoeval_bench.runs.parts import RESULTS, shown_place, silent
from repoeval_bench.runs.publish import differing
from repoeval_bench.runs.records import MANIFEST, METRICS, PER_QUERY, QRELS, RETRIEVED, RUN, TIMINGS, VERIFIED
from repoeval_bench.runs.replay import code_named_by
from repoeval_bench.runs.row_records import COMPLETIONS
from repoeval_bench.runs.run_store import Results
from repoeval_bench.runs.verified import mark
from repoeval_bench.runs.view import RunView

_SHOWN = 3

_OWN = {
    *(MANIFEST, METRICS, PER_QUERY, RUN, QRELS, RETRIEVED, TIMINGS, VERIFIED),
    *(SOURCES, CHUNKS, QUERIES, COMPLETIONS),
}
"""The files that a run's folder may hold."""


def check_folders(folders: Sequence[Path]) -> None:
    """A UsageError with every folder that is not a finished run alone, before the first is computed again."""
    of_each(_check_folder, folders)


def _check_folder(folder: Path) -> None:
    """Nothing but a run's own files is copied: a link could name any file of whoever adds the run."""
    check_finished(folder)
    other = sorted(p.name for p in folder.iterdir() if p.name not in _OWN or p.is_symlink() or not p.is_file())
    if other:
        listed = few(other, _SHOWN)
        raise UsageError(f"{folder} holds files, folders or links that no run has: {listed}; move them out of it")


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
    computed again: it is marked with that. Nothing is copied where the folder is not a run and nothing else (a
    UsageError), and with a ResultError where the run is not what it claims, contradicts itself, or `out` holds another
    one of its id.
    """
    _check_folder(folder)
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
    if reason:
        if wrong := _contradictions(run):
            raise ResultError(f"{folder} contradicts itself: {'; '.join(wrong)}; nothing was added")
    else:
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


def _contradictions(run: RunView) -> list[str]:
    """What a run says twice and not alike; scores whose means are others, or without judgements, are a ResultError."""
    config, metrics, found = run.manifest.config, run.metrics, []
    if config is not None:
        if run.manifest.completion is None and id_of(config) != run.run_id:
            found.append(f"what {MANIFEST} asks has the id {id_of(config)}")
        asked = config.model_dump(include={"chunker", "embedder", "retriever", "k", "expand"})
        asked |= {"protocol": config.protocol.name, "fingerprint": config.fingerprint}
        stated = {
            **metrics.model_dump(),
            "expand": metrics.expand or NOTHING,
            "fingerprint": metrics.dataset.fingerprint,
        }
        found += [
            f"{name} is {asked[name]} in {MANIFEST} and {stated[name]} in {METRICS}"
            for name in asked
            if asked[name] != stated[name]
        ]
    run.qrels()
    measure = metrics.headline_measure or ""
    column = run.scores.values.get(measure)
    if column is not None and not measure.startswith("py:") and not ((column >= 0) & (column <= 1)).all():
        found.append(f"{measure} is not between 0 and 1")
    return found


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
