"""Data sets on disk; each is installed whole or not at all.

`HOME/datasets/<source>/` holds one source's set: `set.json` (what it is), `tasks/*.jsonl` (each file is written whole)
and one folder per tree (renamed into place when complete).
"""

import fcntl
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.errors import DatasetError, os_errors_as
from repoeval_bench.core.files import folder_beside, write_atomic
from repoeval_bench.core.json_reader import faults_as, parse, read_document
from repoeval_bench.dataset import commits
from repoeval_bench.dataset.index import used_definitions
from repoeval_bench.dataset.repoeval import EXTENSIONS, TaskSet, parse_tasks
from repoeval_bench.dataset.sources import SetFacts, Source
from repoeval_bench.dataset.uses_table import Uses, read_uses, table_lines


@dataclass(frozen=True, slots=True)
class InstalledSet:
    """One source's set on disk, as far as it concerns one task set; any part of it may be absent.

    `tree_name` is the folder of its repositories, if that is not the one of upstream's level. `endings` are the endings
    of its corpus files.
    """

    root: Path
    facts: SetFacts
    task_set: TaskSet
    _: KW_ONLY
    tree_name: str = ""
    endings: tuple[str, ...] = EXTENSIONS

    @property
    def task_file(self) -> Path:
        """The task set's task file."""
        name = commits.TABLE if self.task_set.level == commits.LEVEL else self.task_set.task_file
        return self.root / "tasks" / name

    @property
    def tree(self) -> Path:
        """The folder of the task set's repositories."""
        return self.root / (self.tree_name or self.task_set.published.tree)

    @property
    def is_complete(self) -> bool:
        """Return whether the task file and the tree are both here."""
        return self.task_file.is_file() and self.tree.is_dir()

    def read_tasks(self) -> tuple[Task, ...]:
        """The tasks in the file's order; a DatasetError where it cannot be read, or lists its bad rows."""
        path = self.task_file
        with os_errors_as(DatasetError, f"the task file {path} cannot be read", "name another source with --source"):
            raw = path.read_bytes()
        if self.task_set.level == commits.LEVEL:
            return commits.parse_commits(raw, path.name)
        return parse_tasks(raw, name=path.name, level=self.task_set.level)

    def read_uses(self, tasks: Sequence[Task]) -> Uses | None:
        """Return what these tasks use; None where it was never resolved."""
        if self.facts.official:
            return used_definitions(self.task_set.level, tasks)
        path = uses_file_of(self.task_file)
        if not path.is_file():
            return None
        with os_errors_as(DatasetError, f"the table {path} cannot be read", "name another source with --source"):
            return read_uses(path.read_text(encoding="utf-8"), tasks, path.name)

    def whole_size(self, tasks: Sequence[Task]) -> tuple[int, int]:
        """Tasks and repositories of the whole: published figures, or of a user's own set what its file holds."""
        if self.facts.official:
            return self.task_set.published.tasks, self.task_set.published.repositories
        return len(tasks), len({task.repo for task in tasks})


def uses_file_of(task_file: Path) -> Path:
    """Return where the table of what a file's tasks use is: beside it."""
    return task_file.with_suffix(".uses.tsv")


def installed_sets(home: Path, task_set: TaskSet) -> list[InstalledSet]:
    """All sets under `home`, by folder name."""
    folders = sorted(path.parent.name for path in home.glob("datasets/*/set.json"))
    return [installed for folder in folders if (installed := find_set(home, folder, task_set))]


def find_set(home: Path, folder: str, task_set: TaskSet) -> InstalledSet | None:
    """The set of one folder name, or None."""
    root = home / "datasets" / folder
    path = root / "set.json"
    if not path.is_file():
        return None
    with faults_as(DatasetError, path, f"delete the folder {root}"):
        facts = parse(read_document(path), SetFacts)
    return InstalledSet(root, facts, task_set)


def install(home: Path, source: Source, task_set: TaskSet) -> InstalledSet:
    """The source's set with this task set in it; what is there already is not fetched again.

    A task set that the source does not hold is a DatasetError that lists what it holds.
    """
    done = find_set(home, source.folder, task_set)
    if done is not None and done.is_complete:
        return done
    # Sources never mix, so a part can never fill the gaps of a full set.
    root = home / "datasets" / source.folder
    way_out = "name another folder with --home or REPOEVAL_HOME"
    with os_errors_as(DatasetError, f"the data set cannot be written to {root}", way_out), alone(root):
        # Another process may have installed it while this one waited.
        done = find_set(home, source.folder, task_set)
        if done is None:
            done = InstalledSet(root, source.facts, task_set)
            write_atomic(root / "set.json", source.facts.model_dump_json(indent=2) + "\n")
        if not done.task_file.is_file():
            for name, content in source.task_files():
                write_atomic(root / "tasks" / name, content)
        if not done.task_file.is_file():
            there = ", ".join(sorted(path.name for path in root.glob("tasks/*.jsonl")))
            raise DatasetError(
                f"the source {source.facts.source} holds no {task_set.task_file}; it holds {there or 'no task file'}"
            )
        if not done.tree.is_dir():
            _install_tree(done.tree, source.tree_files(task_set.published.tree))
    return done


HASHES = ".sha256"
"""Beside a tree's repositories: the SHA-256 of every installed file, as sha256sum writes it."""


def read_hashes(tree: Path) -> dict[str, str]:
    """SHA-256 of each file's bytes when the tree was installed, by `repository/path`."""
    with os_errors_as(DatasetError, f"{tree / HASHES} cannot be read", f"delete {tree} and fetch the data again"):
        text = (tree / HASHES).read_text(encoding="utf-8")
    return {name: digest for digest, _, name in (line.partition("  ") for line in table_lines(text))}


def _install_tree(target: Path, files: Iterable[tuple[str, bytes]]) -> None:
    with folder_beside(target) as temporary:
        hashes = []
        for name, content in files:
            file = temporary / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            hashes.append(f"{hashlib.sha256(content).hexdigest()}  {name}\n")
        (temporary / HASHES).write_text("".join(hashes), encoding="utf-8")
        temporary.rename(target)


@contextmanager
def alone(root: Path) -> Iterator[None]:
    """Let one process at a time fetch a set; a second waits and then finds it done."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # it ends with the process, so one that is killed locks nobody out
        yield
