"""Remove runs, and the packs that were built for them, from a folder of results, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.files import folder_beside, is_temporary
from repoeval_bench.core.words import few
from repoeval_bench.dataset.pack import MANIFEST as PACK
from repoeval_bench.runs.naming import COMPARED, OWN, RECOMMENDED, find_runs, stored_runs, unfinished_runs
from repoeval_bench.runs.parts import PACKS, store_url
from repoeval_bench.runs.results import writing_to

ALL, UNFINISHED = "all", "unfinished"
"""Names of all runs with the packs that `recommend` built, and of the runs that no command can read."""

_SHOWN = 3


def prunable(out: Path, names: Sequence[str]) -> list[Path]:
    """Return the folders in `out` that the names stand for: `all`, `unfinished`, or a run's name; each once.

    UsageError if a run is not in `out`, if one contains other files, or if `out` is the cache of a store.
    """
    if url := store_url(out):
        raise UsageError(f"{out} is the cache of {url}, from which runs would come back; delete them there")
    folders = list(dict.fromkeys(folder for name in names for folder in _named(out, name)))
    for folder in folders:
        _check(folder, out)
    return folders


def remove(folders: Sequence[Path], out: Path) -> None:
    """Remove folders of `prunable`, each in one step, so that a half-removed one is never taken for a run.

    The names of the runs that were compared last, and their recommendation, are removed too if a run of `out` is.
    """
    with writing_to(out):
        for folder in folders:
            with folder_beside(folder) as aside:
                folder.rename(aside / folder.name)
        if any(folder.parent == out for folder in folders):
            for name in (COMPARED, RECOMMENDED):
                (out / name).unlink(missing_ok=True)


def _named(out: Path, name: str) -> Iterator[Path]:
    if name in (ALL, UNFINISHED):
        stored = stored_runs(out) if name == ALL else []
        yield from (out / run_id for run_id in sorted({run.run_id for run in stored} | unfinished_runs(out).keys()))
        if name == ALL:
            yield from sorted(path.parent for path in (out / PACKS).glob(f"*/{PACK}"))
        return
    yield from (run.folder for run in find_runs([name], out))


def _check(folder: Path, out: Path) -> None:
    """Raise a UsageError unless a folder is a run of `out`, or a pack that was built there, and nothing else."""
    if folder.parent == out / PACKS:
        return
    if folder.parent.resolve() != out.resolve():
        raise UsageError(f"{folder} is not in {out}; name the folder that it is in with --out")
    if folder.is_symlink():
        raise UsageError(f"{folder} is a link and not the folder of a run; remove it yourself")
    if other := sorted(path.name for path in folder.iterdir() if not _is_own(path)):
        raise UsageError(f"{folder} has files that no run has: {few(other, _SHOWN)}; move it out of the folder")


def _is_own(path: Path) -> bool:
    return not path.is_symlink() and path.is_file() and (path.name in OWN or is_temporary(path.name, OWN))
