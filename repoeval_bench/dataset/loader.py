"""From a source's name to a `Benchmark`: choose and fetch the source, read, select, check, compute the fingerprint."""

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from repoeval_bench.core.benchmark import PERIOD, Benchmark, Task
from repoeval_bench.core.errors import DatasetError, UsageError, nearest
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.words import count, few
from repoeval_bench.dataset import assembly, index, repoeval
from repoeval_bench.dataset.home import data_home
from repoeval_bench.dataset.install import InstalledSet, alone, find_set, install, installed_sets
from repoeval_bench.dataset.pack import Pack
from repoeval_bench.dataset.questions import asked_repositories, with_questions
from repoeval_bench.dataset.reading.plain import code_folders, load_folders, only_of_code
from repoeval_bench.dataset.repoeval import FUNCTION, TASK_ARCHIVE, TaskSet, published_task_set
from repoeval_bench.dataset.shipped import edition_of, editions, make_edition, shipped_pack, write_uses
from repoeval_bench.dataset.sources import Source, SourceError, archived
from repoeval_bench.dataset.sources.package_index import PackageIndex
from repoeval_bench.dataset.trees import read_trees
from repoeval_bench.dataset.uses_table import Uses

NAMED = ("auto", "github", "pypi")
"""Sources with a name; any other is a shipped pack, a folder or an address."""


@dataclass(frozen=True, slots=True)
class Obtained:
    """An installed set; `fetched` where something was fetched just now; `notes` on what went otherwise."""

    installed: InstalledSet
    fetched: bool = False
    notes: tuple[str, ...] = ()


def load_benchmark(
    source: str | Path | None = None,
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

    `source` is `auto`, `github`, `pypi`, a shipped pack such as `pypi-40`, a folder or a URL. By default it is what the
    variable REPOEVAL_SOURCE says, as on the command line, else `auto`. `repos` (a list, or one text with blanks or
    commas) keeps the tasks of these repositories, and `limit` the first N of those. Tasks of repositories in `without`
    do not count towards N, unless no others are left. Only the repositories of the tasks that remain keep their files,
    and the fingerprint is over what remains. A folder of code has files and no tasks. Several folders of code have the
    separator of PATH between them. `questions` is a file of your own, whose rows take the place of the tasks. `tests`
    is a key of `core.benchmark.TESTS`: whether files of tests are searched, and ask; your own questions may ask of
    them. `extensions` are endings of files (`.rb`) that a folder of code is read with, beside the ten languages. A
    notice says that data was just fetched, that the set is partial, or that a ground truth is not at its lines.
    UsageError: an unknown task set, repository or limit; DatasetError: data that is missing, broken or does not fit
    together.
    """
    source = str(source or os.environ.get("REPOEVAL_SOURCE") or "auto")
    if limit is not None and limit < 1:
        raise UsageError(f"a limit of {limit} leaves no task; give a whole number from 1")
    if isinstance(repos, str):
        repos = repos.replace(",", " ").split()
    part: dict[str, Any] = {"repos": tuple(sorted(set(map(repoeval.repository_name, repos or ())))), "limit": limit}
    task_set = task_set_at(source, level, context, tokenizer)
    if folders := code_folders(source):
        named = asked_repositories(Path(questions)) if questions else ()
        benchmark = load_folders(folders, task_set, named, extensions=extensions or ())
        repoeval.check_repositories(repos or (), benchmark.files)
        kept = {repo: files for repo, files in benchmark.files.items() if not repos or repo in part["repos"]}
        benchmark = assembly.with_fingerprint(replace(benchmark, **part, files=kept))
        return with_questions(benchmark, Path(questions)) if questions else assembly.with_tests(benchmark, tests)
    if extensions:
        raise only_of_code(source)
    obtained = obtain(source, task_set, data_home(home))
    installed, tasks = obtained.installed, obtained.installed.read_tasks()
    if obtained.fetched or obtained.notes or len(tasks) < installed.whole_size(tasks)[0]:
        NOTICES.info(describe(obtained, tasks))
    if questions:
        whole = _assemble(installed, tasks, _select(tasks, repos, None, ()))
        return with_questions(replace(whole, **part), Path(questions))
    selected = _select(tasks, repos, limit, without)
    benchmark = replace(_assemble(installed, tasks, selected), **part)
    files = benchmark.by_name
    if misplaced := sum(assembly.is_misplaced(task, files) for task in benchmark.tasks):
        NOTICES.info(
            f"{misplaced} of {len(benchmark.tasks)} ground truths are not at their lines; "
            "`repoeval-bench data verify` names them"
        )
    return assembly.with_tests(benchmark, tests)


def load_set(installed: InstalledSet) -> Benchmark:
    """The whole of an installed set, as `load_benchmark` gives it."""
    tasks = installed.read_tasks()
    return _assemble(installed, tasks, tasks)


def _assemble(installed: InstalledSet, tasks: Sequence[Task], selected: tuple[Task, ...]) -> Benchmark:
    whole_tasks, whole_repos = installed.whole_size(tasks)
    trees = read_trees(installed.tree, (task.repo for task in selected), installed.endings)
    by_name, files = assembly.files_of(trees), {repo: tree.files for repo, tree in trees.items()}
    assembly.check_places(selected, by_name)
    selected = _with_uses(selected, installed.read_uses(selected), by_name)
    return Benchmark(
        name=f"{installed.facts.name}-{installed.task_set}",
        fingerprint=assembly.fingerprint(selected, files),
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
    here = {
        task.task_id: tuple(
            use
            for use in uses[task.task_id]
            if (file := files.get(use.definition.file)) and use.definition.lines.end <= file.n_lines
        )
        for task in tasks
    }
    if lost := sum(len(uses[task_id]) - len(of_task) for task_id, of_task in here.items()):
        NOTICES.info(
            f"{lost} of the definitions that tasks use are in files that this data set lacks; they are left out"
        )
    return tuple(replace(task, uses=here[task.task_id]) for task in tasks)


def describe(obtained: Obtained, tasks: Sequence[Task]) -> str:
    """One line on an installed set: its source, its size, what is missing, and the way to more."""
    installed = obtained.installed
    present = {task.repo for task in tasks}
    whole_tasks, whole_repos = installed.whole_size(tasks)
    of_history = any(task.change for task in tasks[:1])
    task, repository = ("query", PERIOD) if of_history else ("task", "repository")
    source = "your archives" if installed.facts.source == "mirror" else installed.facts.source
    line = (
        f"data from {source}: {len(tasks):,} of {count(whole_tasks, task)}, "
        f"{len(present):,} of {count(whole_repos, repository)}"
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


def obtain(source: str, task_set: TaskSet, home: Path, *, upgrade: bool = False) -> Obtained:
    """The set of a source with this task set in it, fetched under `home` where it is missing.

    `auto` takes the largest set of the published benchmark that is installed, else `github`, else `pypi`.
    With `upgrade` it tries for more where the best installed set is a part. UsageError: no such source, or
    one that cannot hold the task set; DatasetError: nothing could be obtained.
    """
    if source in {"", "auto"}:
        return _auto(task_set, home, upgrade=upgrade)
    if shipped := shipped_pack(source):
        return _edition(shipped, task_set, home)
    if pack := Pack.find(source):
        return Obtained(pack.installed(task_set))
    return _fetch(open_source(source, task_set), task_set, home)


def task_set_at(source: str, level: str, context: str, tokenizer: str) -> TaskSet:
    """The task file of a source: of a pack its own, otherwise a published one; a UsageError where there is none."""
    pack = shipped_pack(source) or Pack.find(source)
    return pack.task_set(level, context, tokenizer) if pack else published_task_set(level, context, tokenizer)


def is_benchmark(source: str) -> bool:
    """Return whether a source is a benchmark by its form: a name, an address, a pack, a folder with a task archive."""
    if source in {"", *NAMED} or _is_remote(source) or edition_of(source):
        return True
    folder = Path(source).expanduser()
    return Pack.find(source) is not None or any((folder / name).is_file() for name in (TASK_ARCHIVE, archived.MANIFEST))


def open_source(source: str, task_set: TaskSet) -> Source:
    """The source of a name, address or folder; nothing is fetched by opening it."""
    if source == "github":
        return archived.GitHub()
    if source == "pypi":
        if task_set.level != FUNCTION.name:
            raise UsageError(
                f"the source pypi carries the {FUNCTION.name} level only; for level {task_set.level} "
                "take github or --source FOLDER"
            )
        return PackageIndex()
    if _is_remote(source):
        return archived.MirrorUrl(source)
    if "/" not in source and "\\" not in source and not Path(source).exists():
        known = (*NAMED, *dict.fromkeys(name.partition("@")[0] for name in editions()))
        raise UsageError(f"{nearest('source', source, known)} (an address or an existing folder is one too)")
    return archived.MirrorFolder(Path(source))


def check_source(source: str, task_set: TaskSet) -> None:
    """Raise a UsageError if a source does not exist or cannot hold the task set; nothing is fetched or read."""
    if source not in {"", "auto"} and not (code_folders(source) or shipped_pack(source) or Pack.find(source)):
        with suppress(DatasetError):  # reported when the source is read
            open_source(source, task_set)


def _is_remote(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def _count_tasks(installed: InstalledSet) -> int:
    return sum(1 for line in installed.task_file.read_bytes().split(b"\n") if line.strip())


def _fetch(source: Source, task_set: TaskSet, home: Path) -> Obtained:
    before = find_set(home, source.folder, task_set)
    if before is not None and before.is_complete:
        return Obtained(before)
    installed = install(home, source, task_set)
    left_out = f"left out {count(len(source.skipped), 'file')} not RepoEval's: {few(source.skipped, 5)}"
    return Obtained(installed, fetched=True, notes=(left_out,) if source.skipped else ())


def _edition(shipped: Pack, task_set: TaskSet, home: Path) -> Obtained:
    """The pack of shipped facts under `home`, made where it is missing or is another one of that name."""
    target = home / "packs" / shipped.content.name
    with alone(home / "packs"):
        pack = Pack.find(str(target))
        if pack is not None and pack.content == shipped.content:
            write_uses(pack, shipped)
            return Obtained(pack.installed(task_set))
        return Obtained(make_edition(shipped, target).installed(task_set), fetched=True)


def _auto(task_set: TaskSet, home: Path, *, upgrade: bool) -> Obtained:
    complete = [
        official for official in installed_sets(home, task_set) if official.facts.official and official.is_complete
    ]
    best = max(complete, key=_count_tasks, default=None)
    if best is not None and (not upgrade or _count_tasks(best) == task_set.published.tasks):
        return Obtained(best)
    # pypi has only the part that was fetched already.
    names = ["github"] if best is not None or task_set.level != FUNCTION.name else ["github", "pypi"]
    problems = []
    for name in names:
        try:
            obtained = _fetch(open_source(name, task_set), task_set, home)
        except SourceError as error:
            problems.append(f"{name}: {error}")
        else:
            return Obtained(obtained.installed, fetched=True, notes=(*problems, *obtained.notes))
    if best is not None:
        return Obtained(best, notes=tuple(problems))
    raise DatasetError(
        f"no source of RepoEval's {task_set.level} level could be used ({'; '.join(problems)}); "
        "name a folder that holds the archives with --source FOLDER"
    )
