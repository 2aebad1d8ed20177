"""The grammar of Go."""

import re
from collections.abc import Iterator
from dataclasses import replace

from repoeval_bench.core.grammars.grammar import (
    BARE,
    DefinedName,
    Grammar,
    Reader,
    base_name,
    child,
    defined,
    named,
    named_all,
    words,
)
from repoeval_bench.core.syntax import Node, Parsed

# Predeclared identifiers of the Go specification (1.23).
_BUILTINS = """
any append bool byte cap clear close comparable complex complex128 complex64 copy delete error false float32 float64
imag int int16 int32 int64 int8 iota len make max min new nil panic print println real recover rune string true uint
uint16 uint32 uint64 uint8 uintptr
"""
# A comment that programs read, such as `//go:generate`, by the rule of go/ast; it is no documentation.
_DIRECTIVE = re.compile(r"^//(?:line |extern |export |[a-z0-9]+:[a-z0-9]).*\n?", re.MULTILINE)


def _method(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    receiver = child(node, "receiver")
    types = [child(parameter, "type") for parameter in receiver.named_children] if receiver else []
    scope = tuple(base_name(parsed, parameter) for parameter in types[:1] if parameter is not None)
    yield from named("method", "method", scope=scope)(parsed, node)


def _type(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    typed = child(node, "type")
    for definition in named("class", "type")(parsed, node):
        if typed is not None and typed.type == "struct_type":
            yield replace(definition, form="struct", body=typed.named_children[-1])
        elif typed is not None and typed.type == "interface_type":
            yield replace(definition, form="interface", body=typed)
        else:
            yield definition


def _names(form: str) -> Reader:
    def read(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
        for name_node in node.children_by_field_name("name"):
            if name_node.type != ",":
                yield defined(parsed, "variable", form, name_node, node)

    return read


def _ungrouped(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    """`type A struct …`; the specs of `type ( … )` are read one by one."""
    if any(part.type in ("(", "var_spec_list") for part in node.children):
        return
    for part in node.named_children:
        if part.type in _SPECS:
            yield from _SPECS[part.type](parsed, part)


_SPECS = {"type_spec": _type, "type_alias": _type, "const_spec": _names("constant"), "var_spec": _names("variable")}
GO = Grammar(
    anywhere={
        **named_all("function", function="function_declaration"),
        "method_declaration": _method,
        "type_declaration": _ungrouped,
        "type_spec": _type,
        "type_alias": _type,
    },
    members={
        **named_all("method", method="method_elem method_spec"),
        **_SPECS,
        "const_declaration": _ungrouped,
        "var_declaration": _ungrouped,
        "field_declaration": _names("field"),
    },
    transparent=words(
        "type_declaration const_declaration var_declaration var_spec_list struct_type field_declaration_list "
        "interface_type"
    ),
    identifiers=("identifier", "field_identifier", "type_identifier", "package_identifier", "label_name"),
    builtins=words(_BUILTINS),
    calls={"call_expression": ("function", {**BARE, "selector_expression": ("field", "field_identifier")})},
    imports="(import_spec path: (_) @name)",
    separators=(r"^()type\s", r"^()func\b"),
    directive=_DIRECTIVE,
)
