"""The base of the chunkers of this room: its fields are options, and its spec prints them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar

from repoeval_bench.core.options import read_options
from repoeval_bench.core.spec import format_spec


@dataclass(frozen=True, slots=True)
class Cutter:
    """A chunker whose fields are its options, each made with `core.options.option`. A wrong value is a SpecError."""

    name: ClassVar[str]

    def __post_init__(self) -> None:
        read_options(
            f"chunker {self.name}", self.options, {option.name: option.metadata["option"] for option in fields(self)}
        )
        self.check()

    @property
    def options(self) -> Mapping[str, str]:
        """Every option that has an effect, with its value as text."""
        return {
            option.name: str(getattr(self, option.name)) for option in fields(self) if option.name not in self.unused
        }

    @property
    def unused(self) -> frozenset[str]:
        """Options that have no effect with the values of the others; they are not in the spec."""
        return frozenset()

    @property
    def spec(self) -> str:
        """`name:key=value,…` with every option."""
        return format_spec(self.name, self.options)

    def check(self) -> None:
        """Raise a SpecError for values that contradict each other."""
