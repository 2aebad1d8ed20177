"""The grammars of the further languages, as tables: the nodes of functions, methods and classes, and their names.

There is enough for chunks, for the definitions around a changed line, and to leave comments out; imports, calls and
built-in names are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from repoeval_bench.core.grammars.grammar import DefinedName, Grammar, Kind, Reader, defined, words
from repoeval_bench.core.syntax import Node, Parsed

# A name with those around it: `Shop::Cart`, `M.add`, `M:add`.
_SCOPED = re.compile(r"[\w?!=]+(?:(?:::|[.:])[\w?!=]+)+")


def _part(node: Node, *keys: str) -> Node | None:
    """The child in the first of these fields that is there, or of the first of these kinds."""
    for key in keys:
        child = node.child_by_field_name(key) or next((one for one in node.named_children if one.type == key), None)
        if child is not None:
            return child
    return None


def _scoped(
    parsed: Parsed, node: Node, name: Node | None, body: Node | None, kind: Kind, form: str
) -> Iterator[DefinedName]:
    if name is None:
        return
    *scope, own = re.split(r"::|[.:]", text) if _SCOPED.fullmatch(text := parsed.text(name)) else [text]
    yield defined(parsed, kind, form, name, node, name=own, body=body, scope=tuple(scope))


def _reader(kind: Kind, form: str, names: str, bodies: str) -> Reader:
    def read(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
        return _scoped(parsed, node, _part(node, *names.split()), _part(node, *bodies.split()), kind, form)

    return read


def _table(functions: str, classes: str = "", names: str = "name", bodies: str = "body") -> dict[str, Reader]:
    """Readers of nodes by kind; `names` and `bodies` are fields or kinds of children, the likeliest first.

    The form is the node's kind up to its first underscore: `class` of class_declaration.
    """
    readers = {node: _reader("function", "function", names, bodies) for node in functions.split()}
    return readers | {node: _reader("class", node.partition("_")[0], names, bodies) for node in classes.split()}


def _elixir(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    """`def add(cart) when … do`, `defmodule Shop.Cart do`: calls of macros, whose first argument has the name."""
    target, arguments = node.child_by_field_name("target"), _part(node, "arguments")
    form = parsed.text(target) if target is not None and target.type == "identifier" else ""
    if form not in _ELIXIR or arguments is None or not arguments.named_children:
        return
    name = arguments.named_children[0]
    if name.type == "binary_operator":
        name = name.child_by_field_name("left") or name
    if name.type == "call":
        name = name.child_by_field_name("target") or name
    body = _part(node, "do_block") or _part(arguments, "keywords")
    yield from _scoped(parsed, node, name, body, _ELIXIR[form], form)


_ELIXIR: Mapping[str, Kind] = {
    **dict.fromkeys(("def", "defp", "defmacro", "defmacrop", "defguard", "defguardp"), "function"),
    **dict.fromkeys(("defmodule", "defprotocol", "defimpl"), "class"),
}


def _lua_value(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    """`M.add = function(a) … end`, and the same as a field of a table."""
    value = _part(_part(node, "expression_list") or node, "value")
    if value is not None and value.type == "function_definition":
        name = _part(_part(node, "variable_list") or node, "name")
        yield from _scoped(parsed, node, name, value.child_by_field_name("body"), "function", "function")


def _zig(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    """`fn add() void {…}`, and `const Cart = struct {…}`."""
    if (function := _part(node, "FnProto")) is not None:
        yield from _scoped(parsed, node, _part(function, "function"), _part(node, "Block"), "function", "function")
    elif (value := _part(node, "VarDecl")) is not None:
        inner: Node | None = value
        for kind in ("ErrorUnionExpr", "SuffixExpr", "ContainerDecl"):
            inner = _part(inner, kind) if inner is not None else None
        if inner is not None:
            yield from _scoped(parsed, node, _part(value, "variable_type_function"), inner, "class", "struct")


def _grammar(
    anywhere: Mapping[str, Reader], *, types: str, functions: str, comments: str = "comment", separated: str = r"\s"
) -> Grammar:
    """A grammar; `types` and `functions` are the words that begin a definition, for cutting without a parse."""
    before = r"^()[ \t]*(?:\w+[ \t]+){0,4}"
    return Grammar(
        anywhere=anywhere,
        members={},
        transparent=words("body_statement class_declarations instance_declarations with_template_body"),
        identifiers=(),
        builtins=frozenset(),
        calls={},
        comments="[" + " ".join(f"({kind})" for kind in comments.split()) + "] @comment",
        imports="",
        separators=tuple(f"{before}(?:{'|'.join(one.split())}){separated}" for one in (types, functions) if one),
    )


# tree-sitter-language-pack ships no queries of its grammars, so the nodes are named here.
FURTHER_GRAMMARS: Mapping[str, Grammar] = {
    "ruby": _grammar(_table("method singleton_method", "class module"), types="class module", functions="def"),
    "php": _grammar(
        _table(
            "function_definition method_declaration",
            "class_declaration interface_declaration trait_declaration enum_declaration",
        ),
        types="class interface trait enum",
        functions="function",
    ),
    "kotlin": _grammar(
        _table(
            "function_declaration",
            "class_declaration object_declaration companion_object",
            names="simple_identifier type_identifier",
            bodies="function_body class_body enum_class_body",
        ),
        types="class interface object",
        functions="fun",
        comments="line_comment multiline_comment",
    ),
    "scala": _grammar(
        _table(
            "function_definition function_declaration",
            "class_definition object_definition trait_definition enum_definition given_definition",
        ),
        types="class object trait enum",
        functions="def",
        comments="comment block_comment",
    ),
    "swift": _grammar(
        _table(
            "function_declaration init_declaration protocol_function_declaration",
            "class_declaration protocol_declaration",
        ),
        types="class struct enum protocol extension actor",
        functions="func init",
        comments="comment multiline_comment",
        separated=r"\b",
    ),
    "elixir": _grammar({"call": _elixir}, types="defmodule defprotocol defimpl", functions="def defp defmacro"),
    "shell": _grammar(_table("function_definition"), types="", functions=r"function \w+[ \t]*\(\)", separated=r"\b"),
    "haskell": _grammar(
        _table(
            "function bind", "data_type newtype class instance", bodies="match constructors constructor declarations"
        ),
        types="data newtype class instance",
        functions="",
        comments="comment haddock",
    ),
    "lua": _grammar(
        _table("function_declaration") | {"assignment_statement": _lua_value, "field": _lua_value},
        types="",
        functions="function",
    ),
    "zig": _grammar(
        {"Decl": _zig},
        types=r"const[ \t]+\w+[ \t]*=[ \t]*(?:struct|enum|union)",
        functions="fn",
        comments="line_comment doc_comment container_doc_comment",
        separated=r"\b",
    ),
}
"""Name of a further language -> its grammar."""
