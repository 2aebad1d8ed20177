"""Syntax nodes of types in Go, Rust, Java, C, C++ and C#: their names, their arguments, the types inside them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from repoeval_bench.own.references.languages import nodes_of
from repoeval_bench.own.references.tree_names import child, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.own.references.local_scopes import Bound


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


Step = int | Literal["item", "inside"]
"""A step from a value to the bound part of it: a part by its index, an item, or the content of an optional value."""

_PARTS = frozenset({"variable_declarator"})
"""Nodes whose parent has the type."""
_NO_TYPE = nodes_of("untyped")
_SHAPES = nodes_of("declarators")
_PLAIN = nodes_of("patterns")
_INSIDE = frozenset({"Some", "Ok"})


@dataclass(frozen=True, slots=True)
class StaticBinding:
    """A name with the type that it is declared with, else the value that it is given, and the steps from there."""

    name: Node
    typed: Node | None
    value: Node | None
    steps: tuple[Step, ...] = ()


def binding_of(bound: Bound) -> StaticBinding:
    """Return a local with its type, or with the value that it is given; with neither if its form has none."""
    node = bound.node
    if node.type == "type_switch_statement":
        return StaticBinding(bound.name, None, child(node, "value"))
    if node.type in _PARTS and node.parent is not None:
        node = node.parent
    bindings = (binding for binding in _bound(node) if binding.name == bound.name)
    return next(bindings, StaticBinding(bound.name, None, None))


def case_of(switch: Node, node: Node) -> Node | None:
    """Return the type that a value has in the case of a type switch of Go around a node, if it is a single one."""
    while node.parent is not None and node.parent != switch:
        node = node.parent
    types = node.children_by_field_name("type")
    return types[0] if len(types) == 1 else None


def _bound(node: Node) -> Iterator[StaticBinding]:  # noqa: C901, PLR0912 - one branch a kind of binding
    """Yield the bindings of a node itself."""
    kind = node.type
    typed = child(node, "type")
    if typed is not None and (typed.type in _NO_TYPE or text_of(typed) == "var"):
        typed = None
    if kind in ("short_var_declaration", "receive_statement", "range_clause"):
        yield from _several(child(node, "left"), child(node, "right"), item_by_item=kind == "range_clause")
    elif kind == "var_spec":
        names = node.children_by_field_name("name")
        if typed is not None:
            yield from (StaticBinding(name_node, typed, None) for name_node in names)
        else:
            yield from _given(names, child(node, "value"))
    elif kind in ("let_declaration", "let_condition"):
        yield from _pattern(child(node, "pattern"), typed, child(node, "value"))
    elif kind == "for_expression":
        yield from _pattern(child(node, "pattern"), None, child(node, "value"), ("item",))
    elif kind == "match_arm":
        match = node.parent.parent if node.parent is not None else None
        yield from _pattern(child(node, "pattern"), None, child(match, "value"))
    elif kind in ("enhanced_for_statement", "foreach_statement"):
        name = child(node, "name", "left")
        if name is not None:
            source = None if typed is not None else child(node, "value", "right")
            yield StaticBinding(name, typed, source, () if typed is not None else ("item",))
    elif kind == "for_range_loop":
        for name in _declared(child(node, "declarator")):
            source = None if typed is not None else child(node, "right")
            yield StaticBinding(name, typed, source, () if typed is not None else ("item",))
    elif kind in ("declaration", "variable_declaration", "local_variable_declaration", "spread_parameter"):
        for inner in node.named_children:
            value = child(inner, "value") or (inner.named_children[-1] if inner.type == "variable_declarator" else None)
            for name in _declared(inner) if inner != typed else ():
                yield StaticBinding(name, typed, None if value == name else value)
    elif kind == "instanceof_expression":
        if (name := child(node, "name")) is not None:
            yield StaticBinding(name, child(node, "right"), None)
    elif child(node, "pattern") is not None:
        yield from _pattern(child(node, "pattern"), typed, child(node, "value"))
    elif typed is not None or kind in ("resource", "parameter_declaration", "parameter"):
        for name in node.children_by_field_name("name") or _declared(child(node, "declarator")):
            yield StaticBinding(name, typed, child(node, "value"))


def _several(left: Node | None, right: Node | None, *, item_by_item: bool) -> Iterator[StaticBinding]:
    """`a, b := f()` and `for a, b := range c` of Go."""
    names = left.named_children if left is not None and left.type == "expression_list" else [left] if left else []
    if not item_by_item:
        yield from _given(names, right)
        return
    for index, name in enumerate(names):
        yield StaticBinding(name, None, right if index == 1 else None, ("item",))


def _given(names: list[Node], right: Node | None) -> Iterator[StaticBinding]:
    values = right.named_children if right is not None and right.type == "expression_list" else [right] if right else []
    for index, name in enumerate(names):
        if len(values) == len(names):
            yield StaticBinding(name, None, values[index])
        else:
            yield StaticBinding(name, None, values[0] if values else None, (index,))


def _declared(node: Node | None) -> Iterator[Node]:
    """The name in a declarator."""
    while node is not None and node.type not in ("identifier", "field_identifier"):
        if node.type not in _SHAPES and node.type != "variable_declarator":
            return
        node = child(node, "declarator", "name") or (node.named_children[-1] if node.named_children else None)
    if node is not None:
        yield node


def _pattern(
    node: Node | None, typed: Node | None, value: Node | None, steps: tuple[Step, ...] = ()
) -> Iterator[StaticBinding]:
    """The names of a pattern of Rust."""
    stack = [StaticBinding(node, typed, value, steps)] if node is not None else []  # patterns nest without limit
    while stack:
        part = stack.pop()
        if part.name.type in ("identifier", "shorthand_field_identifier"):
            yield part
        else:
            stack += reversed([*_parts(part)])


def _parts(pattern: StaticBinding) -> Iterator[StaticBinding]:
    """The patterns in a pattern of Rust, in order."""
    node, steps = pattern.name, pattern.steps
    if node.type in _PLAIN:
        for inner in node.named_children[:1] if node.type == "match_pattern" else node.named_children[-1:]:
            yield replace(pattern, name=inner)
    elif node.type == "tuple_struct_pattern":
        inside = node.named_children[1:]
        known = text_of(child(node, "type")) in _INSIDE
        for index, inner in enumerate(inside):
            if known:
                yield replace(pattern, name=inner, steps=(*steps, "inside"))
            else:  # a field of a variant, by its index
                yield StaticBinding(inner, child(node, "type"), None, (index,))
    elif node.type in ("tuple_pattern", "slice_pattern"):
        for index, inner in enumerate(node.named_children):
            step: Step = index if node.type == "tuple_pattern" else "item"
            yield replace(pattern, name=inner, steps=(*steps, step))
    elif node.type == "struct_pattern":
        for field in node.named_children[1:]:
            name = child(field, "pattern", "name")
            if name is not None:  # its type is that of the field
                yield StaticBinding(name, None, child(field, "name"))
