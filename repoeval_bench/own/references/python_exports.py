"""Names that `from module import *` imports: those in the module's `__all__`, else those without an underscore."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.own.references.python_nodes import (
    LISTS,
    arguments_of,
    attribute_of,
    field,
    inside,
    operands,
    string_of,
)
from repoeval_bench.own.references.tree_names import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_CONDITIONAL = frozenset({"if_statement", "try_statement", "for_statement", "while_statement", "with_statement"})


@dataclass(frozen=True, slots=True)
class Exports:
    """The names that `__all__` lists; `complete`: it lists no others, as each of its parts is a literal."""

    names: frozenset[str]
    complete: bool

    def __contains__(self, name: str) -> bool:
        """Return whether a star import imports the name."""
        return name in self.names or (not self.complete and not name.startswith("_"))


def exports(root: Node) -> Exports:
    """The exports of a module, read from its top-level statements."""
    parts = [*_parts(root)]
    names = frozenset(name for part in parts for name in part or ())
    return Exports(names, bool(parts) and None not in parts)


def _parts(root: Node) -> Iterator[list[str] | None]:
    """The parts of `__all__`; None for a part that is not a literal."""
    for statement in inside(root):
        if b"__all__" not in (statement.text or b""):
            continue
        if statement.type in _CONDITIONAL:
            yield None
        for part in inside(statement) if statement.type == "expression_statement" else ():
            value, how = field(part, "right"), attribute_of(field(part, "function") or part)
            if value is not None and text_of(field(part, "left")) == "__all__":
                yield from _listed(value)
            elif part.type == "call" and how is not None and text_of(how[0]) == "__all__":
                arguments, _ = arguments_of(part)
                for argument in arguments if len(arguments) == 1 else ():
                    if text_of(how[1]) == "append":
                        text = string_of(argument)
                        yield [text] if text is not None else None
                    else:
                        yield from _listed(argument) if text_of(how[1]) != "remove" else [None]


def _listed(value: Node) -> Iterator[list[str] | None]:
    for operand in operands(value, "+"):
        parts = inside(operand) if operand.type in LISTS else [operand]
        words = [text for part in parts if operand.type in LISTS and (text := string_of(part)) is not None]
        yield words
        if len(words) < len(parts):
            yield None
