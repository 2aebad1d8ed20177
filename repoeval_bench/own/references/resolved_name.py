"""A name in a file, and the definitions that it refers to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from repoeval_bench.core.uses import CodeDefinition

Reason = Literal["builtin", "third party", "dynamic", "unresolved"]
"""Reasons for no definition: a name is the language's own, another package's, known only at run time, or not found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedName:
    """A name at a position (0-based line, column in characters): its definitions, or the reason why there are none.

    A local, a parameter or a module has neither.
    """

    name: str
    line: int
    column: int
    definitions: tuple[CodeDefinition, ...] = ()
    reason: Reason | None = None
