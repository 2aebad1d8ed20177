"""Calls and imports in a syntax tree, and lines that are not code: comments and texts.

One query per grammar, so that the tree is walked in C, of single nodes where they can be in each other: a pattern that
waits for what is behind a receiver waits through all of it. What a name refers to is not known here.
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

_PYTHON = """
[(comment)] @aside
[(import_statement) (import_from_statement) (future_import_statement)] @import
(string) @text
"""
_JAVASCRIPT = """
(comment) @aside
(import_statement) @import
((lexical_declaration (variable_declarator value: (call_expression function: (identifier) @name))) @import
  (#eq? @name "require"))
((variable_declaration (variable_declarator value: (call_expression function: (identifier) @name))) @import
  (#eq? @name "require"))
[(string) (template_string)] @text
(export_statement source: (_)) @import
"""
_JAVA = """
[(line_comment) (block_comment)] @aside
[(import_declaration) (package_declaration)] @import
(string_literal) @text
"""
_GO = """
(comment) @aside
[(import_declaration) (package_clause)] @import
[(raw_string_literal) (interpreted_string_literal)] @text
"""
_RUST = """
[(line_comment) (block_comment)] @aside
[(use_declaration) (extern_crate_declaration) (mod_item !body)] @import
[(string_literal) (raw_string_literal) (macro_definition)] @text
"""
_C = """
(comment) @aside
(preproc_include) @import
[(string_literal) (concatenated_string) (preproc_def) (preproc_function_def)] @text
"""
_CPP = (
    _C
    + """
(using_declaration) @import
(raw_string_literal) @text
"""
)
_CSHARP = """
(comment) @aside
(using_directive) @import
[(string_literal) (verbatim_string_literal) (raw_string_literal) (interpolated_string_expression)] @text
"""
_QUERIES = {
    "python": _PYTHON,
    "javascript": _JAVASCRIPT,
    "typescript": _JAVASCRIPT,
    "tsx": _JAVASCRIPT,
    "java": _JAVA,
    "go": _GO,
    "rust": _RUST,
    "c": _C,
    "cpp": _CPP,
    "csharp": _CSHARP,
}
_BARE = {"identifier": ("", "", "")}
_NEW = {"type_identifier": ("", "", "")}
_CALLS: Mapping[str, Mapping[str, tuple[str, Mapping[str, tuple[str, str, str]]]]] = {
    "python": {"call": ("function", _BARE | {"attribute": ("object", "attribute", "identifier")})},
    "javascript": {
        "call_expression": ("function", _BARE | {"member_expression": ("object", "property", "property_identifier")}),
        "new_expression": ("constructor", _BARE),
    },
    "java": {
        "method_invocation": ("", {"method_invocation": ("object", "name", "identifier")}),
        "object_creation_expression": ("type", _NEW),
    },
    "go": {"call_expression": ("function", _BARE | {"selector_expression": ("operand", "field", "field_identifier")})},
    "rust": {
        "call_expression": (
            "function",
            _BARE
            | {
                "scoped_identifier": ("", "name", "identifier"),
                "field_expression": ("value", "field", "field_identifier"),
            },
        ),
        "macro_invocation": ("macro", _BARE),
    },
    "c": {"call_expression": ("function", _BARE | {"field_expression": ("argument", "field", "field_identifier")})},
    "cpp": {
        "call_expression": (
            "function",
            _BARE
            | {
                "field_expression": ("argument", "field", "field_identifier"),
                "qualified_identifier": ("", "name", "identifier"),
                "template_function": ("", "name", "identifier"),
            },
        ),
        "new_expression": ("type", _NEW),
    },
    "csharp": {
        "invocation_expression": (
            "function",
            _BARE | {"member_access_expression": ("expression", "name", "identifier")},
        ),
        "object_creation_expression": ("type", _BARE),
    },
}
"""Language -> kind of a call -> (field of what is called, its kind -> (fields of receiver and name, kind of the name)).

Where no field of the name is named, what is called is itself the name.
"""
_CALLS = {**_CALLS, **dict.fromkeys(("typescript", "tsx"), _CALLS["javascript"])}
_ALONE = frozenset({"template_function", "method_invocation"})
"""Calls by a bare name, where they have no receiver."""
_OWN = frozenset({"self", "this", "cls", "super()", "super", "base", "Self"})
_LONGEST = max(map(len, _OWN))


@dataclass(frozen=True, slots=True)
class Call:
    """A call on its lines. `receiver` is "" of a bare name, `own` of the object's own, `other` of anything else."""

    name: str
    receiver: str
    lines: LineSpan


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Find calls, and the lines of comments, imports, and of texts and macros of several lines."""

    calls: tuple[Call, ...]
    comments: tuple[LineSpan, ...]
    imports: tuple[LineSpan, ...]
    texts: tuple[LineSpan, ...]


def occurrences(parsed: Parsed) -> Occurrences:
    """Calls, comments, imports and long texts of a tree, each in the order of the file, calls by their names."""
    calls: list[tuple[int, Call]] = []
    spans: dict[str, list[LineSpan]] = {"aside": [], "import": [], "text": []}
    language = parsed.language.name
    kinds = " ".join(f"({kind})" for kind in _CALLS[language])
    for captures in parsed.matches(f"{_QUERIES[language]}\n[{kinds}] @call"):
        if "call" in captures:
            calls += _call(parsed, captures["call"][0])
            continue
        name = next(kind_of_name for kind_of_name in spans if kind_of_name in captures)
        lines = parsed.span(captures[name][0])
        if name != "text" or len(lines) > 1:
            spans[name].append(lines)
    calls.sort(key=itemgetter(0))
    return Occurrences(tuple(call for _, call in calls), *(tuple(spans[name]) for name in ("aside", "import", "text")))


def _call(parsed: Parsed, node: Node) -> Iterator[tuple[int, Call]]:
    """(where its name is, the call) of a call that has a name."""
    callee_field, rules = _CALLS[parsed.language.name][node.type]
    callee = node.child_by_field_name(callee_field) if callee_field else node
    if callee is None or callee.type not in rules:
        return
    receiver_field, name_field, kind = rules[callee.type]
    of = callee.child_by_field_name(receiver_field) if receiver_field else None
    # In C++ `template` may be in the field of the name, before it.
    names = callee.children_by_field_name(name_field) if name_field else [callee]
    name = next((child for child in names if not name_field or child.type == kind), None)
    if name is None:
        return
    receiver = "other"
    if not name_field or (of is None and callee.type in _ALONE):
        receiver = ""
    elif of is not None and of.end_byte - of.start_byte <= _LONGEST and parsed.text(of) in _OWN:
        receiver = "own"
    yield name.start_byte, Call(parsed.text(name), receiver, parsed.span(node))
