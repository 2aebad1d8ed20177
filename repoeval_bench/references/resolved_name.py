"""A name that was read, and what it leads to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from repoeval_bench.core.uses import KINDS, CodeDefinition, Kind

Reason = Literal["builtin", "third party", "dynamic", "unresolved"]
"""Reasons for no definition: a name is the language's own, another package's, known at run time alone, or not found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedName:
    """A name at a place (0-based line, column in characters): its definitions, or the reason why there are none.

    A local, a parameter or a module has neither. `kinds` are what it can be at its place.
    """

    name: str
    line: int
    column: int
    definitions: tuple[CodeDefinition, ...] = ()
    reason: Reason | None = None
    kinds: frozenset[Kind] = KINDS
