"""A repository's history, read from its objects: commits, changed paths and files. Nothing configured runs.

git is not started and nothing is fetched, so a shallow or partial clone is read as far as its objects reach.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property, lru_cache, partial
from heapq import heappop, heappush
from pathlib import Path
from time import time
from typing import Any, NamedTuple, Self

from repoeval_bench.core.errors import DatasetError, NoDataError, UsageError, os_errors_as
from repoeval_bench.dataset.reading.checkout import (
    UnreadableCheckoutError,
    control_folders,
    head_commit,
    is_bare,
    open_objects,
)
from repoeval_bench.dataset.reading.code import endings_beside, name_reason
from repoeval_bench.dataset.reading.origin import name_of_repository

MAX_COMMITS = 50_000
"""Commits that are read at most, newest first: five years of nearly every repository."""

_SLOP = 5
"""Commits that a walk looks at beyond one that is too old, as git's: a wrong clock dates single commits."""

_LAST_TIME = 253_402_300_799
"""The end of the year 9999, and of Python's calendar."""

_CACHED_TREES, _CACHED_BLOBS = 200, 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit: ids of itself, its parents and its tree; its time in seconds, its author, and its message."""

    id: str
    parents: tuple[str, ...]
    tree: str
    time: int
    author: str
    message: str

    @property
    def day(self) -> str:
        """The day of its time, in UTC: `2024-03-01`."""
        return datetime.fromtimestamp(min(self.time, _LAST_TIME), UTC).date().isoformat()


class FileChange(NamedTuple):
    """A path at which two trees differ: the ids of its content before and after, None where it is no file."""

    path: str
    before: str | None
    after: str | None


class MissingObjectError(Exception):
    """A shallow or partial clone lacks an object."""


class History:
    """A repository that is open for reading; close it, or use it in a `with` block.

    `prefix` is the folder of the repository whose files are read, "" for all of them. `extensions` are endings that are
    asked for beside the ten languages.
    """

    def __init__(self, name: str, head: str, prefix: str, common: Path, extensions: tuple[str, ...] = ()) -> None:
        """Open the objects of the folder `common`, which holds its references too."""
        self.name, self.head, self.prefix, self._extensions = name, head, prefix, extensions
        self._common, self._store = common, open_objects(common, head)
        self._id_bytes = len(head) // 2
        self._shallow: frozenset[str] = frozenset()
        """The commits whose parents a shallow clone lacks."""
        with suppress(FileNotFoundError):
            self._shallow = frozenset((common / "shallow").read_text("ascii").split())
        self.commit = lru_cache(MAX_COMMITS)(self._read_commit)
        self._entries = lru_cache(_CACHED_TREES)(self._read_tree)
        self.blob = lru_cache(_CACHED_BLOBS)(partial(self._raw, kind="blob"))
        """Returns the content of a file; MissingObjectError if it is not here."""

    def __reduce__(self) -> tuple[object, ...]:
        return _reopened, (self.name, self.head, self.prefix, self._common, self._extensions)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()

    def _read_commit(self, commit_id: str) -> Commit:
        """Read a commit; MissingObjectError if it is not here."""
        from dulwich.objects import Commit as Parsed

        parsed = Parsed.from_string(self._raw(commit_id, "commit"))
        parents = () if commit_id in self._shallow else tuple(parent.decode() for parent in parsed.parents)
        return Commit(
            id=commit_id,
            parents=parents,
            tree=parsed.tree.decode(),
            time=parsed.commit_time,
            author=_decoded(parsed.author, parsed.encoding),
            message=_decoded(parsed.message, parsed.encoding),
        )

    def is_end(self, commit: Commit) -> bool:
        """Return whether a shallow clone ends at this commit, so that its parents are not known."""
        return commit.id in self._shallow

    def log(self, since: int = 0) -> Iterator[Commit]:
        """Yield the commits from HEAD that are not older than a time, newest first, at most `MAX_COMMITS`.

        An older one whose ancestors are not older was dated by a wrong clock: it comes after its child.
        """
        queue: list[tuple[int, str, Commit]] = []
        seen = set()

        def push(commit_id: str, key: int) -> None:
            if commit_id in seen:
                return
            seen.add(commit_id)
            try:
                commit = self.commit(commit_id)
            except MissingObjectError:
                return
            if commit.time >= since:
                heappush(queue, (-commit.time, commit_id, commit))
            elif any(older.time >= since for older in self._first_parents(commit_id)):
                heappush(queue, (key, commit_id, commit))

        push(self.head, 0)
        for _ in range(MAX_COMMITS):
            if not queue:
                return
            key, _, commit = heappop(queue)
            yield commit
            for parent in commit.parents:
                push(parent, key)

    @property
    def now(self) -> int:
        """The time of HEAD; one that a wrong clock set is replaced by that of the commits before it."""
        times = [commit.time for commit in self._first_parents(self.head)]
        return max((one for one in times if one <= time()), default=times[0])

    def _first_parents(self, commit_id: str) -> list[Commit]:
        """A commit and a few ancestors, as far as they are here."""
        line: list[Commit] = []
        ids: tuple[str, ...] = (commit_id,)
        while ids and len(line) <= _SLOP:
            try:
                line.append(self.commit(ids[0]))
            except MissingObjectError:
                break
            ids = line[-1].parents
        return line

    def changes_of(self, commit: Commit) -> list[FileChange]:
        """Return the files in which a commit differs from its first parent; MissingObjectError if one is not here."""
        before = self._root(self.commit(commit.parents[0]).tree)
        return list(self._changes(before, self._root(commit.tree), ""))

    def files(self, tree: str) -> dict[str, str]:
        """Path -> id of the content, of the regular files of a root tree."""
        return {path: after for path, _, after in self._changes(None, self._root(tree), "") if after}

    def lacks_code(self, tree: str) -> bool:
        """Return whether a partial clone lacks the content of a file of code of a root tree."""
        files = self.files(tree)
        return any(
            name_reason(path, files, self.beside) is None and blob.encode() not in self._store  # type: ignore[operator]
            for path, blob in files.items()
        )

    def read_root(self, tree: str) -> None:
        """Read the first folder of a root tree; MissingObjectError if it is not here."""
        if here := self._root(tree):
            self._entries(here)

    @cached_property
    def beside(self) -> frozenset[str]:
        """The endings that are read beside those of the ten languages, by the files of the newest commit."""
        try:
            paths = self.files(self.commit(self.head).tree)
        except MissingObjectError:
            return frozenset(self._extensions)
        return endings_beside(paths, self._extensions)

    def time_of(self, text: str) -> int:
        """The time of a commit by its tag, branch or id, or of a date (`2024-03-01`); else a UsageError.

        A tag or branch may look like a date, `20240301`.
        """
        from dulwich.objectspec import AmbiguousShortId, parse_commit
        from dulwich.refs import DiskRefsContainer
        from dulwich.repo import BaseRepo

        with suppress(KeyError, ValueError, AmbiguousShortId):
            commit = parse_commit(BaseRepo(self._store, DiskRefsContainer(self._common)), text)
            return int(commit.commit_time)
        try:
            day = date.fromisoformat(text)
        except ValueError as error:
            raise UsageError(
                f"{text!r} is neither a date nor a commit that this clone of {self.name} has; write 2024-03-01, an id, "
                "a tag or a branch, or fetch its commit"
            ) from error
        return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())

    def _root(self, tree: str) -> str | None:
        """The tree of `prefix` in a root tree."""
        here: str | None = tree
        for folder in filter(None, self.prefix.split("/")):
            entries = self._entries(here) if here else ()
            named = (one.decode() for name, mode, one in entries if os.fsdecode(name) == folder and stat.S_ISDIR(mode))
            here = next(named, None)
        return here

    def _changes(self, before: str | None, after: str | None, prefix: str) -> Iterator[FileChange]:
        """The files below a folder that differ in two trees (None: the empty one), without links and submodules."""
        if before == after:  # most subtrees are equal, and neither is read
            return
        trees = [frozenset() if tree is None else self._entries(tree) for tree in (before, after)]
        old, new = (
            {os.fsdecode(name): (mode, entry.decode()) for name, mode, entry in differing}
            for differing in (trees[0] - trees[1], trees[1] - trees[0])
        )
        for name in sorted(old.keys() | new.keys()):
            was, now = old.get(name, (0, None)), new.get(name, (0, None))
            old_tree, new_tree = (tree if stat.S_ISDIR(mode) else None for mode, tree in (was, now))
            yield from self._changes(old_tree, new_tree, f"{prefix}{name}/")
            old_file, new_file = (blob if stat.S_ISREG(mode) else None for mode, blob in (was, now))
            if old_file != new_file:
                yield FileChange(prefix + name, old_file, new_file)

    def _read_tree(self, tree: str) -> frozenset[tuple[bytes, int, bytes]]:
        """Name, mode and id of each entry: sets differ faster than what is decoded."""
        from dulwich.objects import parse_tree

        return frozenset(parse_tree(self._raw(tree, "tree"), sha_len=self._id_bytes))

    def _raw(self, object_id: str, kind: str) -> bytes:
        try:
            number, raw = self._store.get_raw(object_id.encode())  # type: ignore[arg-type]
        except KeyError as error:
            raise MissingObjectError(object_id) from error
        except Exception as error:  # a broken file can fail anywhere in the library
            raise self._broken(object_id) from error
        if number != {"commit": 1, "tree": 2, "blob": 3}[kind]:
            raise self._broken(object_id)
        return raw

    def _broken(self, object_id: str) -> DatasetError:
        return DatasetError(
            f"the history of {self.name} cannot be read: its object {object_id} is broken; clone it again"
        )


def _decoded(raw: bytes | None, encoding: bytes | None) -> str:
    """Decode what a commit says, by its header `encoding` if Python knows it; a message may be missing."""
    text = raw or b""
    try:
        return text.decode((encoding or b"utf-8").decode("ascii"), "replace")
    except (LookupError, ValueError):
        return text.decode("utf-8", "replace")


@contextmanager
def history_of(folder: Path | str, extensions: tuple[str, ...] = ()) -> Iterator[History]:
    """Open the history of a checkout, a folder in one, or a bare repository; `extensions`: see `History`.

    NoDataError: the folder is in no repository, or has no commit. DatasetError: its objects cannot be read.
    """
    root = Path(folder).expanduser().resolve()
    if not root.is_dir():
        raise NoDataError(f"{folder} is not a folder; name a checkout, a folder in one, or a bare repository")
    above = (folder for folder in (root, *root.parents) if os.path.lexists(folder / ".git"))
    top = root if is_bare(root) else next(above, None)
    if top is None:
        raise NoDataError(f"{folder} is not in a git repository; name a checkout or a bare repository")
    try:
        with os_errors_as(DatasetError, f"the history of {folder} cannot be read", "make it readable"):
            control, common = control_folders(top)
            head = head_commit(control, common)
    except UnreadableCheckoutError as error:
        raise DatasetError(f"the history of {folder} cannot be read: {error}; {error.cure}") from error
    if not head:
        raise NoDataError(f"{folder} is on a branch that has no commit yet; check out one with a history")
    prefix = "" if root == top else root.relative_to(top).as_posix()
    with History(name_of_repository(root), head, prefix, common, extensions) as history:
        yield history


@lru_cache(maxsize=1)
def _reopened(*of: Any) -> History:
    """Open a history again, in a worker process, which reads many parts of it."""
    return History(*of)
