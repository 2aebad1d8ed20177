"""The base of the chunkers of this room: its fields are options, and its spec prints them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from repoeval_bench.core.fields import Option, options_of
from repoeval_bench.core.spec import format_spec


@dataclass(frozen=True, slots=True)
class Cutter:
    """A chunker whose fields are its options, each with a `Doc` in its annotation. A wrong value is a SpecError."""

    name: ClassVar[str]

    def __post_init__(self) -> None:
        for name, option in self._fields().items():
            # Frozen: this is the one place that sets a field, to what a text such as "800" means.
            object.__setattr__(self, name, option.read(f"chunker {self.name}", getattr(self, name)))
        self.check()

    @classmethod
    def _fields(cls) -> Mapping[str, Option]:
        part: Any = cls
        return options_of(part)

    @property
    def options(self) -> Mapping[str, str]:
        """Every option that has an effect, with its value as text."""
        return {name: str(getattr(self, name)) for name in self._fields() if name not in self.unused}

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
