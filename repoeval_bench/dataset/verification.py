"""Whether an installed set is still what was verified when it came, and whether its tasks fit its files."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.core.files import git_blob_id, sha256_file, sha256_text
from repoeval_bench.dataset import index
from repoeval_bench.dataset.install import read_hashes
from repoeval_bench.dataset.jsonl import read_tasks
from repoeval_bench.dataset.loader import read_trees, stands
from repoeval_bench.dataset.sources import text_hash

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from repoeval_bench.core.benchmark import Task
    from repoeval_bench.core.source import SourceFile
    from repoeval_bench.dataset.index import Combination
    from repoeval_bench.dataset.install import InstalledSet


@dataclass(frozen=True, slots=True)
class Verification:
    """How many tasks and files were checked, and one line for each that does not hold."""

    tasks: int
    files: int
    wrong_tasks: tuple[str, ...]
    wrong_files: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether everything holds."""
        return not self.wrong_tasks and not self.wrong_files


def verify(installed: InstalledSet, combination: Combination) -> Verification:
    """Check that each task's ground truth stands at its lines, and hash every file again.

    Files are held against the hashes taken when they were installed and, where the index ships them, against
    upstream's. A set that cannot be read at all is a DatasetError.
    """
    tasks = read_tasks(installed.task_file(combination), level=combination.level)
    root = installed.tree(combination)
    present = {task.repo for task in tasks if (root / task.repo).is_dir()}
    trees = read_trees(root, present)
    files = {(repo, file.path): file for repo, tree in trees.items() for file in tree.files}
    wrong_tasks = [f"{task.task_id}: {problem}" for task in tasks if (problem := _place_problem(task, files))]
    recorded = read_hashes(root)
    return Verification(
        tasks=len(tasks),
        files=len(recorded) + 1,
        wrong_tasks=tuple(wrong_tasks),
        wrong_files=(*_task_file_problems(installed, combination, tasks), *_file_problems(installed, root, recorded)),
    )


def _place_problem(task: Task, files: Mapping[tuple[str, str], SourceFile]) -> str | None:
    file = files.get((task.repo, task.path))
    if file is None:
        return f"its file {task.repo}/{task.path} does not exist or is no UTF-8"
    if task.body.end > file.n_lines:
        return f"its ground truth ends at line {task.body.end}, but {task.path} has {file.n_lines} lines"
    if not stands(task, file):
        return f"its ground truth does not stand at line {task.body.start + 1} of {task.path}"
    return None


def _task_file_problems(installed: InstalledSet, combination: Combination, tasks: tuple[Task, ...]) -> Iterator[str]:
    """The task file against upstream's blob id, or where it was rebuilt, each text against the index."""
    if not installed.facts.official:
        return
    path = installed.task_file(combination)
    raw = path.read_bytes()
    if git_blob_id(io.BytesIO(raw), len(raw)) == index.task_file_blobs()[path.name]:
        return
    if combination.level != "function":
        yield f"{path.name}: it has a wrong hash"
        return
    known = {place.task_id: place for place in index.coordinates(combination)}
    for task in tasks:
        place = known.get(task.task_id)
        if place is None or (place.prompt_sha256, place.ground_truth_sha256) != (
            sha256_text(task.prompt),
            sha256_text(task.ground_truth),
        ):
            yield f"{path.name}: the texts of {task.task_id} have a wrong hash"


def _file_problems(installed: InstalledSet, root: Path, recorded: Mapping[str, str]) -> Iterator[str]:
    upstream = index.file_hashes(root.name) if installed.facts.official else {}
    for name, digest in sorted(recorded.items()):
        path = root / name
        if not path.is_file():
            yield f"{name}: it is missing"
        elif sha256_file(path) != digest:
            yield f"{name}: it has changed since it was installed"
        elif name in upstream and text_hash(path.read_bytes()) != upstream[name]:
            yield f"{name}: its text is not upstream's"
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name not in recorded:
            yield f"{name}: it was not installed"
