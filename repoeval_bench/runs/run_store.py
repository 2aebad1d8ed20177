"""Finished runs in a store at a URL: an object for each, put whole, so that nobody ever finds half of one there.

A run's folder is packed without the times of its files, in the order of their names. An object that is this run stays
as it is; one that was cut off, is broken, or is a run of other code is replaced.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import error as ZlibError  # noqa: N812 - a class

from repoeval_bench.core.files import path_problem
from repoeval_bench.runs.publish import differing, publish, staging
from repoeval_bench.runs.view import RunView, current_run

if TYPE_CHECKING:
    from repoeval_bench.core.object_store import ObjectStore

FOLDER = "runs"
"""Where in a store the runs are."""

_ENDING = ".zip"
_END, _END_BYTES = b"PK\x05\x06", 22  # how the last record of an archive without a comment begins, and its length
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
        if not _ends(run_id, self.store):
            put_run(found.folder, self.store)
        return found

    def keep(self, made: Path) -> RunView:
        """Move a run's folder to its place, and put it into the store."""
        folder = publish(made, self.out)
        if self.store is not None and not _holds(self.store, folder):
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


def put_run(folder: Path, store: ObjectStore) -> None:
    """Put a run's folder into a store; what is there under its id is replaced."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            if path.is_file():
                entry = zipfile.ZipInfo(path.name, _LONG_AGO)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes())
    store.write(_name(folder.name), packed.getvalue(), replace=True)


def fetch_run(run_id: str, store: ObjectStore, out: Path) -> bool:
    """Whether a run is in a store and whole; then its folder is in `out` in one step."""
    with _fetched(run_id, store, out) as made:
        if made is not None:
            publish(made, out)
        return made is not None


@contextmanager
def _fetched(run_id: str, store: ObjectStore, out: Path) -> Iterator[Path | None]:
    """The folder of a run of a store, beside the runs in `out`; None where none is in the store, or a broken one."""
    try:
        files = _unpacked(store.read(_name(run_id)))
    except FileNotFoundError:
        files = None
    if files is None:
        yield None
        return
    with staging(out, run_id) as beside:
        made = beside / run_id
        made.mkdir()
        for name, held in files.items():
            (made / name).write_bytes(held)
        yield made


def _holds(store: ObjectStore, folder: Path) -> bool:
    """Whether a store holds the run in a folder, times apart; the object is read."""
    with _fetched(folder.name, store, folder.parent) as made:
        return made is not None and not differing(folder, made)


def _ends(run_id: str, store: ObjectStore) -> bool:
    """Whether a run's object is in a store and has the end of an archive, which one that was cut off lacks."""
    try:
        return store.tail(_name(run_id), _END_BYTES).startswith(_END)
    except FileNotFoundError:
        return False


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
