"""From a source's name to a `Benchmark`: fetch what is missing, read, select, check, fingerprint."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.dataset import index
from repoeval_bench.dataset.install import InstalledSet, data_home, install
from repoeval_bench.dataset.jsonl import read_tasks
from repoeval_bench.dataset.trees import Tree, read_tree
from repoeval_bench.errors import DatasetError, UsageError
from repoeval_bench.spec import nearest
from repoeval_bench.types import Benchmark, SourceFile, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from repoeval_bench.dataset.index import Combination


def load(
    source: str = "auto",
    *,
    level: str = "function",
    context: str = "2k",
    tokenizer: str = "codex",
    repos: Sequence[str] | None = None,
    limit: int | None = None,
    home: Path | None = None,
    notify: Callable[[str], None] | None = None,
) -> Benchmark:
    """The benchmark from a source, fetched first where it is not installed under `home`.

    `repos` keeps the tasks of these repositories, then `limit` the first N of them; only the repositories of
    the tasks that remain keep their files, and the fingerprint is over what remains. `notify` receives one
    line where the set is not the whole benchmark. UsageError: an unknown combination, repository or limit;
    DatasetError: data that is missing, broken or does not fit together.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"a limit of {limit} leaves no task; give a whole number from 1")
    combination = index.combination(level, context, tokenizer)
    installed = obtain(source, combination, home=home, notify=notify)
    tasks = read_tasks(installed.task_file(combination), level=level)
    whole_tasks, whole_repos = _whole(installed, level, tasks)
    tasks = _select(tasks, repos, limit)
    trees = read_trees(installed.tree(combination), (task.repo for task in tasks))
    check_places(tasks, trees)
    files = {repo: tree.files for repo, tree in trees.items()}
    return Benchmark(
        name=f"{installed.facts.name}-{combination}",
        fingerprint=fingerprint(tasks, files),
        level=level,
        tasks=tasks,
        files=files,
        source=installed.facts.source,
        whole_tasks=whole_tasks,
        whole_repos=whole_repos,
        undecodable=tuple(f"{repo}/{path}" for repo, tree in trees.items() for path in tree.undecodable),
    )


def obtain(
    source: str,
    combination: Combination,
    *,
    home: Path | None = None,
    notify: Callable[[str], None] | None = None,  # noqa: ARG001
) -> InstalledSet:
    """The installed set of a source with this combination in it, fetched where it is missing."""
    from repoeval_bench.dataset.sources import MirrorFolder

    return install(data_home(home), MirrorFolder(Path(source)), combination)


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
        digest.update(_line(*place, index.sha256(task.prompt), index.sha256(task.ground_truth)))
    for repo in sorted(files):
        for file in files[repo]:
            digest.update(_line(repo, file.path, index.sha256(file.text)))
    return digest.hexdigest()[:12]


def _line(*values: object) -> bytes:
    return json.dumps(values).encode() + b"\n"


def _whole(installed: InstalledSet, level: str, tasks: Sequence[Task]) -> tuple[int, int]:
    """Tasks and repositories of the whole set: published figures, or for a custom set what its file holds."""
    if installed.facts.official:
        return index.levels()[level].tasks, index.levels()[level].repositories
    return len(tasks), len({task.repo for task in tasks})


def _select(tasks: Sequence[Task], repos: Sequence[str] | None, limit: int | None) -> tuple[Task, ...]:
    if repos is not None:
        present = {task.repo for task in tasks}
        chosen = {repo.replace("--", "_").replace("/", "_") for repo in repos}
        for repo in sorted(chosen - present):
            raise UsageError(nearest("repository", repo, present))
        tasks = [task for task in tasks if task.repo in chosen]
        if not tasks:
            raise UsageError("an empty list of repositories leaves no task; leave it out to take all")
    return tuple(tasks[:limit])
