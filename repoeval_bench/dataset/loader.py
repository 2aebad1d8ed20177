"""From a source's name to a `Benchmark`: fetch what is missing, read, select, check, fingerprint."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from repoeval_bench.core.benchmark import Benchmark, Task
from repoeval_bench.core.errors import DatasetError, UsageError
from repoeval_bench.core.files import sha256_text
from repoeval_bench.dataset import index
from repoeval_bench.dataset.install import data_home
from repoeval_bench.dataset.jsonl import read_tasks
from repoeval_bench.dataset.obtain import obtain
from repoeval_bench.dataset.trees import Tree, read_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from repoeval_bench.core.source import SourceFile
    from repoeval_bench.dataset.index import Combination
    from repoeval_bench.dataset.install import InstalledSet
    from repoeval_bench.dataset.obtain import Obtained


def load(
    source: str = "auto",
    *,
    level: str = "function",
    context: str = "2k",
    tokenizer: str = "codex",
    repos: Sequence[str] | None = None,
    limit: int | None = None,
    without: Collection[str] = (),
    home: Path | None = None,
    notify: Callable[[str], None] | None = None,
) -> Benchmark:
    """The benchmark from a source, fetched first where it is not installed under `home`.

    `repos` keeps the tasks of these repositories, then `limit` the first N of them that are in none of the
    repositories `without` (of all where no other is left; without a limit they stay); only the repositories of
    the tasks that remain keep their files, and the fingerprint is over what remains. `notify` receives one
    line where data was fetched just now or the set is a part of the whole. UsageError: an unknown
    combination, repository or limit; DatasetError: data that is missing, broken or does not fit together.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"a limit of {limit} leaves no task; give a whole number from 1")
    combination = index.combination(level, context, tokenizer)
    obtained = obtain(source, combination, data_home(home))
    installed = obtained.installed
    tasks = read_tasks(installed.task_file(combination), level=level)
    if notify is not None and (obtained.fetched or len(tasks) < whole_size(installed, combination, tasks)[0]):
        notify(_describe(obtained, combination, tasks))
    benchmark = _assemble(installed, combination, tasks, _select(tasks, repos, limit, without))
    if notify is not None and (astray := misplaced(benchmark)):
        notify(
            f"{len(astray)} of {len(benchmark.tasks)} ground truths do not stand at their lines; "
            "`repoeval-bench data verify` names them"
        )
    return benchmark


def misplaced(benchmark: Benchmark) -> list[str]:
    """Ids of the tasks whose ground truth does not stand at its lines: their gold lines are not what they seem."""
    files = {(file.repo, file.path): file for found in benchmark.files.values() for file in found}
    return [task.task_id for task in benchmark.tasks if not stands(task, files[task.repo, task.path])]


def stands(task: Task, file: SourceFile) -> bool:
    """Whether a file that is long enough has the task's ground truth at its lines, line ends apart."""
    expected = task.ground_truth.replace("\r\n", "\n")
    return file.line_text(task.body).removesuffix("\n") == expected.removesuffix("\n")


def load_set(installed: InstalledSet, combination: Combination) -> Benchmark:
    """The whole of an installed set, as `load` gives it."""
    tasks = read_tasks(installed.task_file(combination), level=combination.level)
    return _assemble(installed, combination, tasks, tuple(tasks))


def _assemble(
    installed: InstalledSet, combination: Combination, tasks: Sequence[Task], chosen: tuple[Task, ...]
) -> Benchmark:
    whole_tasks, whole_repos = whole_size(installed, combination, tasks)
    trees = read_trees(installed.tree(combination), (task.repo for task in chosen))
    check_places(chosen, trees)
    files = {repo: tree.files for repo, tree in trees.items()}
    return Benchmark(
        name=f"{installed.facts.name}-{combination}",
        fingerprint=fingerprint(chosen, files),
        level=combination.level,
        tasks=chosen,
        files=files,
        source=installed.facts.source,
        whole_tasks=whole_tasks,
        whole_repos=whole_repos,
        undecodable=tuple(f"{repo}/{path}" for repo, tree in trees.items() for path in tree.undecodable),
    )


def describe(benchmark: Benchmark) -> str:
    """Where a benchmark came from and how much of the whole it is, in one line."""
    return _sizes(
        benchmark.source,
        (len(benchmark.tasks), benchmark.whole_tasks),
        (len(benchmark.files), benchmark.whole_repos),
    )


def describe_set(obtained: Obtained, combination: Combination) -> str:
    """One line on an installed set: its source, its size, what is missing, and the way to more."""
    tasks = read_tasks(obtained.installed.task_file(combination), level=combination.level)
    return _describe(obtained, combination, tasks)


def _describe(obtained: Obtained, combination: Combination, tasks: Sequence[Task]) -> str:
    facts = obtained.installed.facts
    present = {task.repo for task in tasks}
    whole_tasks, whole_repos = whole_size(obtained.installed, combination, tasks)
    line = _sizes(facts.source, (len(tasks), whole_tasks), (len(present), whole_repos))
    if len(tasks) < whole_tasks:
        missing = sorted(set(index.repositories()) - present)
        line += f" (missing: {', '.join(missing)}); `repoeval-bench data fetch --upgrade` tries for more"
    return "; ".join([line, *obtained.notes])


def _sizes(source: str, tasks: tuple[int, int], repos: tuple[int, int]) -> str:
    return f"data from {source}: {tasks[0]} of {tasks[1]} tasks, {repos[0]} of {repos[1]} repositories"


def read_trees(root: Path, repos: Iterable[str]) -> dict[str, Tree]:
    """The trees of these repositories by name, sorted; a missing repository is a DatasetError."""
    return {repo: read_tree(root / repo, repo) for repo in sorted(set(repos))}


def check_places(tasks: Iterable[Task], trees: Mapping[str, Tree]) -> None:
    """A DatasetError that names every task whose file is absent or too short for its ground truth."""
    files = {repo: {file.path: file for file in tree.files} for repo, tree in trees.items()}
    problems = []
    for task in tasks:
        file = files[task.repo].get(task.path)
        if file is None:
            state = "is no UTF-8" if task.path in trees[task.repo].undecodable else "does not exist"
            problems.append(f"{task.task_id}: its file {task.path} {state}")
        elif task.body.end > file.n_lines:
            problems.append(
                f"{task.task_id}: its ground truth ends at line {task.body.end}, "
                f"but {task.path} has {file.n_lines} lines"
            )
    if problems:
        noun = "task does" if len(problems) == 1 else "tasks do"
        raise DatasetError("\n  ".join([f"{len(problems)} {noun} not fit the repositories:", *problems]))


def fingerprint(tasks: Iterable[Task], files: Mapping[str, Iterable[SourceFile]]) -> str:
    """12 hex digits of a SHA-256 over every task (id, place, text hashes) and every file (path, text hash)."""
    digest = hashlib.sha256()
    for task in tasks:
        place = [task.task_id, task.path, task.context_start, task.body.start, task.body.end]
        digest.update(_line(*place, sha256_text(task.prompt), sha256_text(task.ground_truth)))
    for repo in sorted(files):
        for file in files[repo]:
            digest.update(_line(repo, file.path, sha256_text(file.text)))
    return digest.hexdigest()[:12]


def _line(*values: object) -> bytes:
    return json.dumps(values).encode() + b"\n"


def whole_size(installed: InstalledSet, combination: Combination, tasks: Sequence[Task]) -> tuple[int, int]:
    """Tasks and repositories of the whole: published figures, or what a custom set's file holds."""
    if installed.facts.official:
        return combination.published.tasks, combination.published.repositories
    return len(tasks), len({task.repo for task in tasks})


def _select(
    tasks: Sequence[Task], repos: Sequence[str] | None, limit: int | None, without: Collection[str]
) -> tuple[Task, ...]:
    if repos is not None:
        present = {task.repo for task in tasks}
        index.check_repositories(repos, present)
        chosen = {index.repository_name(repo) for repo in repos}
        tasks = [task for task in tasks if task.repo in chosen]
        if not tasks:
            raise UsageError("an empty list of repositories leaves no task; leave it out to take all")
    if limit is not None:
        tasks = [task for task in tasks if task.repo not in without] or tasks
    return tuple(tasks[:limit])
