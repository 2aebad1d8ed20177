"""Folders of runs: on this machine alone, or as the cache of a store that machines share, which a plug-in provides.

If two processes make the same run at once, the first to finish stays.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import ResultError, UsageError, os_errors_as
from repoeval_bench.core.files import folder_beside, share_bytes, short_hash, slug
from repoeval_bench.core.json_reader import opened
from repoeval_bench.core.registry import extension
from repoeval_bench.dataset.home import data_home
from repoeval_bench.runs.inspection import QUERIES, SOURCES
from repoeval_bench.runs.parts import is_url, store_url
from repoeval_bench.runs.records import MANIFEST, TIMINGS
from repoeval_bench.runs.view import RunView, current_run

if TYPE_CHECKING:
    from repoeval_bench.embedding.storage import VectorCache

STORES = "repoeval_bench.stores"
"""The group of entry points with a function `url`: (URL of a store, folder of its cache) -> its `Results`."""

# The most characters of a URL in the name of its folder, as names of files have a limit.
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Results:
    """The runs of a folder. The methods for a store do nothing here; a plug-in overrides them."""

    out: Path

    def find(self, run_id: str) -> RunView | None:
        """Return a run that exactly this code made; None if there is none."""
        return current_run(self.out / run_id)

    def open(self, run_id: str) -> RunView:
        """Return a run that another process, or another machine, has made."""
        return RunView(self.out / run_id)

    def keep(self, folder: Path) -> RunView:
        """Move a run's folder to its place, and share it; files that other runs have too are stored once."""
        for name in (SOURCES, QUERIES):
            share_bytes(folder / name, self.out.glob(f"*/{name}"))
        published = publish(folder, self.out)
        self.put(published)
        return RunView(published)

    def put(self, folder: Path) -> None:
        """Share a run that is in its place."""

    def fetch(self) -> None:
        """Fetch the shared runs; a notice names the broken ones."""

    def read(self) -> None:
        """Do as `fetch`, for a command that only reads; UsageError if no run is shared."""

    def check_writable(self) -> None:
        """Raise a BenchError unless runs can be shared."""

    def vectors(self, home: Path | None) -> VectorCache | None:
        """Return the vector cache in `home` as the cache of the shared vectors; None if none are shared."""


def results_at(location: str | Path, home: Path | None = None) -> Results:
    """Return the results in a folder, or at the URL of a store, with a folder in `home` as its cache."""
    folder, url = Path(location), store_url(Path(location))
    if is_url(str(location)):
        url = str(location).rstrip("/")
        folder = data_home(home) / "stores" / f"{slug(url)[:_SHOWN]}-{short_hash(url, 16)}"
    if url is None:
        return Results(folder)
    results_of_store = extension(STORES, "url")
    if results_of_store is None:
        raise UsageError(f"{url} is a store of runs, and no installed package reads one; give a folder")
    results: Results = results_of_store(url, folder)
    return results


@contextmanager
def staging(out: Path, name: str) -> Iterator[Path]:
    """Yield a folder beside the runs in `out` in which to make a run of this name; it is removed at the end."""
    # A folder of runs never contains half of one: it is written beside it and then renamed.
    with ExitStack() as stack:
        with writing_to(out):
            folder = stack.enter_context(folder_beside(out / name))
        yield folder


def publish(folder: Path, out: Path) -> Path:
    """Move a run's folder into `out`, and return its folder there; if the same run is there already, that one stays.

    It is then as new as the one just made. Any other folder of that name, such as the rest of an interrupted run, is
    replaced.
    """
    target = out / folder.name
    with writing_to(out):
        if target.is_dir() and (not (target / MANIFEST).is_file() or differing(folder, target)):
            # Rename it first: a folder that is half deleted could be taken for a run.
            old = folder.parent / "replaced"
            target.rename(old)
            shutil.rmtree(old)
        try:
            folder.rename(target)
        except OSError:  # the same run is there, perhaps since a moment ago
            if not (target / MANIFEST).is_file():
                raise
            (folder / MANIFEST).replace(target / MANIFEST)  # `latest` is the run that was made last
    return target


def writing_to(out: Path) -> AbstractContextManager[None]:
    """Raise an error of the system in the block as a ResultError: the results folder cannot be written."""
    return os_errors_as(ResultError, f"the results folder {out} cannot be written", "choose another with --out")


def differing(first: Path, second: Path) -> list[str]:
    """Return the names of the files in which two run folders differ, other than in times."""
    names = {path.name for folder in (first, second) for path in folder.iterdir() if path.is_file()}
    return sorted(name for name in names - {TIMINGS} if _content(first / name) != _content(second / name))


def _content(path: Path) -> object:
    """Return the unpacked bytes of a file, or a manifest without its time; None if it is missing or broken."""
    try:
        if path.name == MANIFEST:
            return {key: value for key, value in json.loads(path.read_bytes()).items() if key != "created"}
        with opened(path) as stream:  # another zlib compresses the same text to other bytes
            return stream.read()
    except (OSError, ValueError):
        return None
