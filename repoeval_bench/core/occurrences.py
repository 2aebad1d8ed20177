"""Calls, comments and identifiers in a syntax tree. Names are not resolved.

There is one query per grammar, so that the tree is walked in C. As calls contain each other, its patterns match single
nodes: a longer pattern, of a receiver and its method, would stay open through all of the receiver.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

from repoeval_bench.core.grammars import GRAMMARS
from repoeval_bench.core.spans import LineSpan

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.core.syntax import Parsed


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
    grammar = GRAMMARS[parsed.language.name]
    kinds = " ".join(f"({kind})" for kind in grammar.calls)
    for captures in parsed.matches(f"{grammar.comments}\n[{kinds}] @call"):
        if "call" in captures:
            calls += _call(parsed, captures["call"][0])
        else:
            comments.append(parsed.span(captures["comment"][0]))
    calls.sort(key=itemgetter(0))
    return Occurrences(tuple(call for _, call in calls), tuple(comments))


def _call(parsed: Parsed, node: Node) -> Iterator[tuple[int, Call]]:
    """Yield (byte of its name, the call) if it calls a name."""
    callee_field, rules = GRAMMARS[parsed.language.name].calls[node.type]
    callee = node.child_by_field_name(callee_field) if callee_field else node
    if callee is None or callee.type not in rules:
        return
    name_field, kind = rules[callee.type]
    # In C++ the field of the name may also contain `template`, before the name.
    names = callee.children_by_field_name(name_field) if name_field else [callee]
    name = next((child for child in names if not name_field or child.type == kind), None)
    if name is not None:
        yield name.start_byte, Call(parsed.text(name), parsed.span(node))


def identifiers_in(parsed: Parsed, lines: LineSpan) -> frozenset[str]:
    """The identifiers on these lines of a file, without keywords, built-in names, string literals and comments.

    Each grammar's table of built-in names is fixed, so that no score depends on the version of an interpreter.
    Code that is interpolated into a string counts. Prefixes of a name (`#x`, `@x`, `r#x`) are removed.
    """
    grammar = GRAMMARS[parsed.language.name]
    query = "[" + " ".join(f"({kind})" for kind in grammar.identifiers) + "] @name"
    names = {
        parsed.text(node).removeprefix("r#").lstrip("#@")
        for captured in parsed.matches(query, lines)
        for node in captured["name"]
    }
    return frozenset(names - grammar.builtins - {"", "_"})
