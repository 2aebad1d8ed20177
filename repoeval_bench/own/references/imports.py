"""The imports of files, each with the files of the repository that it means.

Macros, build systems and path aliases are not read. An import that means no file is from outside the repository.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from repoeval_bench.core.source import SourceFile

EVERY = "*"
"""Stands for all names of a module."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Import:
    """An import of a file: `name` is bound to the name `original` of `files`, or to the module if that is None.

    With None, a use `name.member` means a definition at the top of `files`; else see `LanguageRules.looked_up`.

    It has no files if it is from outside the repository. `exported`: other files can import the name from this file.
    `name` may be `EVERY`.
    """

    name: str
    original: str | None
    files: tuple[str, ...]
    exported: bool = False


Reader = Callable[["Imports", str, str], Iterable[Import]]
"""Reads the imports of a file: (imports of the repository, path, text) -> its imports."""


class Imports:
    """The imports of each file of a repository, read on first use by the reader that `reader_of` returns for its path.

    `files` is path -> file, and `others` the same for files that are no code. `folders` is folder -> the paths in it,
    `tails` is file name -> the paths that end in it.
    """

    def __init__(
        self, files: Mapping[str, SourceFile], others: Mapping[str, SourceFile], reader_of: Callable[[str], Reader]
    ) -> None:
        self.files, self.others = files, others
        self.folders: dict[str, list[str]] = defaultdict(list)
        self.tails: dict[str, list[str]] = defaultdict(list)
        for path in sorted(files):
            self.folders[posixpath.dirname(path)].append(path)
            self.tails[posixpath.basename(path)].append(path)
        self._reader_of = reader_of
        self._known: dict[str, tuple[Import, ...]] = {}
        self._once: dict[Hashable, Any] = {}

    def of(self, path: str) -> tuple[Import, ...]:
        """Return the imports of a file."""
        if path not in self._known:
            self._known[path] = tuple(self._reader_of(path)(self, path, self.files[path].text))
        return self._known[path]

    def once(self, key: Hashable, read: Callable[[], _T]) -> _T:
        """Return the result of `read`, which is called once for each key."""
        if key not in self._once:
            self._once[key] = read()
        value: _T = self._once[key]
        return value
