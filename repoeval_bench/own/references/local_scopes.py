"""Local names by lexical scope: the nearest binding of a name above a syntax node, by the tables of its language."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from repoeval_bench.own.references.tree_names import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.own.references.binding_forms import BindingForms, Form
    from repoeval_bench.own.references.language_rules import LanguageRules


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A binding: the node of its name, the node that binds it, and its form.

    `since` is the byte from which it holds. `outer`: it is no local but a definition of a class or a file.
    """

    name: Node
    node: Node
    form: Form
    since: int
    outer: bool


@dataclass(slots=True, kw_only=True)
class _Scope:
    """The bindings of a scope by name, and the bytes at which names are bound or are labels.

    `outer`: its bindings are definitions. `hidden`: code in it names them with a receiver alone. `sealed`: the code in
    it sees no local of the code around it. `closed` are its parts without its bindings.
    """

    outer: bool
    hidden: bool
    sealed: bool
    closed: tuple[str, ...]
    bindings: dict[str, list[Bound]] = field(default_factory=lambda: defaultdict(list))
    here: set[int] = field(default_factory=set)


class LocalScopes:
    """The scopes of syntax trees, each read once."""

    def __init__(self, parent: Callable[[Node], Node | None]) -> None:
        self._parent = parent
        self._scopes: dict[Node, _Scope] = {}

    def clear(self) -> None:
        """Forget the scopes: nodes keep their trees in memory."""
        self._scopes.clear()

    def at(self, rules: LanguageRules, node: Node, name: str) -> tuple[Sequence[Bound], bool]:
        """Return the nearest bindings of a name that hold at a node, and whether the node binds a name or is a label.

        They are several in one scope if they hold from one place. Those of a class count where code names members
        without a receiver.
        """
        space, start = rules.space_of(node), node.start_byte
        sealed = binds = False  # sealed: only the definitions of blocks are seen
        for scope, holder, inner in self._around(rules, node):
            binds = binds or start in scope.here
            if name in scope.bindings and not scope.hidden and space != "method":
                holding = [
                    bound
                    for bound in scope.bindings[name]
                    if bound.since <= start
                    and bound.form.space != "method"
                    and (space == "any" or bound.form.space in (space, "both"))
                    and not (sealed and (scope.sealed or bound.form.since != "start"))
                ]
                if holding and not (scope.closed and _is_closed(scope, holder, inner)):
                    return [bound for bound in holding if bound.since == holding[-1].since], binds
            sealed = sealed or scope.sealed
        return (), binds

    def inside(self, rules: LanguageRules, block: Node, name: str) -> Sequence[Bound]:
        """Return the bindings of a name among the statements of a block."""
        return self._scope(rules, block).bindings.get(name, ())

    def _scope(self, rules: LanguageRules, node: Node) -> _Scope:
        if node not in self._scopes:
            self._scopes[node] = _read(node, rules.forms, rules)
        return self._scopes[node]

    def _around(self, rules: LanguageRules, node: Node) -> Iterator[tuple[_Scope, Node, Node]]:
        """Yield (scope, its node, the child of that node above the name) of each scope around a node, inside out."""
        nearest = (node, node) if node.type in rules.forms.scopes else self._above(rules, node)
        while nearest is not None:
            yield self._scope(rules, nearest[0]), *nearest
            nearest = self._above(rules, nearest[0])

    def _above(self, rules: LanguageRules, node: Node) -> tuple[Node, Node] | None:
        """Return the nearest scope above a node, and its child above the node."""
        inner, above = node, self._parent(node)
        while above is not None and (above.type not in rules.forms.scopes or rules.opens(above)):
            inner, above = above, self._parent(above)
        return (above, inner) if above is not None else None


def _is_closed(scope: _Scope, holder: Node, inner: Node) -> bool:
    """Return whether a part of a scope does not have its bindings."""
    return inner.type in scope.closed or any(holder.child_by_field_name(part) == inner for part in scope.closed)


def _read(root: Node, forms: BindingForms, rules: LanguageRules) -> _Scope:
    """Read the bindings of a scope; in a function also those of inner blocks that hold in all of it."""
    parent = root.parent
    # A class without a name has no definitions.
    outer = root.type in forms.outer and (parent is None or parent.type not in rules.nodes.get("creations", ()))
    hidden = outer and not rules.implicit_members and parent is not None
    scope = _Scope(outer=outer, hidden=hidden, sealed=root.type in forms.sealed, closed=forms.closed.get(root.type, ()))
    for node, form, name in _bound_in(root, forms, rules):
        if rules.refers(node, name):
            continue
        text = form.parts[1:] if form.parts.startswith("=") else text_of(name)
        scope.here.add(name.start_byte)
        if form.scope != "label" and text != "_":
            place = node if form.since == "end" else node.child_by_field_name(form.since) or name
            since = 0 if form.since == "start" else name.end_byte if form.since == "name" else place.end_byte
            scope.bindings[text].append(Bound(name=name, node=node, form=form, since=since, outer=outer))
    # The walk is by a stack, so it meets the statements of a block in another order than the file has them.
    for bound in scope.bindings.values():
        bound.sort(key=lambda binding: (binding.since, binding.name.start_byte))
    return scope


def _bound_in(root: Node, forms: BindingForms, rules: LanguageRules) -> Iterator[tuple[Node, Form, Node]]:
    """Yield (node, form, name) of each name that is bound in a scope."""
    is_function = root.type in forms.functions
    yield from ((root, form, name) for form, name in forms.forms(root) if form.scope == "inside")
    stack = (
        [(inner, False) for inner in root.named_children if inner.child_count] if root.type not in forms.passes else []
    )
    while stack:
        node, deep = stack.pop()
        kind = node.type
        for form, name in forms.forms(node):
            if is_function if form.scope == "function" else form.scope != "inside" and not deep:
                yield node, form, name
        if kind in forms.scopes and kind not in forms.passes and not rules.opens(node):
            if not is_function or kind in forms.functions:
                continue
            deep = True
        stack += ((inner, deep) for inner in node.named_children if inner.child_count)
