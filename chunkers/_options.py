"""Options of a chunker: printing them back, and refusing sizes that cannot be.

A chunker here is a frozen dataclass whose fields are its options, so that the spec can never leave one out.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.spec import format_spec, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _typeshed import DataclassInstance


def spec_of(name: str, chunker: DataclassInstance) -> str:
    """`name:key=value,…` with every field of the chunker, in the order of the class."""
    return format_spec(name, {field.name: getattr(chunker, field.name) for field in fields(chunker)})


def at_least(name: str, option: str, value: int, least: int) -> None:
    """Refuse a size below the least that makes sense; SpecError."""
    if value < least:
        raise SpecError(f"{name}: {option}={value} is impossible; give {option} a whole number from {least} up")


def one_of(name: str, option: str, value: str, known: Iterable[str]) -> None:
    """Refuse a word that is none of the known ones, offering the nearest; SpecError."""
    if value not in (names := list(known)):
        raise SpecError(f"{name}: {nearest(option, value, names)}")
