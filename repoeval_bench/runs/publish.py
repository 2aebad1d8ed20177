"""Bringing a finished run into a folder of runs in one step, so that nobody ever finds half of one there.

A run is written beside its place, whole, and renamed. Where two make the same run at once, the first to finish stays.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

from repoeval_bench.core.errors import ResultError, os_errors_as
from repoeval_bench.core.files import folder_beside
from repoeval_bench.core.json_reader import opened
from repoeval_bench.runs.records import MANIFEST, TIMINGS

_TIMES = 10
"""How often a run is put where another process is replacing the same one."""


@contextmanager
def staging(out: Path, name: str) -> Iterator[Path]:
    """A folder beside the runs in `out`, removed at the end, in which a run of this name can be made."""
    with ExitStack() as stack:
        with writing_to(out):
            folder = stack.enter_context(folder_beside(out / name))
        yield folder


def publish(folder: Path, out: Path) -> Path:
    """Move a run's folder into `out`; where the same run is there already, that one stays. The run's folder there.

    A folder that is there and is not this run, such as the rest of an interrupted one, is replaced.
    """
    target = out / folder.name
    with writing_to(out):
        for _ in range(_TIMES):
            if _moved(folder, target) or ((target / MANIFEST).is_file() and not differing(folder, target)):
                return target
            # Renamed first: what is deleted file by file could be taken for a run meanwhile.
            old = folder.parent / "replaced"
            with suppress(FileNotFoundError):  # another process has replaced it at the same moment
                target.rename(old)
                shutil.rmtree(old)
    raise ResultError(f"{target} is replaced by another process all the time; run the same command again")


def _moved(folder: Path, target: Path) -> bool:
    """Rename the folder and return True, or False where there is one already."""
    try:
        folder.rename(target)
    except OSError:
        if not target.is_dir():
            raise
        return False
    return True


def writing_to(out: Path) -> AbstractContextManager[None]:
    """Within the block an error of the system is a ResultError: the results folder cannot be written."""
    return os_errors_as(ResultError, f"the results folder {out} cannot be written", "choose another with --out")


def differing(first: Path, second: Path) -> list[str]:
    """The names of the files in which two run folders differ, times apart."""
    names = {path.name for folder in (first, second) for path in folder.iterdir() if path.is_file()}
    return sorted(name for name in names - {TIMINGS} if _content(first / name) != _content(second / name))


def _content(path: Path) -> object:
    """Return the unpacked bytes of a file, or a manifest without its time; None of a missing or broken one."""
    try:
        with opened(path) as stream:  # another library packs the same text in other bytes
            content = stream.read()
        if path.name != MANIFEST:
            return content
        return {key: value for key, value in json.loads(content).items() if key != "created"}
    except (OSError, ValueError, AttributeError):
        return None
