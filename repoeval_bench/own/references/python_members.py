"""Attributes of values, looked up in a class and its bases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from repoeval_bench.core.spans import LineSpan
from repoeval_bench.own.references.python_modules import Modules, Name, Outside, Package, Target
from repoeval_bench.own.references.python_nodes import SUBSCRIPTS, given, subscripted
from repoeval_bench.own.references.python_values import Class, Instance, Items, Routine, Type

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.own.references.python_scopes import PythonBinding, Scope


class Members:
    """The attributes of values; `infer` returns the types of an expression in a scope."""

    def __init__(
        self,
        modules: Modules,
        infer: Callable[[Node, Scope], tuple[Type, ...]],
        target_span: tuple[str, LineSpan] | None,
    ) -> None:
        self._modules, self._infer, self._target_span = modules, infer, target_span
        self._orders: dict[Scope, list[Scope | Outside]] = {}
        self._named: dict[Scope, list[Scope | Outside]] = {}

    def of(self, value: Type, name: str) -> Target | None:
        """Return what an attribute of a value denotes; None if its type does not tell."""
        match value:
            case Outside():
                return value
            case Package():
                return self._modules.attribute(value, name) or Outside("unresolved")
            case Items() | Routine():
                return Outside("builtin")
            case Class() | Instance():
                return self._of_class(value, name)

    def _of_class(self, value: Class | Instance, name: str) -> Target | None:
        order = self.bases(value.scope)
        outside: Outside | None = None
        in_target: Name | None = None
        for cls in order[1:] if isinstance(value, Instance) and value.above else order:
            self._modules.steps.take()
            if isinstance(cls, Outside):
                outside = outside or cls
            elif sites := cls.sites(name):
                if not all(self._in_target(cls, site) for site in sites):
                    return Name(cls, name)
                # It is bound in the target alone: a base may define it; if none does, this still tells its type.
                in_target = in_target or Name(cls, name)
        known = name.startswith("__") and name.endswith("__")
        return in_target or outside or Outside("builtin" if known else "unresolved")

    def _in_target(self, scope: Scope, site: PythonBinding) -> bool:
        target_span = self._target_span
        return target_span is not None and scope.module.file.path == target_span[0] and site.line in target_span[1]

    def bases(self, scope: Scope) -> list[Scope | Outside]:
        """Return a class and its bases, in the order in which attributes are looked up."""
        if scope not in self._orders:
            self._orders[scope] = [scope]  # what a class that inherits from itself sees of its bases
            self._orders[scope] = self._order(scope)
        return self._orders[scope]

    def _order(self, scope: Scope) -> list[Scope | Outside]:
        """Order the bases depth first, a repeated base at its last position: Python's order for usual hierarchies.

        The order is built from its end, so that each class is visited once. It takes a stack, as a hierarchy may be
        deeper than Python's recursion.
        """
        last: dict[Scope | Outside, None] = {}
        opened = {scope}
        stack = [(scope, iter(self._above(scope)[::-1]))]
        while stack:
            current, above = stack[-1]
            self._modules.steps.take()
            base = next(above, None)
            if base is None:
                stack.pop()
                last.setdefault(current)
            elif isinstance(base, Outside) or base in opened:  # a class that inherits from itself comes last
                last.setdefault(base)
            else:
                opened.add(base)
                stack.append((base, iter(self._above(base)[::-1])))
        return [*last][::-1]

    def _above(self, scope: Scope) -> list[Scope | Outside]:
        """Return the direct bases of a class."""
        if scope not in self._named:
            self._named[scope] = [*self._bases_of(scope)]
        return self._named[scope]

    def _bases_of(self, scope: Scope) -> Iterator[Scope | Outside]:
        if scope.parent is None:
            return
        for base in given(scope.node.child_by_field_name("superclasses"))[0]:
            for type_ in self._infer(subscripted(base)[0] if base.type in SUBSCRIPTS else base, scope.parent):
                if isinstance(type_, Class):
                    yield type_.scope
                elif isinstance(type_, Outside):
                    yield type_
