"""Names that `from module import *` imports: those in the module's `__all__`, else those without an underscore."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from repoeval_bench.own.references.python_scopes import operands


@dataclass(frozen=True, slots=True)
class Exports:
    """The names that `__all__` lists; `complete`: it lists no others, as each of its parts is a literal."""

    names: frozenset[str]
    complete: bool

    def __contains__(self, name: str) -> bool:
        """Return whether a star import imports the name."""
        return name in self.names or (not self.complete and not name.startswith("_"))


def exports(tree: ast.Module) -> Exports:
    """The exports of a module, read from its top-level statements."""
    parts = [*_parts(tree)]
    names = frozenset(name for part in parts for name in part or ())
    return Exports(names, bool(parts) and None not in parts)


def _parts(tree: ast.Module) -> Iterator[list[str] | None]:
    """The parts of `__all__`; None for a part that is not a literal."""
    for statement in tree.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id="__all__")], value=ast.expr() as value)
                | ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value)
                | ast.AugAssign(target=ast.Name(id="__all__"), value=value)
            ):
                yield from _listed(value)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="__all__"), attr=how), args=[value])):
                yield from _listed(ast.List([value]) if how == "append" else value) if how != "remove" else [None]
            case ast.If() | ast.Try() | ast.For() | ast.While() | ast.With():
                if any(isinstance(node, ast.Name) and node.id == "__all__" for node in ast.walk(statement)):
                    yield None


def _listed(value: ast.expr) -> Iterator[list[str] | None]:
    match value:
        case ast.BinOp(op=ast.Add()):
            for operand in operands(value, ast.Add):
                yield from _listed(operand)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            words = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            yield words
            if len(words) < len(parts):
                yield None
        case _:
            yield None
