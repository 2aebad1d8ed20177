"""The base of the chunkers of this room: its fields are options, and its spec prints them all."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

from repoeval_bench.core.spec import format_spec


@dataclass(frozen=True, slots=True)
class Cutter:
    """A chunker whose fields are its options, each with a `Doc` in its annotation; the registry reads their values."""

    name: ClassVar[str]

    def __post_init__(self) -> None:
        self.check()

    @property
    def unused(self) -> frozenset[str]:
        """Options that have no effect with the values of the others; they are not in the spec."""
        return frozenset()

    @property
    def spec(self) -> str:
        """`name:key=value,…` with every option."""
        options = (field.name for field in fields(self) if field.name not in self.unused)
        return format_spec(self.name, {name: getattr(self, name) for name in options})

    def check(self) -> None:
        """Raise a SpecError for values that contradict each other."""
