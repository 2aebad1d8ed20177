"""The names on some lines of a Python file, and what they denote by scope, imports and inferred types."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.uses import CodeDefinition
from repoeval_bench.own.references.python_modules import Modules, Name, Outside, is_python
from repoeval_bench.own.references.python_scopes import Function, Module, Scope, parts_of
from repoeval_bench.own.references.python_types import Types
from repoeval_bench.own.references.resolved_name import Reason, ResolvedName

if TYPE_CHECKING:
    from repoeval_bench.own.references.steps import Steps


class PythonNames:
    """Reads the names and the definitions of the Python files of a repository."""

    def __init__(self, files: Iterable[SourceFile], steps: Steps) -> None:
        self._modules = Modules(files, steps)
        self._sites: dict[str, Mapping[tuple[int, str], list[Scope]]] = {}

    @property
    def syntax_errors(self) -> Mapping[str, int]:
        """The files read so far in which something could not be parsed, each with the first line of that."""
        return self._modules.syntax_errors

    def knows(self, path: str) -> bool:
        """Return whether a file is Python, by its name."""
        return is_python(path)

    def names_in(self, path: str, lines: LineSpan) -> Sequence[ResolvedName] | None:
        """Return every name on these lines in order; None if the file cannot be read, or is nested too deeply."""
        module = self._modules.of_file(path)
        if module is None:
            return None
        types = Types(self._modules, (path, lines))
        try:
            names = [_resolve(types, module, lines, name, node, scope) for name, node, scope in names_of(module, lines)]
        except RecursionError:
            return None
        return sorted(names, key=lambda name: (name.line, name.column))

    def defined_at(self, path: str, line: int, name: str, target_span: LineSpan | None = None) -> CodeDefinition | None:
        """Return the definition that has a site of this name on a line (0-based); sites in the target do not count."""
        module = self._modules.of_file(path)
        if module is None:
            return None
        if path not in self._sites:
            sites: dict[tuple[int, str], list[Scope]] = defaultdict(list)
            for scope, bound, own_line in module.sites():
                sites[own_line - 1, bound].append(scope)
            self._sites[path] = sites
        matches = (module.definition(scope, name, target_span) for scope in self._sites[path].get((line, name), ()))
        return next(filter(None, matches), None)

    def around(self, path: str, lines: LineSpan) -> frozenset[CodeDefinition]:
        """Return the functions and methods that these lines are in, other than those that the lines contain."""
        module = self._modules.of_file(path)
        return frozenset(module.around(lines)) if module else frozenset()


def names_of(module: Module, lines: LineSpan) -> Iterator[tuple[str, ast.expr | ast.alias, Scope]]:
    """Yield the names on some lines with their nodes, each with the scope that it is looked up in."""
    stack: list[tuple[ast.AST, Scope]] = [(module.tree, module.top)]
    while stack:
        node, scope = stack.pop()
        first, last = getattr(node, "lineno", 0) - 1, (getattr(node, "end_lineno", 0) or 0) - 1
        if isinstance(node, Function | ast.ClassDef):
            first = min([first, *(decorator.lineno - 1 for decorator in node.decorator_list)])
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
) -> ResolvedName:
    line, column = node.lineno, node.col_offset
    if isinstance(node, ast.Attribute):
        line, column = node.end_lineno or node.lineno, (node.end_col_offset or 0) - len(name.encode())
    targets = types.targets(node, scope)
    definitions: dict[CodeDefinition, None] = {}
    for target in targets:
        if isinstance(target, Name):
            defined_in = target.scope.module
            if definition := defined_in.definition(target.scope, target.name, lines if defined_in is module else None):
                definitions[definition] = None
    reason: Reason | None = None
    outside = [target.reason for target in targets if isinstance(target, Outside)]
    if not targets:
        reason = "dynamic"
    elif len(outside) == len(targets):
        reason = outside[0]
    text = module.file.line_text(LineSpan(line - 1, line)).encode("utf-8", "surrogatepass")
    start = len(text[:column].decode("utf-8", "surrogatepass"))
    return ResolvedName(name=name, line=line - 1, column=start, definitions=tuple(definitions), reason=reason)
