"""Finished runs in a store at a URL: an object for each, written whole, so that no reader sees half of one.

An object that is broken, or has a run of other code, is replaced when the run is made again.
"""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import error as ZlibError  # noqa: N812 - a class

from repoeval_bench.core.errors import UsageError, os_errors_as
from repoeval_bench.core.files import path_problem, write_atomic
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.progress import progress
from repoeval_bench.plugins.cluster.object_store import ObjectStore
from repoeval_bench.runs.parts import OF_STORE, vectors_folder
from repoeval_bench.runs.records import MANIFEST
from repoeval_bench.runs.results import Results, publish, staging
from repoeval_bench.runs.view import RunView, current_run

if TYPE_CHECKING:
    from repoeval_bench.plugins.cluster.shared_cache import SharedVectorCache

FOLDER = "runs"
"""Folder of the runs in a store."""

# File in the cache folder of a store: run id -> state of the object when it was fetched.
_FETCHED = ".fetched"

_ENDING = ".zip"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can state


@dataclass(frozen=True, slots=True)
class StoredResults(Results):
    """A folder of this machine that is the cache of a store that machines share."""

    store: ObjectStore

    def find(self, run_id: str) -> RunView | None:
        """Return a run of exactly this code, from this folder or the store; afterwards it is in both."""
        run = current_run(self.out / run_id)
        if run is None:
            return current_run(self.out / run_id) if fetch_run(run_id, self.store, self.out) else None
        if not self.store.holds(_name(run_id)):
            self.put(run.folder)
        return run

    def open(self, run_id: str) -> RunView:
        """Return a run, from the store if it is not in this folder."""
        if current_run(self.out / run_id) is None:
            fetch_run(run_id, self.store, self.out)
        return RunView(self.out / run_id)

    def put(self, folder: Path) -> None:
        """Put a run's folder into the store, and replace an object of the same id."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.iterdir()):
                if path.is_file():
                    entry = zipfile.ZipInfo(path.name, _LONG_AGO)
                    entry.compress_type = zipfile.ZIP_DEFLATED
                    archive.writestr(entry, path.read_bytes())
        self.store.write(_name(folder.name), packed.getvalue(), replace=True)

    def read(self) -> None:
        """Fetch runs to read them only; a UsageError if the store holds none."""
        self.fetch()
        if not any(self.out.glob(f"[!.]*/{MANIFEST}")):
            raise UsageError(f"{self.store.url} holds no runs; make some with --out {self.store.url}")

    def check_writable(self) -> None:
        """Raise a StoreError unless objects can be put into the store."""
        self.store.check_writable()

    def vectors(self, home: Path | None) -> SharedVectorCache:
        """The vector cache in `home` in front of the vectors of the store."""
        from repoeval_bench.plugins.cluster.shared_cache import SharedVectorCache  # opens the database

        return SharedVectorCache(vectors_folder(home), self.store)

    def fetch(self) -> None:
        """Copy the store's runs here, and delete fetched ones that it has no more; a notice names the broken ones."""
        before, states = self._fetched(), run_states(self.store)
        for run_id in before.keys() - states.keys():
            shutil.rmtree(self.out / run_id, ignore_errors=True)
        current = {
            run_id
            for run_id, state in before.items()
            if state == states.get(run_id) and (self.out / run_id / MANIFEST).is_file()
        }
        missing = sorted(states.keys() - current)
        broken = []
        try:
            for run_id in progress(missing, desc="fetch runs", unit="runs"):
                if fetch_run(run_id, self.store, self.out):
                    current.add(run_id)
                else:
                    broken.append(run_id)
        finally:
            write_atomic(self.out / _FETCHED, json.dumps({run_id: states[run_id] for run_id in sorted(current)}))
        if broken:
            NOTICES.info(
                f"note: {self.store.url} holds broken runs: {', '.join(broken)}; delete them there, and make them again"
            )

    def _fetched(self) -> dict[str, str]:
        """Return run id -> state when it was fetched; empty if this is not known."""
        try:
            states: dict[str, str] = json.loads((self.out / _FETCHED).read_bytes())
        except (OSError, ValueError):
            return {}
        return states


def results_of_store(url: str, folder: Path) -> StoredResults:
    """Return the results of a store, and mark a folder as their cache; a UsageError if either cannot be used."""
    results = StoredResults(folder, ObjectStore(url))
    with os_errors_as(UsageError, f"{folder}, in which {url} is cached, cannot be written", "choose another --home"):
        if not (folder / OF_STORE).is_file():
            write_atomic(folder / OF_STORE, url + "\n")
    return results


def run_states(store: ObjectStore) -> dict[str, str]:
    """Return run id -> state of its object in a store, sorted; see `ObjectStore.states`."""
    states = sorted(store.states(FOLDER).items())
    return {
        name.removeprefix(f"{FOLDER}/").removesuffix(_ENDING): state for name, state in states if name.endswith(_ENDING)
    }


def fetch_run(run_id: str, store: ObjectStore, out: Path) -> bool:
    """Fetch a run's folder into `out` in one step; return whether the store has the run, and has it whole."""
    try:
        # Objects in deeper folders are no runs.
        files = None if "/" in run_id else _unpacked(store.read(_name(run_id)))
    except FileNotFoundError:
        return False
    if files is None:
        return False
    with staging(out, run_id) as parent:
        folder = parent / run_id
        folder.mkdir()
        for name, content in files.items():
            (folder / name).write_bytes(content)
        publish(folder, out)
    return True


def _unpacked(content: bytes) -> dict[str, bytes] | None:
    """Name -> bytes of each file of a packed run; None if the content is not a sound one."""
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
