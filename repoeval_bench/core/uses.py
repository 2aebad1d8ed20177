"""Definitions that a piece of code uses: their lines, their kind, and how surely they were resolved."""

from dataclasses import dataclass
from typing import Literal, get_args

from repoeval_bench.core.spans import LineSpan, Place

Kind = Literal["function", "method", "class", "variable", "attribute"]

Tier = Literal["resolved", "imported"]
"""Ways to resolve a name, the surest first: static analysis or a SCIP index; its file's scope and imports."""

TIERS: tuple[Tier, ...] = get_args(Tier)

LIMIT = 12
"""The most non-blank lines of a definition that are gold."""


@dataclass(frozen=True, slots=True, order=True)
class CodeDefinition:
    """A definition of a repository; `name` is qualified in its file, as in `Socket.close`.

    `lines` are its gold lines: decorators, header and docstring of a function or class; the statement of a variable.
    In languages other than Python the line of the name is always one of them.
    """

    file: str
    lines: LineSpan
    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class UsedDefinition:
    """A definition, and the surest tier by which a name of the code led to it."""

    definition: CodeDefinition
    tier: Tier

    @property
    def location(self) -> Place:
        """The definition's gold lines."""
        return Place(self.definition.file, self.definition.lines)
