"""A shipped pack from its facts.

The packages are fetched through the user's own registry and checked against their hashes; nothing is built or run.
Their files are taken by name and the tasks are read at their stored lines. Nothing is drawn or resolved again, so later
rules do not change an edition. The result is checked against the fingerprint of each repository.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.errors import DatasetError, os_errors_as
from repoeval_bench.core.files import work_folder, write_atomic
from repoeval_bench.core.languages import ENDINGS
from repoeval_bench.core.progress import progress
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.dataset.assembly import fingerprint
from repoeval_bench.dataset.install import HASHES, uses_file_of
from repoeval_bench.dataset.pack import MANIFEST, TREE, Pack, PackFile, PackSource
from repoeval_bench.dataset.reading.files import dump_manifest, new_folder, write_plain
from repoeval_bench.dataset.reading.opening import open_registry
from repoeval_bench.dataset.reading.prompts import make_task
from repoeval_bench.dataset.repoeval import FUNCTION, TaskSet, dump_tasks
from repoeval_bench.dataset.shipped import (
    FILES,
    TASKS,
    USES,
    TaskPlace,
    parse_places,
    read_table,
    registry_of,
)
from repoeval_bench.dataset.sources.index_client import TamperedError
from repoeval_bench.dataset.trees import read_tree
from repoeval_bench.dataset.uses_table import table_lines

if TYPE_CHECKING:
    from repoeval_bench.dataset.reading.npm import Npm
    from repoeval_bench.dataset.reading.pypi import PyPI

LEVEL = FUNCTION.name
"""The level that ships."""

AT_ONCE = 8
"""Packages that are fetched at a time."""


def make_edition(shipped: Pack, target: Path) -> Pack:
    """Make the pack of shipped facts in the folder `target`, in place of one that is there.

    DatasetError: a package cannot be fetched, or is not the file that was pinned, or what comes out has another
    fingerprint.
    """
    names = table_lines(read_table(shipped.root / FILES))[1:]
    with new_folder(target) as folder:
        _fetch_all(shipped.content, frozenset(names), folder / TREE)
        files = {source.repository: files_of(folder, source.repository) for source in shipped.content.sources}
        tasks = list(_tasks(parse_places(read_table(shipped.root / TASKS)), files))
        _check(shipped.content, tasks, files)
        path = folder / "tasks" / task_set_of_pack(shipped.content).task_file
        write_plain(path, dump_tasks(tasks))
        hashes = (f"{hashlib.sha256((folder / TREE / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
        write_plain(folder / TREE / HASHES, "".join(sorted(hashes)).encode())
        write_plain(folder / MANIFEST, dump_manifest(shipped.content))
        shutil.rmtree(target, ignore_errors=True)
    pack = Pack(target, shipped.content)
    write_uses(pack, shipped)
    return pack


def write_uses(pack: Pack, shipped: Pack) -> None:
    """Write what the tasks of a pack use, by the shipped table, unless it is there.

    A later version may ship another table for the same pack: it is not part of a repository's fingerprint.
    """
    path = uses_file_of(pack.installed(task_set_of_pack(pack.content)).task_file)
    table = read_table(shipped.root / USES).encode()
    if not path.is_file() or path.read_bytes() != table:
        with os_errors_as(DatasetError, f"{path} cannot be written", "name another folder with --home"):
            write_atomic(path, table)


def task_set_of_pack(content: PackFile) -> TaskSet:
    """Return the task set of the tasks that ship."""
    return TaskSet(LEVEL, content.context, content.tokenizer)


def _fetch_all(content: PackFile, names: frozenset[str], tree: Path) -> None:
    """Write the named files of every package into the folder `tree`; one DatasetError names all that cannot be had."""
    missing: list[str] = []
    with (
        open_registry(registry_of(content)) as registry,
        work_folder("packages") as work,
        ThreadPoolExecutor(AT_ONCE) as pool,
        progress(desc="fetch packages", unit="packages", total=len(content.sources)) as bar,
    ):
        jobs = {
            source.repository: pool.submit(_fetch, registry, source, names, work, tree) for source in content.sources
        }
        for repo, job in jobs.items():
            try:
                job.result()
            except TamperedError:
                pool.shutdown(cancel_futures=True)
                raise
            except DatasetError as error:
                missing.append(f"{repo}: {error}")
            bar.update()
    if missing:
        raise DatasetError(
            "\n  ".join([f"{len(missing)} of {len(jobs)} packages of {content.name} cannot be had:", *missing])
        )


def _fetch(registry: Npm | PyPI, source: PackSource, names: frozenset[str], work: Path, tree: Path) -> None:
    facts = source.model_extra or {}
    folder = work / source.repository
    folder.mkdir()
    origin = registry.open_release(facts["package"], facts["version"], folder, facts)
    for entry in origin.entries():
        if f"{source.repository}/{entry.path}" in names:
            write_plain(tree / source.repository / entry.path, entry.read())


def files_of(folder: Path, repo: str) -> tuple[SourceFile, ...]:
    """Return the files of a repository in the folder of a pack."""
    return read_tree(folder / TREE / repo, repo, ENDINGS).files


def _tasks(places: Iterable[TaskPlace], files: Mapping[str, tuple[SourceFile, ...]]) -> Iterable[Task]:
    by_name = {file.name: file for of_repo in files.values() for file in of_repo}
    for coordinates in places:
        shown = LineSpan(coordinates.context_start, coordinates.body.start)
        file = by_name[f"{coordinates.task_id.rpartition('/')[0]}/{coordinates.path}"]
        yield make_task(file, coordinates.body, shown, task_id=coordinates.task_id, name=coordinates.function_name)


def _check(content: PackFile, tasks: Sequence[Task], files: Mapping[str, tuple[SourceFile, ...]]) -> None:
    """A DatasetError where a repository is not what was shipped."""
    for source in content.sources:
        repo = source.repository
        stated = (source.model_extra or {})["fingerprint"]
        if (digest := fingerprint_of(tasks, files[repo], repo)) != stated:
            raise DatasetError(f"{repo} of {content.name} has fingerprint {digest}, and not {stated}; report this")


def fingerprint_of(tasks: Iterable[Task], files: tuple[SourceFile, ...], repo: str) -> str:
    """Return the fingerprint of a repository: of its files and of those of the tasks that are its own."""
    return fingerprint((task for task in tasks if task.repo == repo), {repo: files})
