"""The definitions of a repository, by line and by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.uses import CodeDefinition

if TYPE_CHECKING:
    from repoeval_bench.own.references.resolved_name import ResolvedName


class DefinitionReader(Protocol):
    """Reads the names and the definitions of the files of some languages."""

    def knows(self, path: str) -> bool:
        """Return whether a file is in one of the languages."""

    def names_in(self, path: str, lines: LineSpan) -> Sequence[ResolvedName] | None:
        """Return every name on these lines in order; None if the file cannot be read."""

    def defined_at(self, path: str, line: int, name: str, target_span: LineSpan | None = None) -> CodeDefinition | None:
        """Return the definition of this name that is bound on a line (0-based); none inside the target."""

    def around(self, path: str, lines: LineSpan) -> frozenset[CodeDefinition]:
        """Return the functions and methods that these lines are in."""


class Definitions:
    """The definitions of all files, read by the rules of their languages."""

    def __init__(self, *readers: DefinitionReader) -> None:
        self._readers = readers

    def reader(self, path: str) -> DefinitionReader | None:
        """Return the reader of a file; None if its language is not known."""
        return next((reader for reader in self._readers if reader.knows(path)), None)

    def defined_at(self, path: str, line: int, name: str, target_span: LineSpan | None = None) -> CodeDefinition | None:
        """Return the definition of this name that is bound on a line (0-based); none inside the target."""
        reader = self.reader(path)
        return reader.defined_at(path, line, name, target_span) if reader else None
