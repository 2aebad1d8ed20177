"""What the types of static languages ask about names; `visible_names` answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from repoeval_bench.core.spans import LineSpan

if TYPE_CHECKING:
    from repoeval_bench.core.definitions import Definition as Parsed
    from repoeval_bench.references.python_modules import Reason
    from repoeval_bench.references.steps import Steps

Found: TypeAlias = "Sequence[tuple[str, Parsed]]"
"""(file, definition) of each definition that a name may mean."""


class NameLookup(Protocol):
    """The meaning of names without an object: (file, definition) of each, or the reason why there is none."""

    @property
    def steps(self) -> Steps:
        """What the work for the task at hand is counted with."""

    def family(self, path: str) -> str | None:
        """Return the language family of a file; None where it has none."""

    def defined(self, path: str) -> Sequence[Parsed]:
        """Return the definitions of a file."""

    def bare(self, path: str, lines: LineSpan, name: str) -> tuple[Found, Reason | None]:
        """Return what a name alone means on some lines of a file, locals aside."""

    def of_module(self, path: str, steps: Sequence[str], name: str) -> tuple[Found, Reason | None]:
        """Return what a name of the module means whose name has these parts."""

    def types(self, path: str, steps: Sequence[str]) -> tuple[Found, Reason | None]:
        """Return the type whose name has these parts."""

    def members(self, path: str, classes: Iterable[tuple[str, Parsed]], name: str) -> Found:
        """Return the members of that name of the first class that has one."""

    def fitting(self, found: Found, arguments: int | None) -> Found:
        """Return what a call with so many arguments can be for; all of them where that leaves none."""
