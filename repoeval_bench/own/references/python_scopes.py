"""A Python file as scopes: the bindings of each name, and the definitions among them, by the syntax tree alone."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.uses import LIMIT, CodeDefinition, Kind

Function = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_INSIDE = frozenset({"body", "elt", "key", "value"})
"""Fields that are evaluated in the scope that a node opens: bodies, and the results of comprehensions."""
Role = Literal["value", "item", "context", "type", "narrowed", "unknown"]


@dataclass(frozen=True, slots=True)
class Imported:
    """`import module` (name None) or `from module import name`; `level` counts the dots of a relative one."""

    module: str
    name: str | None
    level: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PythonBinding:
    """One site that binds a name: a def or class, a parameter, or a target with what it is assigned.

    `role`: the name is the value of `source`, an item of it, or what `with source` returns; or it has the type that
    `source` names, declared or tested. `source` is evaluated in `scope`. `lines` are those of the statement. `local`
    sites define nothing for other code: targets of comprehensions, caught exceptions, parameters of a lambda, tests.
    """

    node: ast.AST | None
    role: Role
    source: ast.expr | None
    scope: Scope
    line: int
    lines: LineSpan
    imported: Imported | None = None
    local: bool = False

    def inside(self, target_span: LineSpan) -> bool:
        """Return whether the name is bound on these lines; a class around them is bound above them."""
        return self.line - 1 in target_span


@dataclass(eq=False, kw_only=True)
class Scope:
    """A module, class or function, also a lambda or a comprehension: its names with their sites in the file's order.

    `members` are the attributes of a class's instances: sites of `self.x` in its methods. `declared_in` maps each name
    that is declared `global` or `nonlocal` to its scope.
    """

    kind: Literal["module", "class", "function"]
    name: str
    parent: Scope | None
    node: ast.AST | None
    module: Module
    names: dict[str, list[PythonBinding]] = field(default_factory=lambda: defaultdict(list))
    members: dict[str, list[tuple[str, PythonBinding]]] = field(default_factory=lambda: defaultdict(list))
    stars: list[Imported] = field(default_factory=list)
    declared_in: dict[str, Scope] = field(default_factory=dict)

    @property
    def prefix(self) -> str:
        """The qualifier of names in this scope, with a dot at its end."""
        return f"{self.name}." if self.name else ""


@dataclass(eq=False, kw_only=True)
class Module:
    """The scopes of a file; `scopes` is a node that opens a scope -> that scope. See `PythonTree` for the others."""

    file: SourceFile
    tree: ast.Module
    colons: Mapping[ast.AST, int]
    error: int | None
    scopes: dict[ast.AST, Scope] = field(default_factory=dict)

    @property
    def top(self) -> Scope:
        """The scope of the module itself."""
        return self.scopes[self.tree]

    def definition(self, scope: Scope, name: str, target_span: LineSpan | None = None) -> CodeDefinition | None:
        """The definition of a name bound in a scope, or of an attribute of a class; None for a local or an import.

        Sites in the target do not count.
        """
        site = self.site(scope, name, target_span)
        if site is None:
            return None
        node = site.node
        kind: Kind
        if isinstance(node, Function):
            kind = "method" if scope.kind == "class" else "function"
        elif isinstance(node, ast.ClassDef):
            kind = "class"
        else:
            kind = "attribute" if scope.kind == "class" else "variable"
        lines = header(node, self.colons[node]) if isinstance(node, Function | ast.ClassDef) else site.lines
        return CodeDefinition(self.file.name, self.cut(lines), scope.prefix + name, kind)

    def sites(self) -> Iterator[tuple[Scope, str, int]]:
        """Yield (scope, name, line counted from 1) of every site of every name that may be a definition."""
        for scope in self.scopes.values():
            for name in dict.fromkeys((*scope.names, *scope.members)):
                for bound in (*scope.names.get(name, ()), *(site for _, site in scope.members.get(name, ()))):
                    if not (bound.imported or bound.local):
                        yield scope, name, bound.line

    def around(self, lines: LineSpan) -> Iterator[CodeDefinition]:
        """The functions and methods whose def is above these lines, or on the first, and whose end is below that."""
        for node, scope in self.scopes.items():
            if isinstance(node, Function) and scope.parent is not None:
                first, last = node.lineno - 1, node.end_lineno or node.lineno
                if first <= lines.start < last and (definition := self.definition(scope.parent, node.name)):
                    yield definition

    def site(self, scope: Scope, name: str, target_span: LineSpan | None = None) -> PythonBinding | None:
        """The site that defines a name; None if the name is not a definition.

        Of several defs, it is the first that is not an overload. An attribute's is the first in the body of its class,
        else in `__init__`, else in any method.
        """

        def counts(site: PythonBinding) -> bool:
            return not (site.imported or site.local) and (target_span is None or not site.inside(target_span))

        sites = [site for site in scope.names.get(name, ()) if counts(site)]
        if scope.kind == "function":
            sites = [site for site in sites if isinstance(site.node, Function | ast.ClassDef)]
        defs = [site for site in sites if isinstance(site.node, Function)]
        if defs and len(defs) == len(sites):
            return next((site for site in defs if not is_overload(site.node)), defs[-1])
        if sites:
            return sites[0]
        members = [(method, member) for method, member in scope.members.get(name, ()) if counts(member)]
        return next((member for method, member in members if method == "__init__"), members[0][1] if members else None)

    def cut(self, lines: LineSpan) -> LineSpan:
        """The lines up to the `LIMIT`th that is not blank."""
        filled = [line for line in lines if self.file.line_text(LineSpan(line, line + 1)).strip()]
        return LineSpan(lines.start, filled[:LIMIT][-1] + 1) if filled else lines


def parts_of(node: ast.AST, scope: Scope) -> Iterator[tuple[ast.AST, Scope]]:
    """The nodes in a node, each with the scope that it is evaluated in; the node itself is evaluated in `scope`.

    Decorators, defaults, annotations, bases and the first iterable of a comprehension are evaluated outside the scope
    that the node opens.
    """
    inner = scope.module.scopes.get(node, scope)
    for name, value in ast.iter_fields(node):
        within = inner if name in _INSIDE else scope
        for located in value if isinstance(value, list) else [value]:
            if isinstance(located, ast.comprehension):
                yield located.iter, scope if located is value[0] else inner
                yield from ((part, inner) for part in (located.target, *located.ifs))
            elif isinstance(located, ast.AST):
                yield located, within


def header(node: Function | ast.ClassDef, colon: int) -> LineSpan:
    """Decorators, header and docstring of a def or class whose header ends with the colon on a line."""
    start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return LineSpan(start, first.end_lineno or first.lineno)
    return LineSpan(start, colon + 1)


def is_overload(node: ast.AST | None) -> bool:
    """Return whether a def is one of several signatures; another def has the body."""
    return isinstance(node, Function) and any(last_word(decorator) == "overload" for decorator in node.decorator_list)


def operands(node: ast.expr, operator: type[ast.operator]) -> Iterator[ast.expr]:
    """Yield the operands of a chain of one operator, from left to right: a chain is nested as deeply as it is long."""
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, ast.BinOp) and isinstance(part.op, operator):
            stack += [part.right, part.left]
        else:
            yield part


def last_word(node: ast.expr) -> str:
    """The name after the last dot; empty if there is none."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
