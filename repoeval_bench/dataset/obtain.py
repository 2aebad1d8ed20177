"""Which source serves: the one that was named, or with `auto` the best that is there or can be reached."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from repoeval_bench.core.errors import DatasetError, UsageError
from repoeval_bench.core.spec import nearest
from repoeval_bench.dataset import index
from repoeval_bench.dataset.install import InstalledSet, SourceError, find_set, install, installed_sets

if TYPE_CHECKING:
    from collections.abc import Collection

    from repoeval_bench.dataset.index import Combination
    from repoeval_bench.dataset.install import Source

NAMED = ("auto", "github", "pypi")
"""Sources with a name; any other is a folder or an address."""


@dataclass(frozen=True, slots=True)
class Obtained:
    """An installed set; `fetched` where something was fetched just now; `notes` on what went otherwise."""

    installed: InstalledSet
    fetched: bool = False
    notes: tuple[str, ...] = ()


def obtain(source: str, combination: Combination, home: Path, *, upgrade: bool = False) -> Obtained:
    """The set of a source with this combination in it, fetched under `home` where it is missing.

    `auto` takes the largest set of the published benchmark that is installed, else `github`, else `pypi`.
    With `upgrade` it tries for more where the best installed set is a part. UsageError: no such source, or
    one that cannot hold the combination; DatasetError: nothing could be obtained.
    """
    if source in {"", "auto"}:
        return _auto(combination, home, upgrade=upgrade)
    return _fetch(open_source(source, combination, home), combination, home)


def open_source(source: str, combination: Combination, home: Path) -> Source:
    """The source of a name, address or folder; nothing is fetched by opening it."""
    from repoeval_bench.dataset import pypi, sources

    if source == "github":
        return sources.GitHub(home)
    if source == "pypi":
        if combination.level != pypi.LEVEL:
            raise UsageError(
                f"the source pypi carries the {pypi.LEVEL} level only; for level {combination.level} "
                "take github or --source FOLDER"
            )
        return pypi.PyPI()
    if source.startswith(("http://", "https://")):
        if not _is_address(source):
            raise UsageError(f"the source {source!r} is no address; write it as https://host/folder")
        return sources.MirrorUrl(source, home)
    if "/" not in source and "\\" not in source and not Path(source).exists():
        raise UsageError(f"{nearest('source', source, NAMED)} (an address or an existing folder is one too)")
    return sources.MirrorFolder(Path(source))


def known_repositories(source: str, combination: Combination, home: Path) -> Collection[str] | None:
    """The repositories of a source, as far as they are known before anything of it is fetched; None: they are not.

    Known are those of the published function level. A UsageError where there is no such source or it cannot hold the
    combination; what else is wrong with it is told when it is read.
    """
    if source not in {"", "auto"}:
        try:
            opened = open_source(source, combination, home)
        except DatasetError:
            return None
        # Of an address, whether it holds a custom set is known once it was fetched from.
        at_address = source.startswith(("http://", "https://"))
        found = find_set(home, opened.folder) if at_address else opened
        if found is None or not found.facts.official:
            return None
    return index.repositories() if combination.level == "function" else None


def _is_address(source: str) -> bool:
    try:
        parts = urlsplit(source)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that do not close, a port that is no number
        return False


def count_tasks(installed: InstalledSet, combination: Combination) -> int:
    """Tasks of a combination's file, by its lines."""
    return sum(1 for line in installed.task_file(combination).read_bytes().split(b"\n") if line.strip())


def _fetch(source: Source, combination: Combination, home: Path) -> Obtained:
    before = find_set(home, source.folder)
    if before is not None and before.holds(combination):
        return Obtained(before)
    installed = install(home, source, combination)
    notes = []
    if source.left_out:
        count, names = len(source.left_out), ", ".join(source.left_out[:5])
        more = f" and {count - 5} more" if count > 5 else ""
        notes.append(f"left out {count} {'file' if count == 1 else 'files'} not RepoEval's: {names}{more}")
    return Obtained(installed, fetched=True, notes=tuple(notes))


def _auto(combination: Combination, home: Path, *, upgrade: bool) -> Obtained:
    held = [found for found in installed_sets(home) if found.facts.official and found.holds(combination)]
    best = max(held, key=lambda found: count_tasks(found, combination), default=None)
    if best is not None:
        if not upgrade or count_tasks(best, combination) == combination.published.tasks:
            return Obtained(best)
        names = ["github"]  # a part came from pypi: there is no more of it there
    else:
        names = ["github", "pypi"] if combination.level == "function" else ["github"]
    problems = []
    for name in names:
        try:
            obtained = _fetch(open_source(name, combination, home), combination, home)
        except SourceError as error:
            problems.append(f"{name}: {error}")
        else:
            return Obtained(obtained.installed, fetched=True, notes=(*problems, *obtained.notes))
    if best is not None:
        return Obtained(best, notes=tuple(problems))
    raise DatasetError(
        f"no source of RepoEval's {combination.level} level could be used ({'; '.join(problems)}); "
        "name a folder that holds the archives with --source FOLDER"
    )
