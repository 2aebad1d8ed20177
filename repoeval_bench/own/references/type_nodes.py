"""Syntax nodes of types, and of calls, in the languages of `static_types`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from repoeval_bench.core.grammars.grammar import child
from repoeval_bench.own.references.languages import NODES
from repoeval_bench.own.references.tree_names import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.core.definitions import Definition


def arity_of(parsed: Definition) -> int:
    """Return the number of type parameters of a class."""
    return count_of(parsed.signature.partition(parsed.name)[2].lstrip().partition(">")[0])


def count_of(parameters: str) -> int:
    """Return how many there are in a list in angle brackets; 0 in another text."""
    while (shorter := re.sub(r"(?<!^)(<[^<>]*>|\([^()]*\))", "", parameters)) != parameters:
        parameters = shorter
    return parameters.count(",") + 1 if parameters.startswith("<") else 0


def bare_type(node: Node) -> Node:
    """A type without pointers and references."""
    while node.type in NODES["wraps"]:
        inner = child(node, "type", "trait") or (node.named_children[-1] if node.named_children else None)
        if inner is None:
            break
        node = inner
    if node.type in ("struct_specifier", "class_specifier", "union_specifier", "enum_specifier"):
        node = child(node, "name") or node
    return node


def head_of(node: Node) -> str:
    """A type's own name, without qualifiers and type arguments."""
    parts = qualified_parts(bare_type(node))
    return parts[-1] if parts else ""


def arguments_of(node: Node) -> list[Node]:
    """The arguments of a generic type; none for another."""
    generic = bare_type(node)
    while generic.type == "qualified_identifier" and (inner := child(generic, "name")) is not None:
        generic = inner  # `vector<T>` of `std::vector<T>`
    parts = generic.named_children if generic.type in NODES["generic"] else []
    lists = [part for part in parts if part.type.endswith(("arguments", "argument_list"))]
    return [part for part in lists[0].named_children if part.type != "lifetime"] if lists else []


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


def arguments_to(node: Node) -> Sequence[Node] | None:
    """Return the arguments that a name is called with; None if it is not called."""
    call, after = node.parent, node.next_sibling
    if call is not None and call.type == "token_tree":  # of a Rust macro
        return after.named_children if after is not None and text_of(after)[:1] == "(" else None
    while call is not None and call.type in (*NODES["dotted"], *NODES["generic"]):
        if call.type in NODES["dotted"] and call.end_byte != node.end_byte:
            return None  # the receiver of what is called
        node, call = call, call.parent
    arguments, called = child(call, "arguments"), child(call, "function", "name")
    if arguments is None or called is None or call is None or call.type not in NODES["calls"]:
        return None
    inside = called.start_byte <= node.start_byte and node.end_byte <= called.end_byte
    return [argument for argument in arguments.named_children if "comment" not in argument.type] if inside else None


def called_with(node: Node) -> int | None:
    """Return the number of arguments that a name is called with; None if it is not called."""
    arguments = arguments_to(node)
    return None if arguments is None else len(arguments)
