"""Finished runs in a store at a URL: an object for each, put whole, so that nobody ever finds half of one there.

A run's folder is packed without compression of names or times, in the order of its files.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import error as ZlibError  # noqa: N812 - a class

from repoeval_bench.core.files import path_problem
from repoeval_bench.runs.publish import publish, staging
from repoeval_bench.runs.view import RunView, current_run

if TYPE_CHECKING:
    from pathlib import Path

    from repoeval_bench.core.object_store import ObjectStore

FOLDER = "runs"
"""Where in a store the runs are."""

_ENDING = ".zip"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Results:
    """Where runs are: a folder of this machine, and what is in a store that machines share, if there is one."""

    out: Path
    store: ObjectStore | None = None

    def find(self, run_id: str) -> RunView | None:
        """A run that exactly this code made, here or in the store; it is in both afterwards."""
        found = current_run(self.out / run_id)
        if self.store is None:
            return found
        if found is None:
            return current_run(self.out / run_id) if fetch_run(run_id, self.store, self.out) else None
        # Where it was cut off, the object has another length.
        put_run(found.folder, self.store, replace=False)
        return found

    def keep(self, made: Path) -> RunView:
        """Move a run's folder to its place, and put it into the store."""
        folder = publish(made, self.out)
        if self.store is not None:
            put_run(folder, self.store)
        return RunView(folder)

    def open(self, run_id: str) -> RunView:
        """A run that another machine may have made."""
        if self.store is not None and current_run(self.out / run_id) is None:
            fetch_run(run_id, self.store, self.out)
        return RunView(self.out / run_id)


def stored_ids(store: ObjectStore) -> list[str]:
    """The ids of the runs in a store, sorted."""
    names = store.names(FOLDER)
    return [name.removeprefix(f"{FOLDER}/").removesuffix(_ENDING) for name in names if name.endswith(_ENDING)]


def put_run(folder: Path, store: ObjectStore, *, replace: bool = True) -> None:
    """Put a run's folder into a store; without `replace`, an object of the same length is taken for this run."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            if path.is_file():
                entry = zipfile.ZipInfo(path.name, _LONG_AGO)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes())
    store.write(_name(folder.name), packed.getvalue(), replace=replace)


def fetch_run(run_id: str, store: ObjectStore, out: Path) -> bool:
    """Whether a run is in a store and whole; then its folder is in `out` in one step."""
    try:
        content = store.read(_name(run_id))
    except FileNotFoundError:
        return False
    if (files := _unpacked(content)) is None:
        return False
    with staging(out, run_id) as beside:
        made = beside / run_id
        made.mkdir()
        for name, held in files.items():
            (made / name).write_bytes(held)
        publish(made, out)
    return True


def _unpacked(content: bytes) -> dict[str, bytes] | None:
    """Name -> bytes of each file of a packed run; None where it is not one, whatever is wrong with it."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            if any("/" in name or path_problem(name) for name in names):
                return None
            return {name: archive.read(name) for name in names}
    except (zipfile.BadZipFile, EOFError, ZlibError, NotImplementedError, RuntimeError, OSError, ValueError, KeyError):
        return None


def _name(run_id: str) -> str:
    return f"{FOLDER}/{run_id}{_ENDING}"
