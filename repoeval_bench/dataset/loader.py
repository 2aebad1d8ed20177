"""From a source's name to a `Benchmark`: fetch what is missing, read, select, check, and compute the fingerprint."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.benchmark import Benchmark, Task
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.source import SourceFile
from repoeval_bench.dataset import index, repoeval
from repoeval_bench.dataset.assembly import (
    check_places,
    files_of,
    fingerprint,
    is_misplaced,
    with_fingerprint,
    with_tests,
)
from repoeval_bench.dataset.home import data_home
from repoeval_bench.dataset.obtain import Obtained, obtain, task_set_at
from repoeval_bench.dataset.questions import asked_repositories, with_questions
from repoeval_bench.dataset.reading.plain import code_folders, load_folders, only_of_code
from repoeval_bench.dataset.trees import read_trees

if TYPE_CHECKING:
    from repoeval_bench.dataset.install import InstalledSet
    from repoeval_bench.dataset.uses_table import Uses


def load_benchmark(
    source: str | Path = "auto",
    *,
    level: str = repoeval.DEFAULT.level,
    context: str = repoeval.DEFAULT.context,
    tokenizer: str = repoeval.DEFAULT.tokenizer,
    repos: str | Sequence[str] | None = None,
    limit: int | None = None,
    questions: str | Path | None = None,
    tests: str = "all",
    extensions: Sequence[str] | None = None,
    without: Collection[str] = (),
    home: Path | None = None,
) -> Benchmark:
    """The benchmark from a source, fetched first where it is not installed under `home`.

    `source` is `auto`, `github`, `pypi`, a shipped pack such as `pypi-40`, a folder or a URL. `repos` (a list, or one
    text with blanks or commas) keeps the tasks of these repositories, and `limit` the first N of those. Tasks of
    repositories in `without` do not count towards N, unless no others are left. Only the repositories of the tasks that
    remain keep their files, and the fingerprint is over what remains. A folder of code has files and no tasks. Several
    folders of code have the separator of PATH between them.
    `questions` is a file of your own, whose rows take the place of the tasks. `tests` is a key of
    `core.benchmark.TESTS`: whether files of tests are searched, and ask; your own questions may ask of them.
    `extensions` are endings of files (`.rb`) that a folder of code is read with, beside the ten languages. A notice
    says that data was just fetched, that the set is partial, or that a ground truth is not at its lines. UsageError: an
    unknown task set, repository or limit; DatasetError: data that is missing, broken or does not fit together.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"a limit of {limit} leaves no task; give a whole number from 1")
    if isinstance(repos, str):
        repos = repos.replace(",", " ").split()
    part: dict[str, Any] = {"repos": tuple(sorted(set(map(repoeval.repository_name, repos or ())))), "limit": limit}
    task_set = task_set_at(str(source), level, context, tokenizer)
    if folders := code_folders(str(source)):
        named = asked_repositories(Path(questions)) if questions else ()
        benchmark = load_folders(folders, task_set, named, extensions=extensions or ())
        repoeval.check_repositories(repos or (), benchmark.files)
        kept = {repo: files for repo, files in benchmark.files.items() if not repos or repo in part["repos"]}
        benchmark = with_fingerprint(replace(benchmark, **part, files=kept))
        return with_questions(benchmark, Path(questions)) if questions else with_tests(benchmark, tests)
    if extensions:
        raise only_of_code(str(source))
    obtained = obtain(str(source), task_set, data_home(home))
    installed = obtained.installed
    tasks = installed.read_tasks()
    if obtained.fetched or obtained.notes or len(tasks) < installed.whole_size(tasks)[0]:
        NOTICES.info(describe(obtained, tasks))
    if questions:
        whole = _assemble(installed, tasks, _select(tasks, repos, None, ()))
        return with_questions(replace(whole, **part), Path(questions))
    selected = _select(tasks, repos, limit, without)
    benchmark = replace(_assemble(installed, tasks, selected), **part)
    files = benchmark.by_name
    misplaced = sum(is_misplaced(task, files) for task in benchmark.tasks)
    if misplaced:
        NOTICES.info(
            f"{misplaced} of {len(benchmark.tasks)} ground truths are not at their lines; "
            "`repoeval-bench data verify` names them"
        )
    return with_tests(benchmark, tests)


def load_set(installed: InstalledSet) -> Benchmark:
    """The whole of an installed set, as `load_benchmark` gives it."""
    tasks = installed.read_tasks()
    return _assemble(installed, tasks, tasks)


def _assemble(
    installed: InstalledSet,
    tasks: Sequence[Task],
    selected: tuple[Task, ...],
) -> Benchmark:
    whole_tasks, whole_repos = installed.whole_size(tasks)
    trees = read_trees(installed.tree, (task.repo for task in selected), installed.endings)
    check_places(selected, trees)
    files = {repo: tree.files for repo, tree in trees.items()}
    selected = _with_uses(selected, installed.read_uses(selected), files_of(trees))
    return Benchmark(
        name=f"{installed.facts.name}-{installed.task_set}",
        fingerprint=fingerprint(selected, files),
        level=installed.task_set.level,
        tasks=selected,
        files=files,
        source=installed.facts.source,
        whole_tasks=whole_tasks,
        whole_repos=whole_repos,
        undecodable=tuple(f"{repo}/{path}" for repo, tree in trees.items() for path in tree.undecodable),
        is_published=installed.facts.official,
    )


def _with_uses(tasks: tuple[Task, ...], uses: Uses | None, files: Mapping[str, SourceFile]) -> tuple[Task, ...]:
    """The tasks with what they use, where it is known; definitions in files that are not here are left out."""
    if uses is None:
        return tasks
    lost = 0
    resolved = []
    for task in tasks:
        task_uses = tuple(
            use
            for use in uses[task.task_id]
            if (file := files.get(use.definition.file)) and use.definition.lines.end <= file.n_lines
        )
        lost += len(uses[task.task_id]) - len(task_uses)
        resolved.append(replace(task, uses=task_uses))
    if lost:
        NOTICES.info(
            f"{lost} of the definitions that tasks use are in files that this data set lacks; they are left out"
        )
    return tuple(resolved)


def describe(obtained: Obtained, tasks: Sequence[Task]) -> str:
    """One line on an installed set: its source, its size, what is missing, and the way to more."""
    installed = obtained.installed
    present = {task.repo for task in tasks}
    whole_tasks, whole_repos = installed.whole_size(tasks)
    line = (
        f"data from {installed.facts.source}: {len(tasks)} of {whole_tasks} tasks, {len(present)} of {whole_repos} "
        "repositories"
    )
    if len(tasks) < whole_tasks:
        missing = ", ".join(sorted(set(index.repositories()) - present))
        line += f" (missing: {missing}); `repoeval-bench data fetch` tries for more"
    return "; ".join([line, *obtained.notes])


def _select(
    tasks: tuple[Task, ...], repos: Sequence[str] | None, limit: int | None, without: Collection[str]
) -> tuple[Task, ...]:
    if repos is not None:
        repoeval.check_repositories(repos, {task.repo for task in tasks})
        names = set(map(repoeval.repository_name, repos))
        tasks = tuple(task for task in tasks if task.repo in names)
        if not tasks:
            raise UsageError("an empty list of repositories leaves no task; leave it out to take all")
    if limit is not None:
        tasks = tuple(task for task in tasks if task.repo not in without) or tasks
    return tasks[:limit]
