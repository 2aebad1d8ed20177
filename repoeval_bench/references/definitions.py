"""The definitions of a repository: which one is at a line, and which have a name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.uses import Definition
from repoeval_bench.references.python_modules import Modules, is_python

if TYPE_CHECKING:
    from repoeval_bench.references.by_name import ByName
    from repoeval_bench.references.python_scopes import Scope


class Definitions:
    """Looked up by place and by name; a definition with several sites is found at each of them."""

    def __init__(self, modules: Modules, others: ByName) -> None:
        self._modules, self._others = modules, others
        self._sites: dict[str, Mapping[tuple[int, str], list[Scope]]] = {}

    def at(self, path: str, line: int, name: str, hole: LineSpan | None = None) -> Definition | None:
        """The definition that has a site of this name on a line (0-based); sites in the hole do not count for it."""
        if not is_python(path):
            other = self._others.at(path, line, name)
            return None if other and hole and hole.contains(other.lines) else other
        module = self._modules.of_file(path)
        if module is None:
            return None
        if path not in self._sites:
            sites: dict[tuple[int, str], list[Scope]] = defaultdict(list)
            for scope, bound, own_line in module.sites():
                sites[own_line - 1, bound].append(scope)
            self._sites[path] = sites
        found = (module.definition(scope, name, hole) for scope in self._sites[path].get((line, name), ()))
        return next(filter(None, found), None)

    def around(self, path: str, lines: LineSpan) -> frozenset[Definition]:
        """The functions and methods that these lines are in, inner ones of the lines apart."""
        if not is_python(path):
            return self._others.around(path, lines)
        module = self._modules.of_file(path)
        return frozenset(module.around(lines)) if module else frozenset()

    def named(self, name: str, path: str) -> Sequence[Definition]:
        """All definitions whose own name this is, of the languages that a file's language names."""
        if family := self._others.family(path):
            return self._others.named(name, family)
        return self._named.get(name, ())

    @cached_property
    def _named(self) -> Mapping[str, Sequence[Definition]]:
        found: dict[str, dict[Definition, None]] = defaultdict(dict)
        for module in self._modules.all_modules():
            for scope, name, _ in module.sites():
                if definition := module.definition(scope, name):
                    found[name][definition] = None
        return {name: tuple(each) for name, each in found.items()}
