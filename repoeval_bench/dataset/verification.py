"""Checks and counts of an installed set: whether it is unchanged since it was verified, and its tasks fit its files."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from repoeval_bench.core.benchmark import Benchmark, Task
from repoeval_bench.core.files import git_blob_id, sha256_file, sha256_text
from repoeval_bench.core.source import SourceFile
from repoeval_bench.dataset import index
from repoeval_bench.dataset.assembly import files_of, is_misplaced, place_problem
from repoeval_bench.dataset.install import InstalledSet, read_hashes
from repoeval_bench.dataset.repoeval import FUNCTION
from repoeval_bench.dataset.trees import is_source_path, read_trees


@dataclass(frozen=True, slots=True)
class DataVerification:
    """Counts of the tasks and files that were checked, and one line for each that is wrong."""

    tasks: int
    files: int
    wrong_tasks: tuple[str, ...]
    wrong_files: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Return whether nothing is wrong."""
        return not self.wrong_tasks and not self.wrong_files


def verify(installed: InstalledSet) -> DataVerification:
    """Check that each task's ground truth is at its lines, and hash every file again.

    Files are checked against the hashes taken when they were installed, and of the published benchmark verified. A set
    that cannot be read at all is a DatasetError.
    """
    tasks = installed.read_tasks()
    repos = {task.repo for task in tasks if (installed.tree / task.repo).is_dir()}
    files = files_of(read_trees(installed.tree, repos, installed.endings))
    recorded = read_hashes(installed.tree)
    return DataVerification(
        tasks=len(tasks),
        files=len(recorded) + 1,
        wrong_tasks=tuple(problem for task in tasks if (problem := _task_problem(task, files))),
        wrong_files=(*_task_file_problems(installed, tasks), *_file_problems(installed, recorded)),
    )


def _task_problem(task: Task, files: Mapping[str, SourceFile]) -> str | None:
    if problem := place_problem(task, files):
        return problem
    if is_misplaced(task, files):
        return f"{task.task_id}: its ground truth is not at line {task.body.start + 1} of {task.file}"
    return None


def _task_file_problems(installed: InstalledSet, tasks: tuple[Task, ...]) -> Iterator[str]:
    """The task file against upstream's blob id, or where it was rebuilt, each text against the index."""
    if not installed.facts.official:
        return
    path, task_set = installed.task_file, installed.task_set
    raw = path.read_bytes()
    if git_blob_id(raw) == index.sources().task_files[path.name]:
        return
    if task_set.level != FUNCTION.name:
        yield f"{path.name}: it has a wrong hash"
        return
    known = {coordinates.task.task_id: coordinates.hashes for coordinates in index.coordinates(task_set)}
    for task in tasks:
        if known.get(task.task_id) != (sha256_text(task.prompt), sha256_text(task.ground_truth)):
            yield f"{path.name}: the texts of {task.task_id} have a wrong hash"


def _file_problems(installed: InstalledSet, recorded: Mapping[str, str]) -> Iterator[str]:
    root = installed.tree
    for name, digest in sorted(recorded.items()):
        path = root / name
        if not path.is_file():
            yield f"{name}: it is missing"
        elif sha256_file(path) != digest:
            yield f"{name}: it has changed since it was installed"
    names = (path.relative_to(root).as_posix() for path in root.rglob("*"))
    for name in sorted(names):
        if name not in recorded and is_source_path(name, installed.endings):
            yield f"{name}: it was not installed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositorySummary:
    """One repository: tasks and source files here, those of the whole benchmark (None: not known), known licence."""

    tasks: int
    whole_tasks: int | None
    files: int
    whole_files: int | None
    licence: str


def summarize(benchmark: Benchmark, installed: InstalledSet) -> dict[str, RepositorySummary]:
    """Every repository of the set by name, and at function level also those that are missing from it."""
    tasks = Counter(task.repo for task in benchmark.tasks)
    facts = installed.facts
    known = index.repositories() if facts.official and benchmark.level == FUNCTION.name else {}
    rows = {}
    for repo in sorted({*benchmark.files, *known}):
        fact = known.get(repo)
        rows[repo] = RepositorySummary(
            tasks=tasks[repo],
            whole_tasks=fact.tasks if fact else None,
            files=len(benchmark.files.get(repo, ())),
            whole_files=fact.files if fact else None,
            licence=fact.licence if fact else facts.licences.get(repo, ""),
        )
    return rows
