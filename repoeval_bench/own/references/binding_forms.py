"""Tables of the syntax nodes that bind local names, one table a language.

A line of a table is a kind of node, the parts of it that hold the names, the scope of the names, and the place from
which they hold there. Other words may follow.

Parts: a field; `!field` for all named children but this one, `!` for all; `<token` and `>token` for the children right
before and after a token; `=word` for a name that no node writes. Scopes: `around` is the nearest scope around the node,
`inside` the node itself, `function` the nearest function, and `label` none: such a name means no definition and binds
none. Places: `start` of the scope, after the `name`, the `end` of the node, or the end of a field.

The other words: `type` for names of types alone, `both` for types that are also values, `any` for values whose nodes
may be those of types, `method` for names that only a call means, and `if:token` for nodes that have this token, this
field, or a child of this kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tree_sitter import Node

Space = Literal["value", "type", "both", "any", "method"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A way in which a kind of node binds names: a line of a table."""

    parts: str
    scope: str
    since: str
    space: Space = "value"
    needs: str = ""


@dataclass(frozen=True, kw_only=True)
class BindingForms:
    """The forms in which a language binds local names.

    - `names`: the nodes that are names;
    - `binds`: node -> its forms;
    - `scopes`: nodes at which bindings inside them end; `functions` are those that a form means by `function`, and
      `outer` those whose bindings are definitions;
    - `sealed`: scopes that hide the locals around them;
    - `passes`: scopes of their own forms alone: other bindings inside them hold in the scope around them;
    - `closed`: scope -> its parts without its bindings, which are fields or kinds of children;
    - `within`: node of a pattern -> the parts of it that bind; all parts of any other node do.
    """

    names: frozenset[str] = frozenset()
    binds: Mapping[str, tuple[Form, ...]] = field(default_factory=dict)
    scopes: frozenset[str] = frozenset()
    outer: frozenset[str] = frozenset()
    within: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    functions: frozenset[str] = frozenset()
    sealed: frozenset[str] = frozenset()
    passes: frozenset[str] = frozenset()
    closed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def forms(self, node: Node) -> Iterator[tuple[Form, Node]]:
        """Yield (form, name) of the names that a node binds by the table of its language."""
        for form in self.binds.get(node.type, ()):
            tokens = (inner.type for inner in node.children)
            if form.needs and node.child_by_field_name(form.needs) is None and form.needs not in tokens:
                continue
            if form.parts.startswith("="):
                yield form, node
            for part in _parts(node, form.parts):
                if form.scope == "label":
                    yield from [(form, part)] if part.type.endswith("identifier") else []
                else:
                    # A value is never named by the node of a type.
                    typed = form.space != "value"
                    yield from ((form, name) for name in self._named(part) if typed or name.type != "type_identifier")

    def _named(self, pattern: Node) -> Iterator[Node]:
        """Yield the names that a pattern or a declarator binds."""
        stack = [pattern]  # patterns nest without limit
        while stack:
            node = stack.pop()
            if node.type in self.names:
                yield node
            elif node.type in self.within:
                stack += [inner for part in self.within[node.type] for inner in _parts(node, part)]
            else:
                stack += node.named_children


def binding_forms(**tables: str) -> BindingForms:
    """Read the tables of a language, each a field of `BindingForms` as text."""
    forms: dict[str, tuple[Form, ...]] = defaultdict(tuple)
    for line in tables.pop("binds").strip().splitlines():
        kinds, parts, scope, since, *others = line.split()
        needs = next((word[3:] for word in others if word.startswith("if:")), "")
        space = next((word for word in others if word in ("type", "both", "any", "method")), "value")
        for kind in kinds.split("|"):
            forms[kind] += (Form(parts=parts, scope=scope, since=since, space=space, needs=needs),)  # type: ignore[arg-type]
    within, closed = _by_kind(tables.pop("within", "")), _by_kind(tables.pop("closed", ""))
    words = {name: frozenset(text.split()) for name, text in tables.items()}
    inside = {kind for kind, lines in forms.items() if any(form.scope == "inside" for form in lines)}
    words["scopes"] = words["scopes"].union(words["outer"], words.get("functions", ()), inside)
    return BindingForms(binds=dict(forms), within=within, closed=closed, **words)


def _by_kind(table: str) -> Mapping[str, tuple[str, ...]]:
    """Read lines of kinds of nodes and the parts of them."""
    lines = (line.split() for line in table.strip().splitlines())
    return {kind: tuple(parts) for kinds, *parts in lines for kind in kinds.split("|")}


def _parts(node: Node, part: str) -> list[Node]:
    """Return the parts of a node that a table names."""
    sign, token = part[:1], part[1:]
    if sign == "!":
        left_out = {inner.id for inner in node.children_by_field_name(token)} if token else ()
        return [inner for inner in node.named_children if inner.id not in left_out]
    if sign == "<":
        return [inner for inner in node.named_children if (sibling := inner.next_sibling) and sibling.type == token]
    if sign == ">":
        return [inner for inner in node.named_children if (sibling := inner.prev_sibling) and sibling.type == token]
    return [] if sign == "=" else [inner for inner in node.children_by_field_name(part) if inner.is_named]
