"""Attributes of values: the order in which classes, their bases and metaclasses are looked through."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from repoeval_bench.core.spans import LineSpan
from repoeval_bench.references.python_modules import Modules, Name, Outside, Package, Target
from repoeval_bench.references.python_values import Class, Instance, Items, Routine, Type

if TYPE_CHECKING:
    from repoeval_bench.references.python_scopes import PythonBinding, Scope


class Members:
    """The attributes of values; `infer` gives the types of an expression in a scope, `cut` hears what goes without."""

    def __init__(
        self,
        modules: Modules,
        infer: Callable[[ast.expr, Scope], tuple[Type, ...]],
        target_span: tuple[str, LineSpan] | None,
        cut: Callable[[], None],
    ) -> None:
        self._modules, self._infer, self._target_span, self._cut = modules, infer, target_span, cut
        self._ordering: set[Scope] = set()
        self._orders: dict[Scope, list[Scope | Outside]] = {}
        self._named: dict[Scope, list[Scope | Outside]] = {}

    def of(self, of: Type, name: str) -> Target | None:
        """Return what an attribute of a value denotes; None where its type says nothing."""
        match of:
            case Outside():
                return of
            case Package():
                return self._modules.attribute(of, name) or Outside("unresolved")
            case Items() | Routine():
                return Outside("builtin")
            case Class() | Instance():
                return self._of_class(of, name)

    def _of_class(self, of: Class | Instance, name: str) -> Target | None:
        order = self.bases(of.scope)
        outside: Outside | None = None
        in_target: Name | None = None
        for cls in order[1:] if isinstance(of, Instance) and of.above else order:
            self._modules.steps.take()
            if isinstance(cls, Outside):
                outside = outside or cls
            elif sites := (*cls.names.get(name, ()), *(site for _, site in cls.members.get(name, ()))):
                if imported := next((site.imported for site in sites if site.imported), None):
                    return self._modules.follow(imported, cls)
                if not all(self._in_target(cls, site) for site in sites):
                    return Name(cls, name)
                # It is written in the target: a base may define it, and else it gives the type.
                in_target = in_target or Name(cls, name)
            elif "__getattr__" in cls.names:
                outside = outside or Outside("dynamic")
        if in_target is None and isinstance(of, Class) and (member := self._of_metaclass(order, name)):
            return member
        known = name.startswith("__") and name.endswith("__")
        return in_target or outside or Outside("builtin" if known else "unresolved")

    def _of_metaclass(self, order: Iterable[Scope | Outside], name: str) -> Target | None:
        """Return what a class has of the class that it is an instance of; None where it has none of this repository."""
        for node in order:
            if isinstance(node, Outside) or not isinstance(node.node, ast.ClassDef) or node.parent is None:
                continue
            for word in node.node.keywords:
                for meta in self._infer(word.value, node.parent) if word.arg == "metaclass" else ():
                    member = self._of_class(Instance(meta.scope), name) if isinstance(meta, Class) else None
                    if isinstance(member, Name):
                        return member
        return None

    def _in_target(self, scope: Scope, site: PythonBinding) -> bool:
        target_span = self._target_span
        return target_span is not None and scope.module.file.path == target_span[0] and site.inside(target_span[1])

    def bases(self, scope: Scope) -> list[Scope | Outside]:
        """A class and what it inherits from, in the order in which names are looked up."""
        if scope not in self._orders:
            self._orders[scope] = [scope]  # what a class that inherits from itself has more is not known
            self._ordering.add(scope)
            self._orders[scope] = self._order(scope)
            self._ordering.discard(scope)
        elif scope in self._ordering:
            self._cut()
        return self._orders[scope]

    def _order(self, scope: Scope) -> list[Scope | Outside]:
        """Depth first, of what is met twice the last: the order of Python for all but odd hierarchies.

        So it is found from its end, each class once, and by a stack: a hierarchy may be deeper than Python's.
        """
        last: dict[Scope | Outside, None] = {}
        opened = {scope}
        stack = [(scope, iter(self._above(scope)[::-1]))]
        while stack:
            of, above = stack[-1]
            self._modules.steps.take()
            base = next(above, None)
            if base is None:
                stack.pop()
                last.setdefault(of)
            elif isinstance(base, Outside) or base in opened:  # a class that inherits from itself comes last
                last.setdefault(base)
            else:
                opened.add(base)
                stack.append((base, iter(self._above(base)[::-1])))
        return [*last][::-1]

    def _above(self, scope: Scope) -> list[Scope | Outside]:
        """Return what a class names as its bases."""
        if scope not in self._named:
            self._named[scope] = [*self._bases_of(scope)]
        return self._named[scope]

    def _bases_of(self, scope: Scope) -> Iterator[Scope | Outside]:
        node = scope.node
        if not isinstance(node, ast.ClassDef) or scope.parent is None:
            return
        for base in node.bases:
            for type_ in self._infer(base.value if isinstance(base, ast.Subscript) else base, scope.parent):
                if isinstance(type_, Class):
                    yield type_.scope
                elif isinstance(type_, Outside):
                    yield type_
