"""Origins of code: a folder, a git checkout, a bare repository or an archive, each as a list of files in one order.

Nothing of an origin is unpacked, run or imported.
"""

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from repoeval_bench.core.errors import DatasetError, os_errors_as
from repoeval_bench.dataset.archives import ArchiveEntry, read_archive
from repoeval_bench.dataset.pack import MANIFEST
from repoeval_bench.dataset.reading.checkout import (
    UnreadableCheckoutError,
    is_bare,
    is_repository,
    read_bare,
    read_checkout,
)
from repoeval_bench.dataset.reading.code import Origin, name_reason
from repoeval_bench.dataset.trees import refuse_folder


def repository_name(text: str) -> str:
    """A name that a task's id and a list of names can hold: letters, digits, `_`, `.` and single `-`."""
    name = re.sub(r"[^\w.-]+", "_", text).strip("._-")
    return re.sub(r"--+", "_", name) or "source"


def name_of_repository(folder: Path) -> str:
    """The name of a repository in such a folder: `shop` for `shop`, `shop.git` and `shop/.git`."""
    return repository_name((folder.parent if folder.name == ".git" else folder).name.removesuffix(".git"))


def of_archive(path: Path, name: str, facts: Mapping[str, object]) -> Origin:
    """An archive that is this repository, its outermost folder left out."""
    listed = list(read_archive(path))
    files = [member.path for member in listed if not member.is_link]
    tops = {file.partition("/")[0] if "/" in file else "" for file in files}
    # The outermost folders of a wheel are packages.
    top = f"{min(tops)}/" if len(tops) == 1 and not path.name.endswith(".whl") else ""
    links = len(listed) - len(files)
    return Origin(
        name=name,
        facts=facts,
        paths=frozenset(file.removeprefix(top) for file in files),
        entries=lambda: (
            member._replace(path=member.path.removeprefix(top)) for member in read_archive(path) if not member.is_link
        ),
        skipped={"link": links} if links else {},
    )


def open_folder(path: Path) -> Origin:
    """A folder with everything that is in it, without what git ignores in a checkout that it is in or that is in it.

    A bare repository has the files of its HEAD. A checkout that cannot be read is a plain folder with a note.
    DatasetError: the folder or bare repository cannot be read.
    """
    root = path.resolve()
    if is_bare(root):
        return _open_bare(path, root)
    if (root / MANIFEST).is_file():
        raise DatasetError(f"{path} is a pack already; name it with --source, or build a pack of its sources")
    paths, skipped, repositories = _walk(root)
    facts = {"kind": "folder"}
    notes: list[str] = []
    known: frozenset[str] | None = None
    try:
        checkout = read_checkout(root, paths)
    except UnreadableCheckoutError as error:
        notes.append(_not_read(path, error))
    else:
        if checkout:
            facts = {"kind": "git", "commit": checkout.commit}
        known = checkout.known if checkout else _known_in(root, repositories, paths, notes)
    if known is not None:
        skipped["ignored by git"] = sum(name_reason(path) is None for path in set(paths) - known)
        paths = [known_path for known_path in paths if known_path in known]
    return Origin(
        name=repository_name(root.name),
        facts=facts,
        paths=frozenset(paths),
        entries=lambda: _entries(root, paths),
        skipped=+skipped,
        notes=tuple(notes),
    )


def _open_bare(path: Path, root: Path) -> Origin:
    try:
        committed = read_bare(root)
    except UnreadableCheckoutError as error:
        raise DatasetError(f"the repository {path} cannot be read: {error}; {error.cure}") from error
    return Origin(
        name=name_of_repository(root),
        facts={"kind": "git", "commit": committed.commit},
        paths=committed.paths,
        entries=lambda: (ArchiveEntry(file, len(raw), partial(bytes, raw)) for file, raw in committed.read()),
        skipped={"not here": committed.missing} if committed.missing else {},
    )


def _not_read(path: Path, error: UnreadableCheckoutError) -> str:
    return (
        f"{path} is a git checkout that is not read: {error}; it is taken as a plain folder, with the files that git "
        "ignores"
    )


def _known_in(root: Path, repositories: Collection[str], paths: Collection[str], notes: list[str]) -> frozenset[str]:
    """Return the paths of a plain folder that the checkouts in it do not ignore, each read by its own rules.

    Notes name those that cannot be read.
    """
    known = set(paths)
    for prefix in repositories:
        inside = {path.removeprefix(prefix) for path in known if path.startswith(prefix)}
        try:
            checkout = read_checkout(root / prefix, inside)
        except UnreadableCheckoutError as error:
            notes.append(_not_read(root / prefix, error))
            continue
        known -= {f"{prefix}{path}" for path in inside - (checkout.known if checkout else inside)}
    return frozenset(known)


def _entries(root: Path, paths: list[str]) -> Iterator[ArchiveEntry]:
    def readable(file: Path) -> AbstractContextManager[None]:
        return os_errors_as(DatasetError, f"{file} cannot be read", "make it readable, or name another source")

    def read(file: Path) -> bytes:
        with readable(file):
            return file.read_bytes()

    for path in paths:
        with readable(root / path):
            size = (root / path).stat().st_size
        yield ArchiveEntry(path, size, partial(read, root / path))


def _walk(root: Path) -> tuple[list[str], Counter[str], list[str]]:
    """Every regular file by posix path, sorted; numbers of links and other packs; prefixes of outermost checkouts."""
    paths: list[str] = []
    skipped: Counter[str] = Counter()
    repositories: list[str] = []
    for folder, subfolders, names in os.walk(root, onerror=refuse_folder):  # links to folders are not entered
        where = Path(folder).relative_to(root).as_posix()
        prefix = "" if where == "." else f"{where}/"
        if MANIFEST in names and prefix:
            skipped["pack"] += 1
            subfolders.clear()
            continue
        if prefix and not prefix.startswith(tuple(repositories)) and is_repository(Path(folder)):
            repositories.append(prefix)
        for name in {*subfolders, *names} - {".git"}:
            path = os.path.join(folder, name)  # noqa: PTH118  # with the calls below 4x faster in large trees
            if os.path.islink(path):  # noqa: PTH114
                skipped["link"] += 1
            elif os.path.isfile(path):  # noqa: PTH113
                paths.append(prefix + name)
        subfolders[:] = sorted(subfolder for subfolder in subfolders if subfolder != ".git")
    return sorted(paths), skipped, repositories
