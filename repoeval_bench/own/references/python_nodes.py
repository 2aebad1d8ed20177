"""Syntax nodes of Python: what several forms of the grammar have in common.

The grammar knows the syntax of every Python, and reads the rest of a file around an error. The module `ast` knows that
of the running Python alone, and gives up on a whole file for one newer statement or one of Python 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.syntax import parse
from repoeval_bench.own.references.tree_names import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

COMPREHENSIONS = frozenset({"list_comprehension", "set_comprehension", "dictionary_comprehension"})
COMPREHENSIONS |= {"generator_expression"}
DEFINITIONS = frozenset({"function_definition", "class_definition"})
OPENING = COMPREHENSIONS | DEFINITIONS | {"lambda"}
"""Nodes that open a scope."""
ATTRIBUTES = frozenset({"attribute", "member_type"})
SUBSCRIPTS = frozenset({"subscript", "generic_type"})
UNIONS = frozenset({"binary_operator", "union_type"})
TUPLES = frozenset({"tuple", "expression_list", "pattern_list", "tuple_pattern", "expression_statement"})
LISTS = TUPLES | {"list", "list_pattern"}
GRAMMAR = LANGUAGES["python"]
STRINGS = frozenset({"string", "concatenated_string"})

_NO_CODE = frozenset({"comment", "ERROR", "line_continuation", "keyword_separator", "positional_separator"})
"""Nodes that are not opened. Where a name in an error belongs is not known, so it counts as not written."""
_AROUND = frozenset({"parenthesized_expression", "parenthesized_list_splat", "type", "decorator", "if_clause"})
_AROUND |= {"as_pattern_target", "format_expression"}
"""Nodes that are what is in them."""
_WRITTEN = frozenset({"default_parameter", "typed_parameter", "typed_default_parameter"})


def inside(node: Node | None) -> list[Node]:
    """Return the nodes of code in a node, in order."""
    if node is None:
        return []
    return [part for part in node.named_children if part.type not in _NO_CODE and part.end_byte > part.start_byte]


def bare(node: Node) -> Node:
    """Return an expression without what is only around it, such as brackets."""
    while (around := node.type in _AROUND) or node.type == "tuple_pattern":
        parts = inside(node)
        if not parts or (not around and (len(parts) > 1 or any(part.type == "," for part in node.children))):
            break
        node = parts[0]
    return node


def part_of(node: Node, name: str) -> Node | None:
    """Return the expression in a field; None if it is empty."""
    part = node.child_by_field_name(name)
    return bare(part) if part is not None and part.end_byte > part.start_byte else None


def evaluated(node: Node) -> Sequence[Node]:
    """Return the parts of a node that are evaluated or hold such parts: without names that it only writes."""
    return _EVALUATED.get(node.type, inside)(node)


def _fields(*names: str) -> Callable[[Node], list[Node]]:
    return lambda node: [part for part in map(node.child_by_field_name, names) if part is not None]


def _but(*names: str) -> Callable[[Node], list[Node]]:
    def others(node: Node) -> list[Node]:
        named = [node.child_by_field_name(name) for name in names]
        return [part for part in inside(node) if part not in named]

    return others


def _pattern(node: Node) -> list[Node]:
    """Return what is before `as`; in a `case` the name after it is bound."""
    parts = inside(node)
    return parts[:1] if parts and parts[0].type == "case_pattern" else parts


_EVALUATED: Mapping[str, Callable[[Node], Sequence[Node]]] = {
    **dict.fromkeys(("import_statement", "import_from_statement", "future_import_statement"), lambda _: ()),
    **dict.fromkeys(("global_statement", "nonlocal_statement", "splat_pattern", "dotted_name"), lambda _: ()),
    **dict.fromkeys(ATTRIBUTES, lambda node: inside(node)[:1]),
    **dict.fromkeys(_WRITTEN, _fields("type", "value")),
    "keyword_argument": _fields("value"),
    **dict.fromkeys(DEFINITIONS, _but("name", "type_parameters")),
    **dict.fromkeys(
        ("parameters", "lambda_parameters"), lambda node: [part for part in inside(node) if part.type in _WRITTEN]
    ),
    **dict.fromkeys(
        ("except_clause", "except_group_clause"),
        lambda node: [*caught(node)[0], *(part for part in inside(node) if part.type == "block")],
    ),
    "keyword_pattern": lambda node: inside(node)[1:],
    "as_pattern": _pattern,
    "type_alias_statement": lambda node: [alias_name(node), *inside(node)[1:]],
}


def attribute_of(node: Node) -> tuple[Node, Node] | None:
    """Return the object and the name of an attribute; None for another node."""
    if node.type not in ATTRIBUTES or len(parts := inside(node)) < 2:
        return None
    return bare(parts[0]), parts[-1]


def subscripted(node: Node) -> tuple[Node, list[Node]]:
    """Return what a subscript is of, and its parts."""
    if node.type == "generic_type":
        value, *lists = inside(node) or [node]
        return value, [bare(part) for listed in lists for part in inside(listed)]
    value = part_of(node, "value") or node
    parts = [bare(part) for part in node.children_by_field_name("subscript")]
    return value, inside(parts[0]) if len(parts) == 1 and parts[0].type == "tuple" else parts


def given(node: Node | None) -> tuple[list[Node], Mapping[str, Node]]:
    """Return the arguments of a call or the bases of a class: those by place, and those by name."""
    if node is None:
        return [], {}
    if node.type == "generator_expression":
        return [node], {}
    parts = inside(node)
    named = {
        text_of(part_of(part, "name")): part_of(part, "value") for part in parts if part.type == "keyword_argument"
    }
    placed = [bare(part) for part in parts if part.type not in ("keyword_argument", "dictionary_splat")]
    return placed, {name: value for name, value in named.items() if value is not None}


def arguments_of(call: Node) -> tuple[list[Node], Mapping[str, Node]]:
    """Return the arguments of a call: those by place, and those by name."""
    return given(call.child_by_field_name("arguments"))


def called_name(node: Node) -> str:
    """Return the name that a call calls, without a receiver; "" of another node."""
    function = part_of(node, "function") if node.type == "call" else None
    return text_of(function) if function is not None and function.type == "identifier" else ""


def operands(node: Node, operator: str) -> Iterator[Node]:
    """Yield the operands of a chain of one operator, from left to right: a chain is nested as deeply as it is long."""
    stack = [node]
    while stack:
        part = bare(stack.pop())
        parts = inside(part)
        if len(parts) == 2 and any(sign.type == operator for sign in part.children[1:-1]):
            stack += reversed(parts)
        else:
            yield part


def last_word(node: Node | None) -> str:
    """Return the name after the last dot; empty if there is none."""
    if node is None:
        return ""
    attribute = attribute_of(node)
    return text_of(attribute[1]) if attribute else text_of(node) if node.type == "identifier" else ""


def string_of(node: Node) -> str | None:
    """Return the text of a literal; None for bytes, for a template with values, and for another node."""
    if node.type == "concatenated_string":
        texts = [string_of(part) for part in inside(node)]
        return "".join(text for text in texts if text is not None) if None not in texts else None
    if node.type != "string" or {"f", "t", "b"} & {*text_of(node.children[0]).lower()}:
        return None
    return "".join(text_of(part) for part in node.children if part.type == "string_content")


def caught(clause: Node) -> tuple[list[Node], Node | None]:
    """Return the types that an `except` catches, and the name that it binds."""
    parts = [part for part in inside(clause) if part.type != "block"]
    if len(parts) == 1 and parts[0].type == "as_pattern":
        return inside(parts[0])[:1], part_of(parts[0], "alias")
    if len(parts) == 2 and parts[1].type == "identifier" and text_of(parts[1]).islower():
        return parts[:1], parts[1]  # `except A, e` of Python 2; since 3.14 these are two types
    return parts, None


def alias_name(statement: Node) -> Node:
    """Return the name of `type X[T] = …`; the grammar takes `type(x).y = z` for such a statement too."""
    left = part_of(statement, "left") or statement
    return inside(left)[0] if left.type == "generic_type" else left


def expression_of(text: str) -> Node | None:
    """Return the expression that the text of an annotation is; None if it is not one expression."""
    root = parse(SourceFile("", "", text), GRAMMAR).root
    statements = inside(root)
    if root.has_error or len(statements) != 1 or statements[0].type != "expression_statement":
        return None
    parts = inside(statements[0])
    whole = statements[0] if len(parts) > 1 else bare(parts[0])
    return None if whole.type.endswith("assignment") else whole


def end_of(node: Node) -> Node:
    """Return the last statement in a statement with blocks, which comments may follow; another node itself."""
    while parts := inside(node):
        if not (
            node.type == "block" or parts[-1].type == "block" or parts[-1].type.endswith(("_clause", "_definition"))
        ):
            break
        node = parts[-1]
    return node
