"""Syntax nodes of types in Go, Rust, Java, C, C++ and C#: their names, their arguments, the types inside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from repoeval_bench.own.references.languages import nodes_of
from repoeval_bench.own.references.script_trees import child
from repoeval_bench.own.references.tree_names import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

DOTTED = nodes_of("dotted")
CALLS = nodes_of("calls")
CREATIONS = nodes_of("creations")
CAST = nodes_of("casts")
SAME = nodes_of("same")
ITEMS = nodes_of("items")
LITERALS = nodes_of("literals")
COLLECTIONS = nodes_of("collections")
CLASSES = nodes_of("classes")
GENERIC = nodes_of("generic")
_WRAPS = nodes_of("wraps")


def bare_type(node: Node) -> Node:
    """A type without pointers and references."""
    while node.type in _WRAPS:
        inner = child(node, "type", "trait") or (node.named_children[-1] if node.named_children else None)
        if inner is None:
            break
        node = inner
    if node.type in ("struct_specifier", "class_specifier", "union_specifier", "enum_specifier"):
        node = child(node, "name") or node
    return node


def generic_part(node: Node) -> Node | None:
    """The part of a type that has type arguments: `vector<T>` of `std::vector<T>`."""
    while node.type == "qualified_identifier" and (inner := child(node, "name")) is not None:
        node = inner
    return node if node.type in GENERIC else None


def head_of(node: Node) -> str:
    """A type's own name, without qualifiers and type arguments."""
    parts = qualified_parts(bare_type(node))
    return parts[-1] if parts else ""


def arguments_of(node: Node) -> list[Node]:
    """The arguments of a generic type; none for another."""
    generic = generic_part(bare_type(node))
    if generic is None:
        return []
    lists = [child for child in generic.named_children if child.type.endswith(("arguments", "argument_list"))]
    return [child for child in lists[0].named_children if child.type != "lifetime"] if lists else []


def qualified_parts(node: Node) -> Sequence[str]:
    """The parts of a type's qualified name, the outermost first."""
    text = re.sub(r"[<\[(].*", "", text_of(node), flags=re.DOTALL)
    words = re.findall(r"\w+", text)
    return words if re.fullmatch(r"[\w.:\s]*", text) else ()


def callee_of(function: Node) -> Node | None:
    """Return the node of a function's name in C or C++."""
    current = child(function, "declarator")
    while current is not None and current.type not in ("qualified_identifier", "identifier"):
        current = child(current, "declarator") or (current.named_children[0] if current.named_children else None)
    return current


def called_with(node: Node) -> int | None:
    """Return the number of arguments that a name is called with; None if it is not called."""
    call = node.parent
    while call is not None and call.type in (*DOTTED, *GENERIC):
        call = call.parent
    arguments, called = child(call, "arguments"), child(call, "function", "name")
    if arguments is None or called is None or call is None or call.type not in CALLS:
        return None
    inside = called.start_byte <= node.start_byte and node.end_byte <= called.end_byte
    return sum(1 for argument in arguments.named_children if "comment" not in argument.type) if inside else None
