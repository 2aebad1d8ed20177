"""Packs that ship with the project, as facts: which packages, which hashes, where their tasks are. No code of them.

    data/packs/NAME@EDITION/pack.yaml       as of any pack, with each source's domain, dates and fingerprint
    data/packs/NAME@EDITION/files.tsv.gz    file: `repository/path` of every file that is taken
    data/packs/NAME@EDITION/tasks.tsv.gz    task_id, path, context_start, body_start, body_end, function_name
    data/packs/NAME@EDITION/uses.tsv.gz     what the tasks use, as beside the tasks of any pack

Lines are counted from 0, ends are exclusive.

`make_edition` makes the pack of them. The packages are fetched through the user's own registry and checked against
their hashes; nothing is built or run.
"""

import gzip
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.errors import DatasetError, os_errors_as
from repoeval_bench.core.files import sha256_file, work_folder, write_atomic
from repoeval_bench.core.languages import ENDINGS
from repoeval_bench.core.progress import progress
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.dataset.assembly import fingerprint
from repoeval_bench.dataset.home import shipped
from repoeval_bench.dataset.install import HASHES, uses_file_of
from repoeval_bench.dataset.pack import (
    MANIFEST,
    TREE,
    Pack,
    PackFile,
    PackSource,
    dump_manifest,
    new_folder,
    write_plain,
)
from repoeval_bench.dataset.reading.opening import Npm, PyPI, open_registry
from repoeval_bench.dataset.reading.sampling import make_task
from repoeval_bench.dataset.repoeval import FUNCTION, TaskSet, dump_tasks
from repoeval_bench.dataset.sources import TamperedError
from repoeval_bench.dataset.trees import read_tree
from repoeval_bench.dataset.uses_table import table_lines

FILES, TASKS, USES = "files.tsv.gz", "tasks.tsv.gz", "uses.tsv.gz"

PROTOCOLS = ("uses", "docstring", "body", "context")
"""Protocols of a shipped pack, the deciding one first."""

AT_ONCE = 8
"""Packages that are fetched at a time."""

HEADER = "task_id\tpath\tcontext_start\tbody_start\tbody_end\tfunction_name"


@cache
def editions() -> dict[str, Path]:
    """Name with edition -> folder, the oldest of a pack first."""
    packs = shipped("packs")
    return {path.parent.name: path.parent for path in sorted(packs.glob(f"*/{MANIFEST}"))} if packs else {}


def edition_of(name: str) -> str | None:
    """The shipped edition of a name, `pypi-40` (its newest) or `pypi-40@2026-11`; None where there is none."""
    known = editions()
    return next((shipped for shipped in reversed(known) if name in {shipped, shipped.partition("@")[0]}), None)


def packages_of(content: PackFile) -> dict[str, list[str]]:
    """Domain -> the packages of a shipped pack in it, each with its version as its registry writes them."""
    domains: dict[str, list[str]] = defaultdict(list)
    version = "@" if registry_of(content) == "npm" else "=="
    for source in content.sources:
        facts = source.model_extra or {}
        domains[facts["domain"]].append(f"{facts['package']}{version}{facts['version']}")
    return domains


def registry_of(content: PackFile) -> str:
    """The kind of registry that the packages are from: `pypi` or `npm`."""
    return "npm" if any(source.kind == "npm" for source in content.sources) else "pypi"


def shipped_pack(name: str) -> Pack | None:
    """The facts of a shipped pack by its name, or by the folder of an edition of your own; None where there is none."""
    if versioned := edition_of(name):
        return Pack.find(str(editions()[versioned]))
    return Pack.find(name) if (Path(name).expanduser() / FILES).is_file() else None


def read_table(path: Path) -> str:
    """The text of a compressed table."""
    return gzip.decompress(path.read_bytes()).decode()


def make_edition(shipped: Pack, target: Path) -> Pack:
    """Make the pack of shipped facts in the folder `target`, in place of one that is there.

    DatasetError: a package cannot be fetched, or is not the file that was pinned, or what comes out has another
    fingerprint.
    """
    # Nothing is drawn or resolved again, so later rules do not change an edition.
    names = table_lines(read_table(shipped.root / FILES))[1:]
    with new_folder(target) as folder:
        _fetch_all(shipped.content, frozenset(names), folder / TREE)
        files = {source.repository: files_of(folder, source.repository) for source in shipped.content.sources}
        tasks = list(_tasks(read_table(shipped.root / TASKS), files))
        _check(shipped.content, tasks, files)
        path = folder / "tasks" / task_set_of_pack(shipped.content).task_file
        write_plain(path, dump_tasks(tasks))
        hashes = (f"{sha256_file(folder / TREE / name)}  {name}\n" for name in names)
        write_plain(folder / TREE / HASHES, "".join(sorted(hashes)).encode())
        write_plain(folder / MANIFEST, dump_manifest(shipped.content))
        shutil.rmtree(target, ignore_errors=True)
    pack = Pack(target, shipped.content)
    write_uses(pack, shipped)
    return pack


def write_uses(pack: Pack, shipped: Pack) -> None:
    """Write what the tasks of a pack use, by the shipped table, unless it is there."""
    # A later version may ship another table for the same pack: it is not part of a repository's fingerprint.
    path = uses_file_of(pack.installed(task_set_of_pack(pack.content)).task_file)
    table = read_table(shipped.root / USES).encode()
    if not path.is_file() or path.read_bytes() != table:
        with os_errors_as(DatasetError, f"{path} cannot be written", "name another folder with --home"):
            write_atomic(path, table)


def task_set_of_pack(content: PackFile) -> TaskSet:
    """Return the task set of the tasks that ship."""
    return TaskSet(FUNCTION.name, content.context, content.tokenizer)


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


def _tasks(table: str, files: Mapping[str, tuple[SourceFile, ...]]) -> Iterator[Task]:
    """Yield the tasks of a table, whose texts are read at their lines."""
    by_name = {file.name: file for of_repo in files.values() for file in of_repo}
    for line in table_lines(table)[1:]:
        task_id, path, context_start, start, end, name = line.split("\t")
        body = LineSpan(int(start), int(end))
        file = by_name[f"{task_id.rpartition('/')[0]}/{path}"]
        yield make_task(file, body, LineSpan(int(context_start), body.start), task_id=task_id, name=name)


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
