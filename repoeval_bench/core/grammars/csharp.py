"""The grammar of C#."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from typing import TYPE_CHECKING

from repoeval_bench.core.grammars.grammar import (
    BARE,
    MANAGED,
    TAG,
    DefinedName,
    Grammar,
    declarators,
    named,
    named_all,
    words,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.core.syntax import Parsed


def _plain(text: str) -> str:
    """Return a doc comment without XML: blank lines for `<para>`, and the name that a reference refers to."""
    text = re.sub(r'<\w+ (?:name|cref|langword)="([^"]*)" ?/>', r"\1", text)
    return unescape(TAG.sub("", re.sub(r"</?para\b[^<>]*>", "\n\n", text)))


def _property(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    """A property with code is a method; `{ get; set; }` alone is a variable."""
    name, accessors = node.child_by_field_name("name"), node.child_by_field_name("accessors")
    value = node.child_by_field_name("value")
    if value is not None and value.type == "arrow_expression_clause":
        accessors = value
    coded = accessors is not None and (
        accessors is value
        or any(accessor.child_by_field_name("body") is not None for accessor in accessors.named_children)
    )
    form = node.type.removesuffix("_declaration")
    yield DefinedName(
        kind="method" if coded else "variable",
        form=form,
        name=parsed.text(name) if name is not None else "this",
        node=node,
        name_node=name or node,
        body=accessors if coded else None,
    )


def _operator(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    sign = node.child_by_field_name("operator") or node.child_by_field_name("type")
    if sign is not None:
        body = node.child_by_field_name("body")
        name = f"operator {parsed.text(sign)}"
        yield DefinedName(kind="method", form="operator", name=name, node=node, name_node=sign, body=body)


def _destructor(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    for definition in named("method", "destructor")(parsed, node):
        yield replace(definition, name=f"~{definition.name}")


def _first_branches(text: str) -> str:
    """A text with blanks for directives and for what is after `#else` and `#elif`: two headers may have one body."""
    lines, other = [], list[bool]()
    for line in text.split("\n"):
        directive = _DIRECTIVE.match(line)
        word = directive[1] if directive else ""
        if word == "if":
            other.append(False)
        elif other and word == "endif":
            other.pop()
        elif other and word:
            other[-1] = True
        lines.append(re.sub(r"[^\r]", " ", line) if word or any(other) else line)
    return "\n".join(lines)


_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(if|elif|else|endif)\b")
CSHARP = Grammar(
    anywhere={
        **named_all("class", class_="class_declaration", interface="interface_declaration", enum="enum_declaration"),
        **named_all("class", struct="struct_declaration", record="record_declaration"),
        **named_all("class", delegate="delegate_declaration"),
        **named_all("method", method="method_declaration", constructor="constructor_declaration"),
        **named_all("function", function="local_function_statement"),
        "destructor_declaration": _destructor,
        "operator_declaration": _operator,
        "conversion_operator_declaration": _operator,
        "property_declaration": _property,
        "indexer_declaration": _property,
        "event_declaration": _property,
    },
    members={
        **named_all("variable", enumerator="enum_member_declaration"),
        "field_declaration": declarators("field"),
        "event_field_declaration": declarators("event"),
    },
    transparent=words(
        "declaration_list enum_member_declaration_list namespace_declaration preproc_if preproc_elif preproc_else"
    ),
    identifiers=("identifier",),
    builtins=words("dynamic nameof notnull unmanaged var"),
    calls={
        "invocation_expression": ("function", {**BARE, "member_access_expression": ("name", "identifier")}),
        "object_creation_expression": ("type", BARE),
    },
    imports="(using_directive [(identifier) (qualified_name)] @name)",
    separators=MANAGED,
    plain=_plain,
    legible=_first_branches,
)
