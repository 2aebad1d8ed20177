"""Calls and comments in a syntax tree. Names are not resolved.

There is one query per grammar, so that the tree is walked in C. As calls contain each other, its patterns match single
nodes: a longer pattern, of a receiver and its method, would stay open through all of the receiver.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

from repoeval_bench.core.spans import LineSpan

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.core.syntax import Parsed

_BARE = {"identifier": ("", "")}
_NEW = {"type_identifier": ("", "")}
_CALLS: Mapping[str, Mapping[str, tuple[str, Mapping[str, tuple[str, str]]]]] = {
    "python": {"call": ("function", _BARE | {"attribute": ("attribute", "identifier")})},
    "javascript": {
        "call_expression": ("function", _BARE | {"member_expression": ("property", "property_identifier")}),
        "new_expression": ("constructor", _BARE),
    },
    "java": {
        "method_invocation": ("", {"method_invocation": ("name", "identifier")}),
        "object_creation_expression": ("type", _NEW),
    },
    "go": {"call_expression": ("function", _BARE | {"selector_expression": ("field", "field_identifier")})},
    "rust": {
        "call_expression": (
            "function",
            _BARE | {"scoped_identifier": ("name", "identifier"), "field_expression": ("field", "field_identifier")},
        ),
        "macro_invocation": ("macro", _BARE),
    },
    "c": {"call_expression": ("function", _BARE | {"field_expression": ("field", "field_identifier")})},
    "cpp": {
        "call_expression": (
            "function",
            _BARE
            | {
                "field_expression": ("field", "field_identifier"),
                "qualified_identifier": ("name", "identifier"),
                "template_function": ("name", "identifier"),
            },
        ),
        "new_expression": ("type", _NEW),
    },
    "csharp": {
        "invocation_expression": ("function", _BARE | {"member_access_expression": ("name", "identifier")}),
        "object_creation_expression": ("type", _BARE),
    },
}
"""Language -> kind of a call -> (field of the callee, its kind -> (field of the name, kind of the name)).

Without a field of the name, the callee is the name.
"""
_CALLS = {**_CALLS, **dict.fromkeys(("typescript", "tsx"), _CALLS["javascript"])}
_COMMENTS = dict.fromkeys(("java", "rust"), "[(line_comment) (block_comment)] @comment")
"""Language -> the query of its comments; `(comment)` of all others."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call: the name that it calls, and its lines."""

    name: str
    lines: LineSpan


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The calls of a tree, in the order of their names in the file, and the lines of its comments."""

    calls: tuple[Call, ...]
    comments: tuple[LineSpan, ...]


def occurrences(parsed: Parsed) -> Occurrences:
    """Find the calls and comments of a tree, each in the order of the file."""
    calls: list[tuple[int, Call]] = []
    comments: list[LineSpan] = []
    language = parsed.language.name
    kinds = " ".join(f"({kind})" for kind in _CALLS[language])
    for captures in parsed.matches(f"{_COMMENTS.get(language, '(comment) @comment')}\n[{kinds}] @call"):
        if "call" in captures:
            calls += _call(parsed, captures["call"][0])
        else:
            comments.append(parsed.span(captures["comment"][0]))
    calls.sort(key=itemgetter(0))
    return Occurrences(tuple(call for _, call in calls), tuple(comments))


def _call(parsed: Parsed, node: Node) -> Iterator[tuple[int, Call]]:
    """(byte of its name, the call) if it calls a name."""
    callee_field, rules = _CALLS[parsed.language.name][node.type]
    callee = node.child_by_field_name(callee_field) if callee_field else node
    if callee is None or callee.type not in rules:
        return
    name_field, kind = rules[callee.type]
    # In C++ the field of the name may also contain `template`, before the name.
    names = callee.children_by_field_name(name_field) if name_field else [callee]
    name = next((child for child in names if not name_field or child.type == kind), None)
    if name is not None:
        yield name.start_byte, Call(parsed.text(name), parsed.span(node))
