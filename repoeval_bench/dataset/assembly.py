"""From tasks and trees to a `Benchmark`: checks that they fit, the fingerprint, and subsets."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from repoeval_bench.core.benchmark import TESTS, Benchmark, Task
from repoeval_bench.core.errors import DatasetError, UsageError, nearest
from repoeval_bench.core.files import sha256_text
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import Gold, Place
from repoeval_bench.core.words import count
from repoeval_bench.dataset import repoeval
from repoeval_bench.dataset.reading.code import is_test
from repoeval_bench.dataset.trees import Tree
from repoeval_bench.dataset.uses_table import dump_uses


def ground_truth_places(task: Task) -> Gold:
    """The lines of a task's ground truth, in order; for a question those that answer it."""
    return task.places or (Place(task.file, task.body),)


def files_of(trees: Mapping[str, Tree]) -> dict[str, SourceFile]:
    """`repository/path` -> file."""
    return {file.name: file for tree in trees.values() for file in tree.files}


def place_problem(task: Task, files: Mapping[str, SourceFile]) -> str | None:
    """Return why a task cannot be scored: a file of its ground truth is absent or too short; None where it can."""
    for location in ground_truth_places(task):
        file = files.get(location.file)
        if file is None:
            return f"{task.task_id}: its file {location.file} does not exist, or is not UTF-8"
        if location.lines.end > file.n_lines:
            return (
                f"{task.task_id}: its ground truth ends at line {location.lines.end}, but {location.file} has "
                f"{file.n_lines} lines"
            )
    return None


def is_misplaced(task: Task, files: Mapping[str, SourceFile]) -> bool:
    """Return whether a task's ground truth is not at its lines, line ends apart; the files must be long enough.

    A question has no ground truth.
    """
    if task.places:
        return False
    expected = task.ground_truth.replace("\r\n", "\n")
    lines = "".join(files[location.file].line_text(location.lines) for location in ground_truth_places(task))
    return lines.removesuffix("\n") != expected.removesuffix("\n")


def check_places(tasks: Iterable[Task], files: Mapping[str, SourceFile]) -> None:
    """A DatasetError that names every task that cannot be scored."""
    problems = [problem for task in tasks if (problem := place_problem(task, files))]
    if problems:
        number = count(len(problems), "task does", "tasks do")
        raise DatasetError("\n  ".join([f"{number} not fit the repositories:", *problems]))


def fingerprint(tasks: Iterable[Task], files: Mapping[str, Iterable[SourceFile]]) -> str:
    """Return 12 hex digits of a SHA-256 over every task (id, place, text hashes) and every file (path, text hash)."""
    digest = hashlib.sha256()
    for task in tasks:
        fields: list[object] = [task.task_id, task.path, task.context_start, task.body.start, task.body.end]
        fields += [[location.file, location.lines.start, location.lines.end] for location in task.places]
        if task.change:
            golds = (task.change.exact, task.change.definitions)
            fields += [[place.lines.start, place.lines.end] for gold in golds for place in gold]
        digest.update(_line(*fields, sha256_text(task.prompt), sha256_text(task.ground_truth)))
    for repo in sorted(files):
        for file in files[repo]:
            digest.update(_line(repo, file.path, sha256_text(file.text)))
    return digest.hexdigest()[:12]


def with_fingerprint(benchmark: Benchmark) -> Benchmark:
    """The benchmark with its fingerprint: of tasks, files, unanswerable questions, and definitions that are gold."""
    digest = fingerprint(benchmark.tasks, benchmark.files)
    if benchmark.unanswerable:
        questions = [[query.query_id, query.repo, query.text] for query in benchmark.unanswerable]
        digest = hashlib.sha256(f"{digest}\n{json.dumps(questions)}".encode()).hexdigest()[:12]
    if benchmark.of_definitions:
        uses = dump_uses(benchmark.tasks, {task.task_id: task.uses or () for task in benchmark.tasks})
        digest = hashlib.sha256(f"{digest}\n{uses}".encode()).hexdigest()[:12]
    return replace(benchmark, fingerprint=digest)


def with_tasks(benchmark: Benchmark, tasks: Iterable[Task], **changes: Any) -> Benchmark:
    """The benchmark with these tasks alone, the files of their repositories, and other fields changed."""
    kept = tuple(tasks)
    repos = {task.repo for task in kept}
    files = {repo: of_repo for repo, of_repo in benchmark.files.items() if repo in repos}
    return with_fingerprint(replace(benchmark, tasks=kept, files=files, **changes))


def check_tests(tests: str) -> None:
    """Raise a UsageError unless this is a key of `TESTS`."""
    if tests not in TESTS:
        raise UsageError(nearest("use of tests", tests, TESTS))


def with_tests(benchmark: Benchmark, tests: str) -> Benchmark:
    """The benchmark for a key of `TESTS`: `out` leaves the files out; tasks of tests go when a protocol selects.

    A repository of tests alone keeps them. UsageError for another key.
    """
    check_tests(tests)
    if tests == "all":
        return benchmark
    mixed = _with_other_code(benchmark)
    files = {
        repo: tuple(file for file in of_repo if not is_test(file.path)) if repo in mixed else of_repo
        for repo, of_repo in benchmark.files.items()
    }
    n_left_out = sum(len(of_repo) - len(files[repo]) for repo, of_repo in benchmark.today.items())
    marked = replace(benchmark, tests=tests, test_files=n_left_out)
    if tests == "index" or files == benchmark.files:
        return marked
    here = {file.name for of_repo in files.values() for file in of_repo}
    kept = tuple(
        task if task.uses is None else replace(task, uses=tuple(u for u in task.uses if u.definition.file in here))
        for task in benchmark.tasks
        if task.file in here
    )
    return with_fingerprint(replace(marked, tasks=kept, files=files))


def without_tasks_of_tests(benchmark: Benchmark) -> Benchmark:
    """The benchmark without the tasks of tests, unless `tests` is `all`; a repository of tests alone keeps its own."""
    if benchmark.tests == "all":
        return benchmark
    mixed = _with_other_code(benchmark)
    tasks = tuple(task for task in benchmark.tasks if not (task.repo in mixed and is_test(task.path)))
    if len(tasks) == len(benchmark.tasks):
        return benchmark
    if not tasks:
        raise DatasetError("only tests give tasks here; choose --tests all")
    return with_tasks(benchmark, tasks)


def _with_other_code(benchmark: Benchmark) -> set[str]:
    return {repo for repo, files in benchmark.files.items() if not all(is_test(file.path) for file in files)}


def _line(*values: object) -> bytes:
    # JSON keeps fields apart, whatever they hold.
    return json.dumps(values).encode() + b"\n"


def published_subset(benchmark: Benchmark, name: str) -> Benchmark:
    """Return the repositories of a subset (`all` or `six`), with their tasks."""
    outside = repoeval.skipped_repositories(name, benchmark.level)
    tasks = [task for task in benchmark.tasks if task.repo not in outside]
    return benchmark if len(tasks) == len(benchmark.tasks) else with_tasks(benchmark, tasks)
