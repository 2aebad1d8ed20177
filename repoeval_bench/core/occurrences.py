"""Where a syntax tree calls something, imports something, or holds what is not code: comments and texts.

One query per grammar, so that the tree is walked in C. What a name refers to is not known here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.core.spans import LineSpan

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.core.syntax import Parsed

# @call is a call with its arguments, @bare or @member the name of what is called, @receiver what it is called on.
_PYTHON = """
[(comment)] @aside
[(import_statement) (import_from_statement) (future_import_statement)] @import
(string) @text
(call function: (identifier) @bare) @call
(call function: (attribute object: _ @receiver attribute: (identifier) @member)) @call
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
(call_expression function: (identifier) @bare) @call
(call_expression function: (member_expression object: _ @receiver property: (property_identifier) @member)) @call
(new_expression constructor: (identifier) @bare) @call
"""
_JAVA = """
[(line_comment) (block_comment)] @aside
[(import_declaration) (package_declaration)] @import
(string_literal) @text
(method_invocation !object name: (identifier) @bare) @call
(method_invocation object: _ @receiver name: (identifier) @member) @call
(object_creation_expression type: (type_identifier) @bare) @call
"""
_GO = """
(comment) @aside
[(import_declaration) (package_clause)] @import
[(raw_string_literal) (interpreted_string_literal)] @text
(call_expression function: (identifier) @bare) @call
(call_expression function: (selector_expression operand: _ @receiver field: (field_identifier) @member)) @call
"""
_RUST = """
[(line_comment) (block_comment)] @aside
[(use_declaration) (extern_crate_declaration) (mod_item !body)] @import
[(string_literal) (raw_string_literal) (macro_definition)] @text
(call_expression function: (identifier) @bare) @call
(call_expression function: (scoped_identifier name: (identifier) @member)) @call
(call_expression function: (field_expression value: _ @receiver field: (field_identifier) @member)) @call
(macro_invocation macro: (identifier) @bare) @call
"""
_C = """
(comment) @aside
(preproc_include) @import
[(string_literal) (concatenated_string) (preproc_def) (preproc_function_def)] @text
(call_expression function: (identifier) @bare) @call
(call_expression function: (field_expression argument: _ @receiver field: (field_identifier) @member)) @call
"""
_CPP = (
    _C
    + """
(using_declaration) @import
(raw_string_literal) @text
(call_expression function: (qualified_identifier name: (identifier) @member)) @call
(call_expression function: (template_function name: (identifier) @bare)) @call
(new_expression type: (type_identifier) @bare) @call
"""
)
_CSHARP = """
(comment) @aside
(using_directive) @import
[(string_literal) (verbatim_string_literal) (raw_string_literal) (interpolated_string_expression)] @text
(invocation_expression function: (identifier) @bare) @call
(invocation_expression function: (member_access_expression expression: _ @receiver name: (identifier) @member)) @call
(object_creation_expression type: (identifier) @bare) @call
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
_OWN = frozenset({"self", "this", "cls", "super()", "super", "base", "Self"})


@dataclass(frozen=True, slots=True)
class Call:
    """A call on its lines. `receiver` is "" of a bare name, `own` of the object's own, `other` of anything else."""

    name: str
    receiver: str
    lines: LineSpan


@dataclass(frozen=True, slots=True)
class Occurrences:
    """What is in a tree: calls, and the lines of comments, imports, and of texts and macros of several lines."""

    calls: tuple[Call, ...]
    comments: tuple[LineSpan, ...]
    imports: tuple[LineSpan, ...]
    texts: tuple[LineSpan, ...]


def occurrences(parsed: Parsed) -> Occurrences:
    """Calls, comments, imports and long texts of a tree, each in the order of the file."""
    calls: list[Call] = []
    spans: dict[str, list[LineSpan]] = {"aside": [], "import": [], "text": []}
    for found in parsed.matches(_QUERIES[parsed.language.name]):
        if "call" in found:
            calls.append(_call(parsed, found))
            continue
        name = next(each for each in spans if each in found)
        lines = parsed.span(found[name][0])
        if name != "text" or len(lines) > 1:
            spans[name].append(lines)
    return Occurrences(tuple(calls), *(tuple(spans[name]) for name in ("aside", "import", "text")))


def _call(parsed: Parsed, found: dict[str, list[Node]]) -> Call:
    receiver = ""
    if "member" in found:
        of = found.get("receiver")
        receiver = "own" if of and parsed.text(of[0]) in _OWN else "other"
    (name,) = found.get("bare") or found["member"]
    return Call(parsed.text(name), receiver, parsed.span(found["call"][0]))
