"""The grammars of JavaScript and TypeScript."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from repoeval_bench.core.grammars.grammar import BARE, DefinedName, Grammar, Kind, child, defined, named_all, words
from repoeval_bench.core.syntax import Node, Parsed

# Properties of ECMAScript's global object (ECMA-262, 2025), and those that every host adds.
_BUILTINS = """
AggregateError Array ArrayBuffer Atomics BigInt BigInt64Array BigUint64Array Boolean DataView Date Error EvalError
FinalizationRegistry Float16Array Float32Array Float64Array Function Infinity Int16Array Int32Array Int8Array Iterator
JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set SharedArrayBuffer String
Symbol SyntaxError TypeError URIError Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet
arguments console constructor decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval globalThis isFinite
isNaN parseFloat parseInt undefined unescape
"""
# The utility types of TypeScript's handbook.
_UTILITY_TYPES = """
Awaited Capitalize ConstructorParameters Exclude Extract InstanceType Lowercase NoInfer NonNullable Omit
OmitThisParameter Parameters Partial Pick Readonly ReadonlyArray Record Required ReturnType ThisParameterType ThisType
Uncapitalize Uppercase
"""
# `it`, `test`, `it.only`, `it.each(rows)`, each with a text and a function.
_TESTS = """
(call_expression
  function: [(identifier) @called (member_expression object: (identifier) @called)
    (call_expression function: (member_expression object: (identifier) @called))]
  arguments: (arguments . [(string) (template_string)] @text
    [(arrow_function body: (_) @body) (function_expression body: (_) @body)])
  (#any-of? @called "it" "test"))
"""
_IDENTIFIERS = (
    "identifier",
    "property_identifier",
    "shorthand_property_identifier",
    "private_property_identifier",
    "shorthand_property_identifier_pattern",
    "statement_identifier",
)
# Node of a pattern -> the field of the part that binds names.
_BOUND_PART = {"pair_pattern": "value", "object_assignment_pattern": "left", "assignment_pattern": "left"}
_FUNCTION_VALUES = words("arrow_function function_expression generator_function")


def unwrapped(value: Node | None) -> Node | None:
    """The function that a value is made of, as a component by `memo(forwardRef((props) => …))`; else the value.

    It is the first argument of a function or of a member of a namespace, such as `React.memo`.
    """
    inner = value
    while inner is not None and inner.type == "call_expression":
        callee, given = child(inner, "function"), child(inner, "arguments")
        while callee is not None and callee.type == "call_expression":  # connect(state)(function …)
            callee = child(callee, "function")
        owner = child(callee, "object") if callee is not None and callee.type == "member_expression" else callee
        if owner is None or owner.type != "identifier":
            return value
        if owner is not callee and not (owner.text or b"")[:1].isupper():  # a method of some object
            return value
        inner = next((part for part in given.named_children if part.type != "comment"), None) if given else None
    return inner if inner is not None and inner.type in _FUNCTION_VALUES else value


def _valued(
    parsed: Parsed, node: Node, named: Node, value: Node | None, *, kind: Kind = "function", **facts: Any
) -> DefinedName:
    """Return what `name = value` defines: a function (or another `kind`), a class, or a variable."""
    if value is not None and value.type in _FUNCTION_VALUES:
        form = "arrow" if value.type == "arrow_function" else "function"
        return defined(parsed, kind, form, named, node, body=child(value, "body"), **facts)
    if value is not None and value.type == "class":
        return defined(parsed, "class", "class", named, node, body=child(value, "body"), **facts)
    return defined(parsed, "variable", "variable", named, node, **facts)


def _is_function_or_class(value: Node) -> bool:
    inner = unwrapped(value)
    return inner is not None and (inner.type in _FUNCTION_VALUES or inner.type == "class")


def bound_names(pattern: Node | None) -> Iterator[Node]:
    """Yield the nodes in a pattern that bind a name, in order."""
    stack = [pattern]  # patterns nest without limit
    while stack:
        node = stack.pop()
        if node is None:
            continue
        if node.type in ("identifier", "shorthand_property_identifier_pattern"):
            yield node
        elif node.type in _BOUND_PART:
            stack.append(child(node, _BOUND_PART[node.type]))
        else:
            stack += reversed(node.named_children)


def is_required(value: Node | None) -> bool:
    """Return whether a value is a module, or a name of one: `require("a").b` is an import."""
    while value is not None and value.type in ("member_expression", "await_expression"):
        value = child(value, "object") or value.named_children[-1]
    called = child(value, "function") if value is not None and value.type == "call_expression" else None
    return called is not None and called.text in (b"require", b"import")


def _declared(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    for declarator in node.named_children:
        name, value = child(declarator, "name"), child(declarator, "value")
        if declarator.type != "variable_declarator" or name is None or is_required(value):
            continue
        if name.type == "identifier":
            outermost = node.parent is None or node.parent.type in ("program", "export_statement")
            yield _valued(parsed, declarator, name, unwrapped(value) if outermost else value)
        else:
            for name_node in bound_names(name):
                yield defined(parsed, "variable", "variable", name_node, declarator)


def _default(parsed: Parsed, value: Node) -> DefinedName:
    """A function or class that a module exports as its value, named `default` if it has no name."""
    inner = unwrapped(value) or value
    name = child(inner, "name")
    return _valued(parsed, value, name or value, inner, name="" if name else "default")


def _exported(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    inner, value = child(node, "declaration"), child(node, "value")
    if inner is not None and inner.type in JAVASCRIPT.anywhere:
        yield from JAVASCRIPT.anywhere[inner.type](parsed, inner)
    elif inner is None and value is not None and _is_function_or_class(value):
        yield _default(parsed, value)


def _ambient(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    inner = node.named_children[-1] if node.named_children else None
    if inner is not None and inner.type in JAVASCRIPT.anywhere:
        for definition in JAVASCRIPT.anywhere[inner.type](parsed, inner):
            yield replace(definition, declared=True) if definition.kind == "variable" else definition


def _assigned(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    """`exports.f = function …` and `A.prototype.m = …`; only an assigned function or class is a definition."""
    assignment = node.children[0] if node.children else None
    if assignment is None or assignment.type != "assignment_expression":
        return
    left, right = child(assignment, "left"), child(assignment, "right")
    if left is None or right is None or left.type != "member_expression":
        return
    if _is_function_or_class(right):
        *scope, name = parsed.text(left).split(".")
        if [*scope, name] == ["module", "exports"]:
            yield _default(parsed, right)
            return
        owners = tuple(part for part in scope if part not in ("exports", "module", "prototype", "this", "window"))
        named = child(left, "property") or left
        yield _valued(parsed, assignment, named, unwrapped(right), name=name, scope=owners)


def _pair(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    key, value = child(node, "key"), child(node, "value")
    if key is not None and value is not None and value.type in _FUNCTION_VALUES:
        yield _valued(parsed, node, key, value, name=parsed.text(key).strip("'\""), kind="method")


def _field(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    if (name := child(node, "name", "property")) is not None:
        yield _valued(parsed, node, name, child(node, "value"), kind="method")


JAVASCRIPT = Grammar(
    anywhere={
        **named_all("function", function="function_declaration generator_function_declaration function_signature"),
        **named_all("method", method="method_definition method_signature abstract_method_signature"),
        **named_all("class", class_="class_declaration abstract_class_declaration", interface="interface_declaration"),
        **named_all("class", enum="enum_declaration", type="type_alias_declaration"),
        "lexical_declaration": _declared,
        "variable_declaration": _declared,
        "export_statement": _exported,
        "ambient_declaration": _ambient,
        "pair": _pair,
    },
    members={
        **named_all("variable", property="property_signature", enumerator="enum_assignment"),
        "expression_statement": _assigned,
        "field_definition": _field,
        "public_field_definition": _field,
        "property_identifier": lambda parsed, node: iter([defined(parsed, "variable", "enumerator", node, node)]),
    },
    transparent=words(
        "class_body class interface_body enum_body object_type export_statement ambient_declaration "
        "expression_statement internal_module module"
    ),
    namespaces=words("internal_module module"),
    identifiers=_IDENTIFIERS,
    builtins=words(_BUILTINS),
    calls={
        "call_expression": ("function", {**BARE, "member_expression": ("property", "property_identifier")}),
        "new_expression": ("constructor", BARE),
    },
    imports="""
        (import_clause (identifier) @name) (namespace_import (identifier) @name)
        (import_specifier name: (_) @name)""",
    separators=(
        r"^()(?:\w+[ \t]+){0,4}(?:class|interface|enum|namespace)\s",
        r"^()[ \t]*(?:\w+[ \t]+){0,3}function\b",
    ),
    tests=_TESTS,
    overloads=False,
    underscore=True,
)
TYPESCRIPT = replace(
    JAVASCRIPT, identifiers=(*_IDENTIFIERS, "type_identifier"), builtins=JAVASCRIPT.builtins | words(_UTILITY_TYPES)
)
