"""Receivers of names in Go, Rust, Java, C, C++ and C#: those in the text, and those that the context implies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.core.spans import LineSpan
from repoeval_bench.own.references.script_trees import Trees, child
from repoeval_bench.own.references.static_nodes import called_with
from repoeval_bench.own.references.static_types import Members, StaticTypes, Value
from repoeval_bench.own.references.tree_names import receiver_of, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.own.references.language_rules import Names

_NO_OWNER = Value(" ", None)


class StaticPlaces(StaticTypes):
    """Types of names that depend on the syntax around them."""

    def __init__(self, trees: Trees, names: Names) -> None:
        super().__init__(trees, names)
        self._literals: dict[tuple[str, int], Value | None] = {}

    def begin(self) -> None:
        """Forget values and the types of literals."""
        super().begin()
        self._literals.clear()

    def named(self, path: str, node: Node) -> tuple[bool, Members]:
        """Return (whether a name has a receiver, written or implied, the receiver's members of that name).

        There are no members if the type of the receiver is not known.
        """
        owner = self._owner(path, node)
        if owner is None or owner is _NO_OWNER:
            return owner is None, ()
        matches = self.members(owner, text_of(node))
        return True, self._names.fitting(matches, called_with(node)) if matches else matches

    def _owner(self, path: str, node: Node) -> Value | None:  # noqa: PLR0911 - one return a kind of owner
        """Return the value that a name is looked up in: its receiver, or the literal or pattern whose member it names.

        `_NO_OWNER` if it is looked up in nothing.
        """
        receiver, parent = receiver_of(node), node.parent
        if receiver is not None:
            whole = self._names.rules(path).qualifier(path, receiver)
            if whole != text_of(receiver):  # the path of a type or of a module
                types = self._names.types(path, whole.split("::"))[0]
                return self.of_definition(*types[0]) if types else _NO_OWNER
            # `Names` knows the bases of a class.
            return None if text_of(receiver) in ("super", "base") else self.of(path, receiver)
        holder = parent.parent if parent is not None else None
        if parent is None or holder is None:
            return _NO_OWNER
        if parent.type == "literal_element" and holder.type == "keyed_element" and parent == child(holder, "key"):
            owner = self._literal(path, holder.parent)
            return _NO_OWNER if owner is not None and self.step(owner, "item") is not None else owner
        if parent.type in ("field_initializer", "shorthand_field_initializer") and node == (
            child(parent, "field") or node
        ):
            literal = holder.parent
            if literal is not None and literal.type == "struct_expression":
                return self.typed(path, child(literal, "name"))
            return self.around(path, node)  # of C++, in the constructor of its class
        if parent.type == "field_designator":
            return self._designated(path, parent)
        if parent.type == "field_pattern" and node == child(parent, "name"):
            return self.typed(path, child(holder, "type"))
        if parent.type == "assignment_expression" and holder.type == "initializer_expression":
            return self.of(path, holder.parent) if node == child(parent, "left") else _NO_OWNER
        return self._of_case(path, node) if parent.type == "switch_label" else _NO_OWNER

    def _designated(self, path: str, designator: Node) -> Value | None:
        """The value of C that `.a = 1` initializes a member of; that of `.b` in `.a.b = 1` is the member `.a`."""
        before, pair = designator.prev_named_sibling, designator.parent
        if before is not None and before.type == "field_designator":
            return self._first(self.named(path, before.named_children[0])[1])
        holder = pair.parent.parent if pair is not None and pair.parent is not None else None
        if holder is None:
            return None
        if holder.type == "initializer_pair":
            outer = child(holder, "designator")
            named = outer is not None and outer.type == "field_designator"
            return self._first(self.named(path, outer.named_children[0])[1]) if outer is not None and named else None
        return self.typed(path, child(holder if holder.type != "init_declarator" else holder.parent, "type"))

    def _of_case(self, path: str, node: Node) -> Value | None:
        """The enumeration of a name after `case`, which Java does not write; `_NO_OWNER` for another constant."""
        current: Node | None = node
        while current is not None and current.type != "switch_expression":
            current = current.parent
        owner = self.of(path, child(current, "condition"))
        if owner is not None and self.members(owner, text_of(node)):
            return owner
        line = self._trees.of(path).span(node).start
        matches = self._names.bare(path, LineSpan(line, line + 1), text_of(node))[0]
        return _NO_OWNER if any(definition.kind != "class" for _, definition in matches) else None

    def _literal(self, path: str, body: Node | None) -> Value | None:
        """The type of the Go literal with these braces, found once: each literal needs that of the one around it."""
        if body is None:
            return None
        bodies: list[Node] = []  # from this one outwards, as literals nest without limit
        outer: Node | None = body
        while outer is not None and (path, outer.start_byte) not in self._literals:
            bodies.append(outer)
            outer = _literal_around(outer)
        for inner in reversed(bodies):
            self._names.steps.take()
            self._literals[path, inner.start_byte] = self._of_literal(path, inner)
        return self._literals[path, body.start_byte]

    def _of_literal(self, path: str, body: Node) -> Value | None:
        outer = body.parent
        if outer is None:
            return None
        if outer.type == "composite_literal":
            return self.typed(path, child(outer, "type"))
        holder = outer.parent
        if outer.type == "literal_element" and holder is not None and holder.type == "keyed_element":
            key = child(holder, "key")
            whole = self._literal(path, _literal_around(body))
            named = key.named_children[0] if key is not None and key.named_children else None
            if whole and named is not None and named.type == "identifier" and (matches := self.named(path, named)[1]):
                return self.of_definition(*matches[0])
            return self.step(whole, "item")
        return self.step(self._literal(path, _literal_around(body)), "item")


def _literal_around(body: Node) -> Node | None:
    """The braces of a Go literal around these; None where a type is written before these."""
    element = body.parent
    if element is None or element.type != "literal_element":
        return None
    holder = element.parent
    return holder.parent if holder is not None and holder.type == "keyed_element" else holder
