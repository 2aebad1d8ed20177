"""The names on some lines of a Python file, and what they denote by scope, imports and inferred types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.uses import CodeDefinition
from repoeval_bench.own.references.python_modules import Modules, Name, is_python
from repoeval_bench.own.references.python_nodes import attribute_of, expression_of, inside
from repoeval_bench.own.references.python_scopes import Module, Scope, parts_of
from repoeval_bench.own.references.python_types import Types
from repoeval_bench.own.references.tree_names import ResolvedName, text_of

if TYPE_CHECKING:
    from tree_sitter import Node


class PythonNames(Modules):
    """Reads the names and the definitions of the Python files of a repository."""

    def knows(self, path: str) -> bool:
        """Return whether a file is Python, by its name."""
        return is_python(path)

    def names_in(self, path: str, lines: LineSpan) -> Sequence[ResolvedName] | None:
        """Return every name on these lines; None if the file cannot be read."""
        module = self.of_file(path)
        if module is None:
            return None
        types = Types(self, (path, lines))
        return [_resolve(types, module, lines, written) for written in names_of(module, lines)]

    def defined_at(self, path: str, line: int, name: str, target_span: LineSpan | None = None) -> CodeDefinition | None:
        """Return the definition that has a site of this name on a line (0-based); sites in the target do not count."""
        module = self.of_file(path)
        return module.defined_at(line, name, target_span) if module else None

    def around(self, path: str, lines: LineSpan) -> frozenset[CodeDefinition]:
        """Return the functions and methods that these lines are in, other than those that the lines contain."""
        module = self.of_file(path)
        return frozenset(module.around(lines)) if module else frozenset()


class Written(NamedTuple):
    """A name in a file: its node, the expression that it ends, and the scope that this is looked up in."""

    place: Node
    node: Node
    scope: Scope


def names_of(module: Module, lines: LineSpan) -> Iterator[Written]:
    """Yield the names on some lines."""
    span = module.parsed.span
    stack: list[tuple[Node, Scope]] = [(module.parsed.root, module.top)]
    while stack:
        node, scope = stack.pop()
        if span(node).overlaps(lines):
            if node not in module.unknown:
                names = (Written(place, value, scope) for place, value in _named(node))
                yield from (written for written in names if span(written.place).start in lines)
            stack.extend(parts_of(node, scope))


def _named(node: Node) -> Iterator[tuple[Node, Node]]:
    """Yield (node at its place, expression that it ends) of each name that a node itself has."""
    if node.type == "identifier":
        yield node, node
    elif (attribute := attribute_of(node)) is not None:
        yield attribute[1], node
    elif node.type in ("import_from_statement", "future_import_statement"):
        for alias in node.children_by_field_name("name"):
            for named in inside(alias)[-1:]:  # none where an error left none
                yield alias, named
    elif node.type == "dotted_name" and (value := expression_of(text_of(node))) is not None:  # in a pattern
        parts = inside(node)
        if len(parts) > 1 or (node.parent is not None and node.parent.type == "class_pattern"):
            for part in reversed(parts):
                yield part, value
                value = (attribute_of(value) or [value])[0]


def _resolve(types: Types, module: Module, lines: LineSpan, written: Written) -> ResolvedName:
    definitions: dict[CodeDefinition, None] = {}
    for target in types.targets(written.node, written.scope):
        if isinstance(target, Name):
            defined_in = target.scope.module
            if definition := defined_in.definition(target.scope, target.name, lines if defined_in is module else None):
                definitions[definition] = None
    line = module.parsed.span(written.place).start
    column = module.parsed.chars(written.place).start - module.file.chars_of(LineSpan(line, line)).start
    return ResolvedName(line=line, column=column, definitions=tuple(definitions))
