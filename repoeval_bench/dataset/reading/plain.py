"""Code without tasks, for questions about it that need no pack: its files, and a folder of it as a benchmark."""

import os
from collections.abc import Collection, Sequence
from itertools import chain
from operator import attrgetter
from pathlib import Path

from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.errors import NoDataError, UsageError
from repoeval_bench.core.files import work_folder
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.words import count
from repoeval_bench.dataset.assembly import fingerprint
from repoeval_bench.dataset.pack import MANIFEST
from repoeval_bench.dataset.reading.code import Gathered, gather, no_code
from repoeval_bench.dataset.reading.opening import open_origin
from repoeval_bench.dataset.repoeval import TaskSet

FOLDER = "folder"
"""The source of such a benchmark."""


def read_code(source: str, extensions: Sequence[str] = ()) -> tuple[str, tuple[SourceFile, ...]]:
    """Name and code of a folder, an archive or a package (`pypi:NAME==VERSION`), by the rules of packs; files by path.

    `extensions` are endings that are read beside those of the ten languages. UsageError: the source does not exist or
    is of no known form; DatasetError: it cannot be fetched or read, or has no code.
    """
    with work_folder("sources") as work:
        origin = open_origin(source, work)
        gathered = Gathered()
        files = [taken.file for taken in gather(origin, (), gathered, extensions) if taken.file]
    if not files:
        raise NoDataError(no_code(origin, gathered, ()))
    for note in origin.notes:
        NOTICES.info(f"note: {note}")
    NOTICES.info(f"{source}: {gathered.summary}")
    if gathered.unread_note:
        NOTICES.info(gathered.unread_note)
    return origin.name, tuple(sorted(files, key=attrgetter("path")))


def code_folders(source: str) -> tuple[str, ...]:
    """The folders of code that a source names, one or several as in PATH; none where it names anything else.

    A folder of code is neither a pack nor one of archives, and not empty.
    """
    names = (source,) if Path(source).exists() else tuple(source.split(os.pathsep))
    return names if all(map(_is_code_folder, names)) else ()


def _is_code_folder(name: str) -> bool:
    path = Path(name).expanduser()
    if not name or not path.is_dir() or (path / MANIFEST).is_file() or any(path.glob("*.zip")):
        return False
    return any(path.iterdir())


def only_of_code(source: str) -> UsageError:
    """Return what to raise where endings of files are asked for in what is no folder of code."""
    return UsageError(f"--extensions is for a folder of code, and {source} is none; leave it out, or name a folder")


def without_tasks(folder: str) -> NoDataError:
    """Return what to raise where a protocol that scores tasks gets such a folder."""
    return NoDataError(
        f"{folder} is a folder of code without tasks; measure chunkers on it with `repoeval-bench recommend FOLDER`, "
        "use queries (--protocol docstring, or --queries FILE), or make a pack with `data build`"
    )


def load_folders(
    folders: Sequence[str], task_set: TaskSet, named: Collection[str] = (), extensions: Sequence[str] = ()
) -> Benchmark:
    """The code of folders by the rules of packs, without tasks; each is a repository of its name.

    If a folder's name is none of `named`, its folders of these names are the repositories, if there are any.
    `extensions` are endings that are read beside those of the ten languages. UsageError: two repositories have one
    name; DatasetError: a folder has no code.
    """
    files: dict[str, tuple[SourceFile, ...]] = {}
    for folder in chain.from_iterable(_repositories(folder, named) for folder in folders):
        name, code = read_code(folder, extensions)
        if name in files:
            raise UsageError(f"two folders of the source are named {name}; rename one, or leave it out")
        files[name] = code
    label = next(iter(files)) if len(files) == 1 else count(len(files), "repository").replace(" ", "-")
    return Benchmark(
        name=f"{FOLDER}-{label}-{task_set}",
        fingerprint=fingerprint((), files),
        level=task_set.level,
        tasks=(),
        files=files,
        source=FOLDER,
        whole_tasks=0,
        whole_repos=len(files),
        extensions=tuple(extensions),
    )


def _repositories(folder: str, named: Collection[str]) -> list[str]:
    path = Path(folder).expanduser().resolve()
    inner = [] if path.name in named else [path / name for name in sorted(named) if (path / name).is_dir()]
    return list(map(str, inner)) or [folder]
