"""Local names by lexical scope: the nearest binding of a name above a syntax node, by the tables of its language."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from repoeval_bench.references.binding_forms import BindingForms, Form
from repoeval_bench.references.steps import Steps
from repoeval_bench.references.tree_names import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.references.language_rules import LanguageRules


@dataclass(frozen=True, slots=True)
class Bound:
    """A binding: the node of its name, the node that binds it, and its form.

    `since` is the byte from which it holds. `outer`: it is no local but a definition of a class or a file.
    """

    name: Node
    node: Node
    form: Form
    since: int
    outer: bool


@dataclass(slots=True)
class _Scope:
    """The bindings of a scope by name, and the bytes at which names are bound or are labels."""

    bindings: dict[str, list[Bound]] = field(default_factory=lambda: defaultdict(list))
    here: set[int] = field(default_factory=set)


class LocalScopes:
    """The scopes of syntax trees, each read once."""

    def __init__(self, steps: Steps, parent: Callable[[Node], Node | None]) -> None:
        self._steps, self._parent = steps, parent
        self._scopes: dict[Node, _Scope] = {}
        self._nearest: dict[Node, tuple[Node, Node] | None] = {}

    def clear(self) -> None:
        """Forget the scopes: nodes keep their trees in memory."""
        self._scopes.clear()
        self._nearest.clear()

    def binds(self, rules: LanguageRules, node: Node) -> bool:
        """Return whether a name is bound at a node, or is a label there."""
        return any(node.start_byte in scope.here for scope, *_ in self._around(rules, node))

    def of(self, rules: LanguageRules, node: Node, name: str) -> Sequence[Bound]:
        """Return the nearest bindings of a name that hold at a node; several in one scope if they hold from one place.

        Those of a class count where code names members without a receiver.
        """
        forms = rules.forms
        wanted = rules.space_of(node)
        sealed = False  # only the definitions of blocks are seen
        for scope, holder, inner in self._around(rules, node):
            outer = _is_outer(holder, rules)
            if (outer and not rules.implicit_members and holder.parent is not None) or wanted == "method":
                continue
            closed = forms.closed.get(holder.type, ())
            if closed and (inner.type in closed or any(holder.child_by_field_name(part) == inner for part in closed)):
                continue
            found = [
                bound
                for bound in scope.bindings.get(name, ())
                if bound.since <= node.start_byte
                and _sees(wanted, bound.form.space)
                and (not sealed or (bound.form.since == "start" and holder.type not in forms.sealed))
            ]
            if found:
                return [bound for bound in found if bound.since == found[-1].since]
            sealed = sealed or holder.type in forms.sealed
        return ()

    def inside(self, rules: LanguageRules, block: Node, name: str) -> Sequence[Bound]:
        """Return the bindings of a name among the statements of a block."""
        return self._scope(rules, block).bindings.get(name, ())

    def _scope(self, rules: LanguageRules, node: Node) -> _Scope:
        if node not in self._scopes:
            self._scopes[node] = _read(node, rules.forms, rules)
        return self._scopes[node]

    def _around(self, rules: LanguageRules, node: Node) -> Iterator[tuple[_Scope, Node, Node]]:
        """Yield (scope, its node, the child of that node above the name) of each scope around a node, inside out."""
        found = (node, node) if node.type in rules.forms.scopes else self._above(rules, node)
        while found is not None:
            self._steps.take()
            yield self._scope(rules, found[0]), *found
            found = self._above(rules, found[0])

    def _above(self, rules: LanguageRules, node: Node) -> tuple[Node, Node] | None:
        """Return the nearest scope above a node, and its child above the node, searched for once for each node."""
        passed: list[Node] = []
        inner, found = node, None
        while inner not in self._nearest:
            passed.append(inner)
            above = self._parent(inner)
            if above is None or (above.type in rules.forms.scopes and not rules.opens(above)):
                found = (above, inner) if above is not None else None
                break
            inner = above
        else:
            found = self._nearest[inner]
        self._nearest.update(dict.fromkeys(passed, found))
        return found


def _is_outer(scope: Node, rules: LanguageRules) -> bool:
    """Return whether the bindings of a scope are definitions; a class without a name has none."""
    return scope.type in rules.forms.outer and (scope.parent is None or scope.parent.type not in rules.nodes.creations)


def _sees(wanted: str, space: str) -> bool:
    return space != "method" and (wanted == "any" or space in (wanted, "both"))


def _read(root: Node, forms: BindingForms, rules: LanguageRules) -> _Scope:
    """Read the bindings of a scope; in a function also those of inner blocks that hold in all of it."""
    scope = _Scope()
    outer = _is_outer(root, rules)

    def add(node: Node, form: Form, name: Node) -> None:
        text = form.parts[1:] if form.parts.startswith("=") else text_of(name)
        scope.here.add(name.start_byte)
        if form.scope == "label" or text == "_":
            return
        place = node.child_by_field_name(form.since) if form.since not in ("start", "name", "end") else node
        since = 0 if form.since == "start" else name.end_byte if form.since == "name" or not place else place.end_byte
        scope.bindings[text].append(Bound(name, node, form, since, outer))

    for form, name in forms.forms(root) if root.type in forms.binds else ():
        if form.scope == "inside" and not rules.refers(root, name):
            add(root, form, name)
    stack = [(root, False)]  # (node, whether it is in an inner scope)
    while stack:
        node, deep = stack.pop()
        known = node.type in forms.binds and node != root
        for form, name in forms.forms(node) if known else ():
            to_function = form.scope == "function" and root.type in forms.functions
            if (to_function or (form.scope in ("around", "label") and not deep)) and not rules.refers(node, name):
                add(node, form, name)
        if node != root and node.type in forms.scopes and not rules.opens(node):
            if not forms.functions or root.type not in forms.functions or node.type in forms.functions:
                continue
            deep = True
        unknown = not deep and node.type not in forms.binds and node.type not in forms.within
        for index, inner in enumerate(node.children):
            if inner.is_named:
                if unknown and inner.type in forms.names:
                    for binding in forms.bound(node, node.field_name_for_child(index), inner):
                        add(*binding)
                stack.append((inner, deep))
    for bound in scope.bindings.values():
        bound.sort(key=lambda binding: (binding.since, binding.name.start_byte))
    return scope
