"""The names on some lines of a Python file, and what each denotes by scope, imports and light types."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.uses import KINDS, Definition, Kind
from repoeval_bench.references.python_modules import Modules, Name, Outside, Reason
from repoeval_bench.references.python_scopes import Function, Module, Scope, parts_of
from repoeval_bench.references.python_types import Types


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A name at a place (0-based line, column in characters): its definitions, or the reason why there are none.

    A local, a parameter or a module has neither. `kinds` are what it can be at its place.
    """

    name: str
    line: int
    column: int
    definitions: tuple[Definition, ...] = ()
    reason: Reason | None = None
    kinds: frozenset[Kind] = KINDS


def names_in(modules: Modules, path: str, lines: LineSpan) -> list[Found] | None:
    """Every name on these lines in order; None where it is not valid Python 3, or nested too deeply."""
    module = modules.of_file(path)
    if module is None:
        return None
    types = Types(modules, (path, lines))
    try:
        found = [_resolve(types, module, lines, name, node, scope) for name, node, scope in _names(module, lines)]
    except RecursionError:
        return None
    return sorted(found, key=lambda each: (each.line, each.column))


def _names(module: Module, lines: LineSpan) -> Iterator[tuple[str, ast.expr | ast.alias, Scope]]:
    stack: list[tuple[ast.AST, Scope]] = [(module.tree, module.top)]
    while stack:
        node, scope = stack.pop()
        first, last = getattr(node, "lineno", 0) - 1, (getattr(node, "end_lineno", 0) or 0) - 1
        if isinstance(node, Function | ast.ClassDef):
            first = min([first, *(each.lineno - 1 for each in node.decorator_list)])
        if first >= 0 and (last < lines.start or first >= lines.end):
            continue
        match node:
            case ast.Name() if first in lines:
                yield node.id, node, scope
            case ast.Attribute() if last in lines:
                yield node.attr, node, scope
            case ast.ImportFrom():
                for alias in node.names:
                    if alias.lineno - 1 in lines and alias.name != "*":
                        yield alias.asname or alias.name, alias, scope
        stack.extend(parts_of(node, scope))


def _resolve(
    types: Types, module: Module, lines: LineSpan, name: str, node: ast.expr | ast.alias, scope: Scope
) -> Found:
    if isinstance(node, ast.alias):
        targets = types.lookup(name, scope)
        line, column = node.lineno, node.col_offset
    elif isinstance(node, ast.Attribute):
        targets = types.targets(node, scope)
        line, column = node.end_lineno or node.lineno, (node.end_col_offset or 0) - len(name.encode())
    else:
        targets = types.targets(node, scope)
        line, column = node.lineno, node.col_offset
    definitions: dict[Definition, None] = {}
    for target in targets:
        if isinstance(target, Name):
            of = target.scope.module
            if found := of.definition(target.scope, target.name, lines if of is module else None):
                definitions[found] = None
    reason: Reason | None = None
    outside = [each.reason for each in targets if isinstance(each, Outside)]
    if not targets:
        reason = "dynamic"
    elif len(outside) == len(targets):
        reason = outside[0]
    text = module.file.line_text(type(lines)(line - 1, line)).encode("utf-8", "surrogatepass")
    at = len(text[:column].decode("utf-8", "surrogatepass"))
    return Found(name=name, line=line - 1, column=at, definitions=tuple(definitions), reason=reason)
