"""The grammar of C#."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from repoeval_bench.core.grammars.grammar import (
    BARE,
    MANAGED,
    TAG,
    DefinedName,
    Grammar,
    Kind,
    child,
    declarators,
    defined,
    named_all,
    words,
)
from repoeval_bench.core.syntax import Node, Parsed


def _plain(text: str) -> str:
    """Return a doc comment without XML: blank lines for `<para>`, and the name that a reference refers to."""
    text = re.sub(r'<\w+ (?:name|cref|langword)="([^"]*)" ?/>', r"\1", text)
    return unescape(TAG.sub("", re.sub(r"</?para\b[^<>]*>", "\n\n", text)))


def _property(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    """A property with code is a method; `{ get; set; }` alone is a variable."""
    name, accessors, value = child(node, "name"), child(node, "accessors"), child(node, "value")
    body = value if value is not None and value.type == "arrow_expression_clause" else None
    if accessors is not None and any(child(accessor, "body") for accessor in accessors.named_children):
        body = body or accessors
    kind: Kind = "variable" if body is None else "method"
    form = node.type.removesuffix("_declaration")
    yield defined(parsed, kind, form, name or node, node, body=body, name="" if name else "this")


def _operator(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    if (sign := child(node, "operator", "type")) is not None:
        name = f"operator {parsed.text(sign)}"
        yield defined(parsed, "method", "operator", sign, node, name=name, body=child(node, "body"))


def _destructor(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    if (named := child(node, "name")) is not None:
        facts: dict[str, Any] = {"name": f"~{parsed.text(named)}", "body": child(node, "body")}
        yield defined(parsed, "method", "destructor", named, node, **facts)


def _first_branches(text: str) -> str:
    """A text with blanks for directives and for what is after `#else` and `#elif`."""
    # Two headers, one in each branch, may have one body.
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
