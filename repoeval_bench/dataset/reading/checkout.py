"""Read a git checkout: the commit, the tracked paths, which other paths git ignores; or a bare repository's HEAD."""

# Nothing that a checkout configures can run or be fetched: git is not started, and the configuration, which can name
# programs, is not opened. dulwich is imported where it is used, which takes 80 ms.

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dulwich.object_format import ObjectFormat
    from dulwich.object_store import DiskObjectStore
    from dulwich.objects import ObjectID


class UnreadableCheckoutError(Exception):
    """A checkout is broken, or holds what is not read. The text is the reason, without the folder; `cure` helps."""

    def __init__(self, reason: str, cure: str = "clone it again") -> None:
        super().__init__(reason)
        self.cure = cure


@contextmanager
def _unreadable(broken: str, where: str = "") -> Iterator[None]:
    """Raise what fails in the block as an UnreadableCheckoutError, with the reason `broken` if the library failed."""
    try:
        yield
    except UnreadableCheckoutError:
        raise
    except OSError as error:
        raise UnreadableCheckoutError(f"{error.strerror or 'a file'}{where}") from error
    except Exception as error:  # a broken file, a split or a sparse index can fail anywhere in the library
        raise UnreadableCheckoutError(broken) from error


@dataclass(frozen=True, slots=True)
class Checkout:
    """Facts of a checkout's folder."""

    commit: str
    """Id of the commit that is checked out, "" before the first."""
    known: frozenset[str]
    """The requested paths that are tracked or not ignored."""


def is_repository(folder: Path) -> bool:
    """Return whether a folder is the top of a checkout, a linked worktree or a submodule."""
    git = folder / ".git"
    return git.is_file() or (git / "HEAD").exists()


def is_bare(folder: Path) -> bool:
    """Return whether a folder is a bare repository, or the `.git` of a checkout."""
    return (folder / "HEAD").is_file() and all((folder / name).is_dir() for name in ("objects", "refs"))


@dataclass(frozen=True, slots=True)
class CommittedFiles:
    """Regular files of the commit at a bare repository's HEAD."""

    commit: str
    """Id of the commit, "" before the first."""
    paths: frozenset[str]
    missing: int
    """Files whose content a partial clone lacks."""
    read: Callable[[], Iterator[tuple[str, bytes]]]
    """Yields path and content of the files that are here."""


def read_bare(root: Path) -> CommittedFiles:
    """Read the tree at the HEAD of a bare repository; UnreadableCheckoutError if it cannot be read."""
    with _unreadable("its objects are broken or incomplete"):
        control, common = control_folders(root)
        commit = head_commit(control, common)
        if not commit:
            return CommittedFiles("", frozenset(), 0, lambda: iter(()))
        with closing(open_objects(common, commit)) as store:
            files = dict(_committed(store, commit))
            here = {path: blob for path, blob in files.items() if blob in store}

    def read() -> Iterator[tuple[str, bytes]]:
        with closing(open_objects(common, commit)) as store:
            for path, blob in sorted(here.items()):
                yield path, store.get_raw(blob)[1]

    return CommittedFiles(commit, frozenset(here), len(files) - len(here), read)


def _committed(store: DiskObjectStore, commit: str) -> Iterator[tuple[str, ObjectID]]:
    """Yield path and blob id of each regular file of a commit."""
    from dulwich.object_store import iter_tree_contents
    from dulwich.objects import Commit, ObjectID

    head = store[ObjectID(commit.encode())]
    if not isinstance(head, Commit):
        raise UnreadableCheckoutError("its HEAD names no commit")
    for entry in iter_tree_contents(store, head.tree):
        if entry.path and entry.sha and entry.mode and stat.S_ISREG(entry.mode):
            yield os.fsdecode(entry.path), entry.sha


def read_checkout(root: Path, paths: Collection[str]) -> Checkout | None:
    """Read the checkout that a resolved folder is in; `paths` are files below it.

    None if the folder is in no checkout, or its checkout ignores it. UnreadableCheckoutError if it cannot be read.
    """
    top = next((folder for folder in (root, *root.parents) if os.path.lexists(folder / ".git")), None)
    if top is None:
        return None
    with _unreadable("its .git is broken, or its index is split or sparse", " in .git"):
        return _read(top, root, paths)


def _read(top: Path, root: Path, paths: Collection[str]) -> Checkout | None:
    from dulwich.index import ConflictedIndexEntry, Index

    # dulwich's `Repo` is not used: it reads the configuration, and its reader of reftables writes.
    prefix = "" if root == top else f"{root.relative_to(top).as_posix()}/"
    control, common = control_folders(top)
    commit = head_commit(control, common)
    index = Index(control / "index", object_format=_format_of(commit))
    tracked: set[str] = set()
    submodules: set[str] = set()
    for raw, entry in index.items():
        path = os.fsdecode(raw)
        if not isinstance(entry, ConflictedIndexEntry) and stat.S_IFMT(entry.mode) == _GITLINK:
            submodules.add(path)
        elif path.startswith(prefix):
            tracked.add(path.removeprefix(prefix))
    rules = _IgnoreRules(top, common / "info" / "exclude", submodules)
    if prefix and not tracked and rules.skip_folder(prefix.rstrip("/")):
        return None
    return Checkout(commit, frozenset(path for path in paths if path in tracked or not rules.skip_file(prefix + path)))


# Mode of a submodule in an index.
_GITLINK = 0o160000


def control_folders(top: Path) -> tuple[Path, Path]:
    """Return the folder of a worktree's own state and the folder that all worktrees share.

    A folder without `.git` is a bare repository.
    """
    control = top / ".git" if os.path.lexists(top / ".git") else top
    if not control.is_dir():
        # The file of a linked worktree or a submodule is followed wherever it points, as git does.
        name = os.fsdecode(control.read_bytes()).strip()
        if not name.startswith("gitdir: "):
            raise UnreadableCheckoutError("its .git is neither a folder nor names one")
        control = top / name.removeprefix("gitdir: ")
    shared = control / "commondir"
    common = control / os.fsdecode(shared.read_bytes()).strip() if os.path.lexists(shared) else control
    if (common / "reftable").exists():
        raise UnreadableCheckoutError("its branches are in a reftable", "clone it again with --ref-format=files")
    if not (control / "HEAD").exists():
        raise UnreadableCheckoutError("its .git has no HEAD")
    return control, common


def head_commit(control: Path, common: Path) -> str:
    """Return the id of the commit that is checked out, "" before the first."""
    from dulwich.refs import HEADREF, DiskRefsContainer

    _, commit = DiskRefsContainer(common, control).follow(HEADREF)
    if commit is None:
        return ""
    if not re.fullmatch(rb"[0-9a-f]{40}|[0-9a-f]{64}", commit):
        raise UnreadableCheckoutError("its HEAD names no commit")
    return commit.decode()


# Bytes of a pack's objects that are kept for those stored as their differences. By default it is 96 MiB: for each pack,
# in each process that reads a history, and hardly faster.
_CACHED_BASES = 16 << 20


def open_objects(common: Path, commit: str) -> DiskObjectStore:
    """Open the objects of a checkout, which have ids like that of `commit`; nothing is fetched. Close it after."""
    from dulwich.object_store import DiskObjectStore

    objects = common / "objects"
    return DiskObjectStore(objects, delta_base_cache_limit=_CACHED_BASES, object_format=_format_of(commit))


def _format_of(commit: str) -> ObjectFormat:
    from dulwich.object_format import SHA1, SHA256

    return SHA256 if len(commit) == SHA256.hex_length else SHA1


class _IgnoreRules:
    """Decide which untracked paths git skips, by `.gitignore` of all folders and `.git/info/exclude`.

    Paths are posix, from the checkout's top. Other repositories in it and submodules are skipped too.
    """

    # Excludes of the user for all repositories are not known: only git's configuration names them.

    def __init__(self, top: Path, exclude: Path, submodules: Collection[str]) -> None:
        from dulwich.ignore import IgnoreFilter, IgnoreFilterManager

        shared = [IgnoreFilter.from_path(str(exclude))] if exclude.is_file() else []
        self._filters = IgnoreFilterManager(str(top), shared, ignorecase=False)
        self._top = top
        self._submodules = submodules
        self._skipped: dict[str, bool] = {"": False}

    def skip_file(self, path: str) -> bool:
        """Return whether git skips a file that it does not track."""
        return self.skip_folder(path.rpartition("/")[0]) or bool(self._filters.is_ignored(path))

    def skip_folder(self, path: str) -> bool:
        """Return whether git skips a folder without tracked files."""
        if path not in self._skipped:
            is_other = path in self._submodules or is_repository(self._top / path)
            self._skipped[path] = is_other or self.skip_file(path)
        return self._skipped[path]
