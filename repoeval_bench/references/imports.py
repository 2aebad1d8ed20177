"""Imports of a file, led to files by path: the record, and the files as each language looks them up.

Macros, build systems and path aliases are not read. A module that no file of the repository answers to is outside.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from repoeval_bench.core.source import SourceFile

EVERY = "*"
"""In place of a name: all that a module has."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Import:
    """`name` is bound to `original` of the files; to the files themselves where that is None. No file: outside.

    `exported`: others see it as a name of this file too. `name` may be `EVERY`.
    """

    name: str
    original: str | None
    files: tuple[str, ...]
    exported: bool = False


Reader = Callable[["Imports", str, str], Iterable[Import]]
"""Reads what the file of a path imports from its text."""


class Imports:
    """The imports of each file of a repository, read on first use by what `reader_of` gives for its path.

    `files` is path -> file, `folders` folder -> the paths in it, `tails` file name -> the paths that end so.
    """

    def __init__(self, files: Mapping[str, SourceFile], reader_of: Callable[[str], Reader]) -> None:
        self.files = files
        self.folders: dict[str, list[str]] = defaultdict(list)
        self.tails: dict[str, list[str]] = defaultdict(list)
        for path in sorted(files):
            self.folders[posixpath.dirname(path)].append(path)
            self.tails[posixpath.basename(path)].append(path)
        self._reader_of = reader_of
        self._known: dict[str, tuple[Import, ...]] = {}
        self._once: dict[Hashable, Any] = {}

    def of(self, path: str) -> tuple[Import, ...]:
        """Return what a file imports."""
        if path not in self._known:
            self._known[path] = tuple(self._reader_of(path)(self, path, self.files[path].text))
        return self._known[path]

    def once(self, key: Hashable, read: Callable[[], _T]) -> _T:
        """Return what `read` gives of the files, read on first use."""
        if key not in self._once:
            self._once[key] = read()
        value: _T = self._once[key]
        return value
