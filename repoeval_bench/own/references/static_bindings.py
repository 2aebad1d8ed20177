"""The types and values that locals are bound with, in the languages of `static_types`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from repoeval_bench.core.grammars.grammar import child, words
from repoeval_bench.own.references.languages import NODES
from repoeval_bench.own.references.tree_names import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.own.references.local_scopes import Bound


_EACH = words(
    "map for_each filter any all find position flat_map is_some_and and_then inspect forEach anyMatch allMatch "
    "noneMatch mapToInt ifPresent removeIf Select Where Any All First FirstOrDefault Single Count OrderBy Sum Max Min "
    "OrderByDescending SelectMany ForEach"
)
"""Methods that call a function with each item."""
Step = int | Literal["item", "each", "inside"]
"""A step from a value to the bound part of it: a part by its index, an item, or the content of an optional value.

`each` is an item that a loop or a method of the value goes through.
"""

_CONTENT = frozenset({"Some", "Ok"})
_LISTS = frozenset({"short_var_declaration", "receive_statement", "range_clause", "var_spec"})
_LOOPS = frozenset({"enhanced_for_statement", "foreach_statement", "for_range_loop"})
_DECLARATIONS = frozenset({"declaration", "variable_declaration", "local_variable_declaration", "spread_parameter"})


@dataclass(frozen=True, slots=True)
class StaticBinding:
    """The type that a name is declared with, else the value that it is given, and the steps from there."""

    typed: Node | None = None
    value: Node | None = None
    steps: tuple[Step, ...] = ()


def binding_of(bound: Bound) -> StaticBinding:  # noqa: C901, PLR0911, PLR0912 - one branch a kind
    """Return the type of a local, or the value that it is given; neither if its form has none."""
    name, node = bound.name, bound.node
    if (receiver := _calling_with_each(name, node)) is not None:
        return StaticBinding(value=receiver, steps=("each",))
    if node.type == "type_switch_statement":
        return StaticBinding(value=child(node, "value"))
    if node.type == "variable_declarator" and node.parent is not None:  # the declaration around it has the type
        node = node.parent
    kind, typed = node.type, child(node, "type")
    if typed is not None and (typed.type in NODES["untyped"] or text_of(typed) == "var"):
        typed = None
    if kind in _LISTS:
        return _in_list(name, node, typed)
    if kind in _LOOPS:
        if name == (child(node, "name", "left") or _declared(child(node, "declarator"))):
            return (
                StaticBinding(typed) if typed else StaticBinding(value=child(node, "value", "right"), steps=("each",))
            )
    elif kind in _DECLARATIONS:
        for inner in node.named_children:
            if inner != typed and _declared(inner) == name:
                last = inner.named_children[-1] if inner.type == "variable_declarator" else None
                value = child(inner, "value") or last
                return StaticBinding(typed, None if value == name else value)
    elif kind == "from_clause":  # of C#
        return StaticBinding(typed) if typed else StaticBinding(value=node.named_children[-1], steps=("each",))
    elif kind == "catch_formal_parameter":  # of Java
        types = next((part.named_children for part in node.named_children if part.type == "catch_type"), ())
        return StaticBinding(types[0] if len(types) == 1 else None)
    elif kind == "instanceof_expression":
        if child(node, "name") == name:
            return StaticBinding(child(node, "right"))
    elif (pattern := child(node, "pattern")) is not None:
        around = node.parent.parent if kind == "match_arm" and node.parent is not None else node
        steps: tuple[Step, ...] = ("each",) if kind == "for_expression" else ()
        return _in_pattern(name, pattern, StaticBinding(typed, child(around, "value"), steps))
    else:
        names: list[Node | None] = [*node.children_by_field_name("name")]
        is_typed = typed is not None or kind in ("resource", "parameter_declaration", "parameter")
        if is_typed and name in (names or [_declared(child(node, "declarator"))]):
            return StaticBinding(typed, child(node, "value"))
    return StaticBinding()


def _calling_with_each(name: Node, node: Node) -> Node | None:
    """Return the receiver of a method that calls a function with each of its items, if this is its only parameter."""
    function: Node | None = node if node.type == "lambda_expression" else node.parent
    if node.type == "parameter" and function is not None and child(node, "type") is None:  # of C#, in parentheses
        function = function.parent
    if function is None or function.type not in ("lambda_expression", "closure_expression"):
        return None
    parameters = re.sub(r"\bmut\b|\W", "", text_of(child(function, "parameters")))
    listed = function.parent.parent if function.parent and function.parent.type == "argument" else function.parent
    call = listed.parent if listed is not None and parameters == text_of(name) else None
    callee = child(call, "function") or call
    is_each = text_of(child(callee, "field", "name")) in _EACH
    return child(callee, "value", "expression", "object") if is_each else None


def case_of(switch: Node, node: Node) -> Node | None:
    """Return the type that a value has in the case of a type switch of Go around a node, if it is a single one."""
    while node.parent is not None and node.parent != switch:
        node = node.parent
    types = node.children_by_field_name("type")
    return types[0] if len(types) == 1 else None


def _in_list(name: Node, node: Node, typed: Node | None) -> StaticBinding:
    """Return the binding of a name in `a, b := f()`, `for a, b := range c` or `var a, b = f()` of Go."""
    names = node.children_by_field_name("name") if node.type == "var_spec" else _listed(child(node, "left"))
    if name not in names:
        return StaticBinding()
    index, values = names.index(name), _listed(child(node, "right", "value"))
    if node.type == "range_clause":
        return StaticBinding(value=child(node, "right") if index == 1 else None, steps=("item",))
    if typed is not None:
        return StaticBinding(typed)
    if len(values) == len(names):
        return StaticBinding(value=values[index])
    return StaticBinding(value=values[0] if values else None, steps=(index,))


def _listed(node: Node | None) -> list[Node]:
    return node.named_children if node is not None and node.type == "expression_list" else [node] if node else []


def _declared(node: Node | None) -> Node | None:
    """Return the name in a declarator."""
    while node is not None and node.type not in ("identifier", "field_identifier"):
        if node.type not in NODES["declarators"] and node.type != "variable_declarator":
            return None
        node = child(node, "declarator", "name") or (node.named_children[-1] if node.named_children else None)
    return node


def _in_pattern(name: Node, pattern: Node, whole: StaticBinding) -> StaticBinding:
    """Return the binding of a name in a pattern of Rust that is bound as a `whole`, by the way up from the name."""
    steps: tuple[Step, ...] = ()
    node: Node | None = name
    while node is not None and node != pattern:
        inner, node = node, node.parent
        parts = node.named_children if node is not None else []
        kind = node.type if node is not None and inner in parts else ""
        if kind == "field_pattern" and inner == child(node, "pattern", "name"):  # its type is that of the field
            return StaticBinding(value=child(node, "name"), steps=steps)
        if kind == "tuple_struct_pattern" and text_of(child(node, "type")) in _CONTENT:
            steps = ("inside", *steps)
        elif kind == "tuple_struct_pattern":  # a field of a variant, by its index
            return StaticBinding(child(node, "type"), steps=(parts.index(inner) - 1, *steps))
        elif kind in ("tuple_pattern", "slice_pattern"):
            step: Step = parts.index(inner) if kind == "tuple_pattern" else "item"
            steps = (step, *steps)
        elif kind not in NODES["patterns"] or inner != parts[0 if kind == "match_pattern" else -1]:
            return StaticBinding()
    is_plain = name.type in ("identifier", "shorthand_field_identifier")
    return replace(whole, steps=(*whole.steps, *steps)) if is_plain else StaticBinding()
