"""Folders of runs brought together: each run is read whole first, and two of one name must be the same run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from repoeval_bench.core.errors import BenchError, ResultError, UsageError
from repoeval_bench.plugins.cluster.object_store import ObjectStore
from repoeval_bench.plugins.cluster.run_store import fetch_run, folder_of_runs, run_states
from repoeval_bench.runs.parts import is_url
from repoeval_bench.runs.records import MANIFEST
from repoeval_bench.runs.results import differing, results_at, staging
from repoeval_bench.runs.view import RunView


@dataclass(frozen=True, slots=True)
class Merged:
    """Ids of the runs that were copied, of those that were there already, and folders that hold no finished run."""

    copied: tuple[str, ...]
    there: tuple[str, ...]
    unfinished: tuple[str, ...]


def merge_all(sources: Sequence[str], out: Path) -> Merged:
    """`cluster merge` of folders and of stores at a URL; each run of a store is fetched first."""
    with ExitStack() as stack:
        folders = []
        for source in sources:
            folder = Path(source)
            if is_url(source):
                folder = stack.enter_context(staging(out, "fetched"))
                store = ObjectStore(source)
                in_store = run_states(store)
                if not in_store:
                    instead = folder_of_runs(source) or "a store that --out has written"
                    raise UsageError(f"{source} holds no runs of a store; name {instead}")
                lost = [run_id for run_id in in_store if not fetch_run(run_id, store, folder)]
                if lost:
                    raise ResultError(
                        f"{source} holds broken runs: {', '.join(lost)}; delete them there, and make them again"
                    )
            folders.append(folder)
        return merge(folders, out)


def merge(folders: Sequence[Path], out: Path) -> Merged:
    """Copy the runs of `folders` into `out`; nothing is copied where a run is broken or two of one name differ.

    A folder that is not there is a UsageError; broken and differing runs are one ResultError that names all of them.
    """
    missing = [str(folder) for folder in folders if not folder.is_dir()]
    if missing:
        raise UsageError(f"{', '.join(missing)}: no such folder; name folders of runs")
    by_id: dict[str, Path] = {path.name: path for path in _runs(out)} if out.is_dir() else {}
    new: dict[str, Path] = {}
    there: dict[str, None] = {}
    wrong: list[str] = []
    for run in (run for folder in folders for run in _runs(folder)):
        other = by_id.setdefault(run.name, run)
        if other is run:
            wrong += _faults(run)
            new[run.name] = run
        elif files := differing(run, other):
            wrong.append(f"{run} and {other} have one id and differ in {', '.join(files)}")
        elif run.name not in new:
            there[run.name] = None
    if not by_id:
        raise UsageError(f"{', '.join(map(str, folders))}: no finished run is there; name folders of runs")
    if wrong:
        raise ResultError("nothing was merged:\n  " + "\n  ".join(wrong))
    results = results_at(out)
    for run in new.values():
        results.copy(run)
    left = (path for folder in folders for path in sorted(folder.iterdir()) if path.is_dir() and _unfinished(path))
    return Merged(tuple(new), tuple(there), tuple(map(str, left)))


def _runs(folder: Path) -> Iterator[Path]:
    return (path.parent for path in sorted(folder.glob(f"*/{MANIFEST}")))


def _unfinished(folder: Path) -> bool:
    """Tell whether a folder has files of a run and no manifest: a run that was never finished."""
    return not (folder / MANIFEST).is_file() and any(folder.glob("*.trec"))


def _faults(folder: Path) -> Iterator[str]:
    """Return the problems of a run; every file is read."""
    try:
        run = RunView.open(folder)
        if run.manifest.run_id != folder.name:
            yield f"{folder} holds the run {run.manifest.run_id}"
        _ = run.scores, run.timings, run.inspection, run.qrels(), run.rankings()
        for _ in run.log_rows():
            pass
    except BenchError as error:
        yield str(error)
