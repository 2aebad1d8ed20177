"""Syntax nodes of names, and their receivers; the record of a name with the definitions that it refers to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from repoeval_bench.core.grammars import GRAMMARS
from repoeval_bench.core.uses import CodeDefinition

if TYPE_CHECKING:
    from tree_sitter import Node


_LABELS = frozenset({"statement_identifier", "label_name", "package_identifier"})
IDENTIFIERS = {
    language: tuple(kind for kind in grammar.identifiers if kind not in _LABELS)
    for language, grammar in GRAMMARS.items()
}
"""Language -> the nodes that may name a definition."""

_OBJECTS = ("object", "operand", "value", "argument", "expression", "path", "scope", "package", "module")
_TEMPLATES = ("template_type", "template_function", "template_method", "dependent_name", "generic_name")
_MEMBERS = ("property", "field", "name")


def text_of(node: Node | None) -> str:
    """The text of a node; "" of none."""
    return node.text.decode("utf-8", "replace") if node is not None and node.text else ""


def children(node: Node | None, kind: str) -> list[Node]:
    """The children of a kind."""
    return [child for child in node.children if child.type == kind] if node is not None else []


def first_leaf(node: Node) -> Node:
    """Return the first name in a node."""
    while node.named_children:
        node = node.named_children[0]
    return node


def is_macro(node: Node) -> bool:
    """Return whether a name calls a macro of Rust: `format` in `format!("…")`."""
    parent, after = node.parent, node.next_sibling
    called = parent is not None and parent.type in ("macro_invocation", "token_tree")
    return called and after is not None and after.type == "!"


def receiver_of(node: Node) -> Node | None:
    """Return the receiver that a name is looked up in; None if it has none."""
    parent = node.parent
    if parent is not None and parent.type == "token_tree":  # the arguments of a Rust macro are a flat row of tokens
        sign = node.prev_sibling
        return sign.prev_sibling if sign is not None and sign.type in (".", "::") else None
    while parent is not None and parent.type in _TEMPLATES:  # the receiver of `list` in `std::list<T>`
        node, parent = parent, parent.parent
    if parent is None:
        return None
    if parent.type == "scoped_type_identifier" and parent.child_by_field_name("name") is None:  # of Java: `Outer.Inner`
        first = parent.named_children[0]
        return first if first.id != node.id else None
    outer = parent.parent
    if parent.type == "qualified_identifier" and outer is not None and parent.child_by_field_name("scope") == node:
        return outer.child_by_field_name("scope") if outer.type == parent.type else None  # of C++: `a::` and `B::c`
    if parent.type == "method_reference":  # of Java
        first = parent.named_children[0]
        return first if first.id != node.id else None
    if not any((named := parent.child_by_field_name(field)) is not None and named.id == node.id for field in _MEMBERS):
        return None
    for field in _OBJECTS:
        receiver = parent.child_by_field_name(field)
        if receiver is not None and receiver.id != node.id and receiver.end_byte <= node.start_byte:
            return receiver
    return None


Reason = Literal["outside", "unknown"]
"""Reasons for no definition: a name is the language's own or another package's, or what it means is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedName:
    """A name at a position (0-based line, column in characters), with its definitions."""

    line: int
    column: int
    definitions: tuple[CodeDefinition, ...]
