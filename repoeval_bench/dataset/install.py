"""Where data sets stand on disk, and how one gets there whole or not at all.

`HOME/datasets/<source>/` holds one source's set: `set.json` (what it is), `tasks/*.jsonl` (each file is its
own mark of being done) and one folder per tree (renamed into place when complete). Sources never mix, so a
part can never fill the gaps of a full set.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.files import write_atomic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from repoeval_bench.dataset.index import Combination


class SourceError(DatasetError):
    """A source cannot be reached, or is not what it should be: another source may still serve."""


class Source(Protocol):
    """Where data comes from. It yields verified files only; writing them is this module's part.

    `left_out` names what was met while yielding and not taken, because RepoEval does not hold it so.
    """

    left_out: list[str]

    @property
    def folder(self) -> str:
        """Name of the folder its set is installed in."""

    @property
    def facts(self) -> SetFacts:
        """What is written beside the set."""

    def task_files(self) -> Iterable[tuple[str, bytes]]:
        """(file name, content) of every task file it holds; a wrong hash is a DatasetError."""

    def tree_files(self, tree: str) -> Iterable[tuple[str, bytes]]:
        """(`repository/path`, content) of a tree's `.py` and licence files, verified likewise."""


@dataclass(frozen=True, slots=True)
class SetFacts:
    """What a set is: `name` is `repoeval` for the published benchmark, `custom-…` for anybody's own.

    `pins` is the SHA-256 of a custom set's manifest, "" for the published benchmark.
    """

    name: str
    source: str
    pins: str = ""
    licences: Mapping[str, str] = field(default_factory=dict)

    @property
    def official(self) -> bool:
        """Whether every file was verified against the published benchmark."""
        return self.name == "repoeval"


@dataclass(frozen=True, slots=True)
class InstalledSet:
    """One source's set on disk; any part of it may be absent."""

    root: Path
    facts: SetFacts

    def task_file(self, combination: Combination) -> Path:
        """Where the task file of a combination stands."""
        return self.root / "tasks" / combination.task_file

    def tree(self, combination: Combination) -> Path:
        """Where the folder of the combination's repositories stands."""
        return self.root / combination.published.tree

    def holds(self, combination: Combination) -> bool:
        """Whether the task file and the tree of a combination are both here."""
        return self.task_file(combination).is_file() and self.tree(combination).is_dir()


def data_home(home: Path | None = None) -> Path:
    """The folder of all data: `home`, else $REPOEVAL_HOME, else a checkout's `data/cache`, else the user's cache."""
    if home is not None:
        return home.expanduser().absolute()
    if named := os.environ.get("REPOEVAL_HOME"):
        return Path(named).expanduser().absolute()
    checkout = Path(__file__).resolve().parents[2]
    if (checkout / "Makefile").is_file() and (checkout / "data" / "index").is_dir():
        return checkout / "data" / "cache"
    import platformdirs

    return platformdirs.user_cache_path("repoeval-bench")


def installed_sets(home: Path) -> list[InstalledSet]:
    """All sets under `home`, by folder name."""
    return [InstalledSet(facts.parent, _read_facts(facts)) for facts in sorted(home.glob("datasets/*/set.json"))]


def find_set(home: Path, folder: str) -> InstalledSet | None:
    """The set of one folder name, or None."""
    facts = home / "datasets" / folder / "set.json"
    return InstalledSet(facts.parent, _read_facts(facts)) if facts.is_file() else None


def install(home: Path, source: Source, combination: Combination) -> InstalledSet:
    """The source's set with this combination in it; what is there already is not fetched again.

    A combination that the source does not hold is a DatasetError that lists what it holds.
    """
    done = find_set(home, source.folder)
    if done is not None and done.holds(combination):
        return done
    root = home / "datasets" / source.folder
    with _writing(root), _alone(root):
        done = find_set(home, source.folder)
        if done is None:
            done = InstalledSet(root, source.facts)
            write_atomic(root / "set.json", json.dumps(asdict(source.facts), indent=2) + "\n")
        elif done.facts != source.facts:
            raise DatasetError(f"the set of {source.facts.name} has changed at its source; delete {root}")
        if not done.task_file(combination).is_file():
            for name, content in source.task_files():
                write_atomic(root / "tasks" / name, content)
            if not done.task_file(combination).is_file():
                held = sorted(path.name for path in root.glob("tasks/*.jsonl"))
                raise DatasetError(
                    f"the source {source.facts.source} holds no {combination.task_file}; "
                    f"it holds {', '.join(held) or 'no task file at all'}"
                )
        if not done.tree(combination).is_dir():
            _install_tree(done.tree(combination), source.tree_files(combination.published.tree))
    return done


HASHES = ".sha256"
"""Beside a tree's repositories: the SHA-256 of every installed file, as sha256sum writes it."""


def read_hashes(tree: Path) -> dict[str, str]:
    """SHA-256 of each file's bytes when the tree was installed, by `repository/path`."""
    try:
        lines = (tree / HASHES).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise DatasetError(
            f"cannot read {tree / HASHES} ({error.strerror}); delete {tree} and fetch the data again"
        ) from error
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _install_tree(target: Path, files: Iterable[tuple[str, bytes]]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        hashes = []
        for name, content in files:
            file = temporary / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            hashes.append(f"{hashlib.sha256(content).hexdigest()}  {name}\n")
        (temporary / HASHES).write_text("".join(hashes), encoding="utf-8")
        temporary.chmod(0o755)
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def _writing(root: Path) -> Iterator[None]:
    """Turn a folder that cannot be written into one sentence with the way out."""
    try:
        yield
    except OSError as error:
        raise DatasetError(
            f"cannot write the data set to {root}: {error.strerror}; name another folder with --home or REPOEVAL_HOME"
        ) from error


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Let one process at a time fetch a set; a second waits and then finds it done."""
    root.mkdir(parents=True, exist_ok=True)
    if sys.platform == "win32":  # no flock; renames stay atomic, only the work may be done twice
        yield
        return
    import fcntl

    with (root / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _read_facts(path: Path) -> SetFacts:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        return SetFacts(facts["name"], facts["source"], facts["pins"], facts["licences"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DatasetError(f"{path} cannot be read ({error}); delete the folder {path.parent}") from error
