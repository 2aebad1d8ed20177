"""Syntax nodes of types, of calls, and of what locals are bound with, in the languages of `static_types`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from repoeval_bench.core.grammars.grammar import child, words
from repoeval_bench.own.references.languages import NODES
from repoeval_bench.own.references.tree_names import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.core.definitions import Definition
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
