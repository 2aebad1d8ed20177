"""A Python file as scopes: the bindings of each name, and the definitions among them, by the syntax tree alone."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.uses import LIMIT, CodeDefinition, Kind
from repoeval_bench.own.references.python_nodes import COMPREHENSIONS, OPENING, end_of, evaluated, inside, string_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.core.syntax import Parsed

Role = Literal["value", "item", "context", "type", "many", "narrowed", "unknown"]


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
    `source` names, declared or tested, or items of it (`many`). `source` is evaluated in `scope`. `lines` are those of
    the statement, `line` (0-based) that of the name. `opens` is the scope of a def or class. `local` sites define
    nothing for other code: targets of comprehensions, caught exceptions, parameters of a lambda, tests.
    """

    role: Role
    source: Node | None
    scope: Scope
    line: int
    lines: LineSpan
    opens: Scope | None = None
    imported: Imported | None = None
    local: bool = False


@dataclass(eq=False, kw_only=True)
class Scope:
    """A module, class or function, also a lambda or a comprehension: its names with their sites in the file's order.

    `members` are the attributes of a class's instances: sites of `self.x` in its methods. `declared_in` maps each name
    that is declared `global` or `nonlocal` to its scope. `decorators` are the last words of those of a def or class,
    such as `property`; `outer` is the node with them. `own` is what a method calls its instance or class.
    """

    kind: Literal["module", "class", "function"]
    name: str
    parent: Scope | None
    node: Node
    module: Module
    names: dict[str, list[PythonBinding]] = field(default_factory=lambda: defaultdict(list))
    members: dict[str, list[tuple[str, PythonBinding]]] = field(default_factory=lambda: defaultdict(list))
    stars: list[Imported] = field(default_factory=list)
    declared_in: dict[str, Scope] = field(default_factory=dict)
    outer: Node | None = None
    decorators: frozenset[str] = frozenset()
    own: str | None = None

    @property
    def prefix(self) -> str:
        """The qualifier of names in this scope, with a dot at its end."""
        return f"{self.name}." if self.name else ""

    def sites(self, name: str) -> list[PythonBinding]:
        """Return the sites of a name, and of the attribute of that name."""
        return [*self.names.get(name, ()), *(site for _, site in self.members.get(name, ()))]

    @property
    def header(self) -> LineSpan:
        """Decorators, header and docstring of a def or class."""
        span = self.module.parsed.span
        start = span(self.outer or self.node).start
        first = next(iter(inside(self.node.child_by_field_name("body"))), self.node)
        if first.type == "expression_statement" and any(string_of(part) is not None for part in inside(first)[:1]):
            return LineSpan(start, span(first).end)
        colons = [part for part in self.node.children if part.type == ":"]
        return LineSpan(start, span(colons[-1] if colons else self.node).start + 1)


@dataclass(eq=False, kw_only=True)
class Module:
    """The scopes of a file; `scopes` is a node that opens a scope -> that scope.

    `marks` are the first bytes of the nodes in expressions that bind names, and of what functions return. `unknown` are
    the type parameters in what they are for: they are no names of the scopes around.
    """

    file: SourceFile
    parsed: Parsed
    marks: list[int]
    scopes: dict[Node, Scope] = field(default_factory=dict)
    unknown: set[Node] = field(default_factory=set)

    @property
    def top(self) -> Scope:
        """The scope of the module itself."""
        return self.scopes[self.parsed.root]

    def marked(self, node: Node) -> bool:
        """Return whether one of the `marks` is in a node."""
        index = bisect_left(self.marks, node.start_byte)
        return index < len(self.marks) and self.marks[index] < node.end_byte

    def definition(self, scope: Scope, name: str, target_span: LineSpan | None = None) -> CodeDefinition | None:
        """The definition of a name bound in a scope, or of an attribute of a class; None for a local or an import.

        Sites in the target do not count.
        """
        site = self.site(scope, name, target_span)
        if site is None:
            return None
        kind: Kind
        if site.opens is None:
            kind = "attribute" if scope.kind == "class" else "variable"
        elif site.opens.kind == "class":
            kind = "class"
        else:
            kind = "method" if scope.kind == "class" else "function"
        lines = site.opens.header if site.opens else site.lines
        return CodeDefinition(self.file.name, self.cut(lines), scope.prefix + name, kind)

    def defined_at(self, line: int, name: str, target_span: LineSpan | None) -> CodeDefinition | None:
        """The definition that has a site of this name on a line (0-based); sites in the target do not count."""
        bound = (
            self.definition(scope, name, target_span)
            for scope in self.scopes.values()
            if any(site.line == line and not (site.imported or site.local) for site in scope.sites(name))
        )
        return next(filter(None, bound), None)

    def around(self, lines: LineSpan) -> Iterator[CodeDefinition]:
        """The functions and methods whose def is above these lines, or on the first, and whose end is below that."""
        for node, scope in self.scopes.items():
            if node.type == "function_definition" and scope.parent is not None:
                span = self.parsed.span(node)
                name = scope.name.rpartition(".")[2]
                if lines.start in span and lines.start < self.parsed.span(end_of(node)).end:
                    yield from filter(None, [self.definition(scope.parent, name)])

    def site(self, scope: Scope, name: str, target_span: LineSpan | None = None) -> PythonBinding | None:
        """The site that defines a name; None if the name is not a definition.

        Of several defs, it is the first that is not an overload. An attribute's is the first in the body of its class,
        else in `__init__`, else in any method.
        """

        def counts(site: PythonBinding) -> bool:
            return not (site.imported or site.local) and (target_span is None or site.line not in target_span)

        sites = [site for site in scope.names.get(name, ()) if counts(site)]
        if scope.kind == "function":
            sites = [site for site in sites if site.opens]
        defs = [site for site in sites if site.opens and site.opens.kind == "function"]
        if defs and len(defs) == len(sites):
            return next((site for site in defs if site.opens and "overload" not in site.opens.decorators), defs[-1])
        if sites:
            return sites[0]
        members = [(method, member) for method, member in scope.members.get(name, ()) if counts(member)]
        return next((member for method, member in members if method == "__init__"), members[0][1] if members else None)

    def cut(self, lines: LineSpan) -> LineSpan:
        """The lines up to the `LIMIT`th that is not blank."""
        filled = [line for line in lines if self.file.line_text(LineSpan(line, line + 1)).strip()]
        return LineSpan(lines.start, filled[:LIMIT][-1] + 1) if filled else lines


def parts_of(node: Node, scope: Scope) -> Iterator[tuple[Node, Scope]]:
    """The nodes in a node, each with the scope that it is evaluated in; the node itself is evaluated in `scope`.

    Defaults, annotations, bases and the first iterable of a comprehension are evaluated outside the scope that the node
    opens.
    """
    parts = evaluated(node)
    if node.type not in OPENING:
        yield from ((part, scope) for part in parts)
        return
    inner = scope.module.scopes.get(node, scope)
    if node.type not in COMPREHENSIONS:
        body = node.child_by_field_name("body")
        yield from ((part, inner if part == body else scope) for part in parts)
        return
    first = True
    for part in parts:
        if part.type == "for_in_clause":
            yield from ((iterable, scope if first else inner) for iterable in part.children_by_field_name("right"))
            yield from ((target, inner) for target in part.children_by_field_name("left"))
            first = False
        else:
            yield part, inner
