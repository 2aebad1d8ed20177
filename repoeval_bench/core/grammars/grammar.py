"""The record of a grammar, and readers of definitions that several grammars share.

A reader yields the names that a syntax node defines: two for `int a, *b;`, none for a call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from repoeval_bench.core.syntax import Node, Parsed

Kind: TypeAlias = Literal["function", "method", "class", "variable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinedName:
    """A name that a node defines. `form` is the language's word, such as struct or property.

    `node` is the definition, `name_node` its name, `body` its content. `scope`: the names before its own, as in `A::m`.
    `declared`: it is only declared here; None to decide by whether a function or method has a body. `apart`: the body
    is a block that follows the node, as after the call of a macro.
    """

    kind: Kind
    form: str
    name: str
    node: Node
    name_node: Node
    body: Node | None = None
    scope: tuple[str, ...] = ()
    declared: bool | None = None
    apart: bool = False


Reader: TypeAlias = "Callable[[Parsed, Node], Iterator[DefinedName]]"
Calls: TypeAlias = "Mapping[str, tuple[str, Mapping[str, tuple[str, str]]]]"
"""Kind of a call -> (field of the callee, its kind -> (field of the name, kind of the name)).

Without a field of the name, the callee is the name.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """The meaning of one language's syntax.

    Definitions: `anywhere` define names, `members` do so on the level of a module or class only. `transparent` nodes
    contain members of their own level, `namespaces` do in their bodies. `barren` nodes contain no definition.

    identifiers: the nodes that are identifiers. builtins: names that code can use without an import. calls: the nodes
    that call a name. comments: the query of comments. imports: a query for the names that a file imports, which
    `import_separator` splits into parts. separators: patterns before types, then before functions, for cutting without
    a parse; a text is cut where a pattern's empty group matches.

    indented: a block is indented after a colon, and its first string documents it. trailing: beginnings of doc comments
    on the code before them. directive: lines of a doc comment that programs read. plain: removes a doc comment's
    markup. legible: puts blanks for parts of a text that the grammar may fail at and that no definition needs. tests: a
    query for the text and the body of tests that are calls. overloads: functions of one name are overloads with bodies,
    not local functions. underscore: a function of a module may be called `_`.
    """

    anywhere: Mapping[str, Reader]
    members: Mapping[str, Reader]
    transparent: frozenset[str]
    namespaces: frozenset[str] = frozenset()
    barren: frozenset[str] = frozenset()
    identifiers: tuple[str, ...]
    builtins: frozenset[str]
    calls: Calls
    comments: str = "(comment) @comment"
    imports: str
    import_separator: str = r"::|[./]"
    separators: tuple[str, ...]
    indented: bool = False
    trailing: tuple[str, ...] = ()
    directive: re.Pattern[str] | None = None
    plain: Callable[[str], str] = str
    legible: Callable[[str], str] | None = None
    tests: str = ""
    overloads: bool = True
    underscore: bool = False


BARE: Mapping[str, tuple[str, str]] = {"identifier": ("", "")}
"""A callee that is the name that is called."""
NEW: Mapping[str, tuple[str, str]] = {"type_identifier": ("", "")}
"""A type that is created."""
BLOCK_AND_LINE = "[(line_comment) (block_comment)] @comment"
"""The query of comments in a grammar with two kinds of them."""
MANAGED = (
    r"^()[ \t]*(?:\w+[ \t]+){0,4}(?:class|interface|enum|record|struct|namespace)\s",
    # Functions, which have no word of their own, begin with who may see them.
    r"^()[ \t]*(?:public|protected|private|internal|static)\s",
)
"""Separators of Java and C#."""
TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
"""A tag of HTML or XML in a doc comment."""


def words(text: str) -> frozenset[str]:
    """A set of node types, written with blanks between them."""
    return frozenset(text.split())


def child(node: Node | None, *fields: str) -> Node | None:
    """The child in the first of these fields that has one; None of no node."""
    children = (node.child_by_field_name(field) for field in fields) if node is not None else ()
    return next((inner for inner in children if inner is not None), None)


def defined(
    parsed: Parsed, kind: Kind, form: str, named: Node, node: Node, *, name: str = "", **facts: Any
) -> DefinedName:
    """A definition by the node of its name, whose text is the name unless one is given, and other fields."""
    return DefinedName(kind=kind, form=form, name=name or parsed.text(named), node=node, name_node=named, **facts)


def named(kind: Kind, form: str, **facts: Any) -> Reader:
    """A reader of a node with the fields `name` and `body`; `facts` are further fields of what it yields."""

    def read(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
        if (name := child(node, "name")) is not None:
            yield defined(parsed, kind, form, name, node, body=child(node, "body"), **facts)

    return read


def named_all(kind: Kind, **forms: str) -> dict[str, Reader]:
    """`form="node_type other_type"` as a table of readers."""
    return {node: named(kind, form.rstrip("_")) for form, nodes in forms.items() for node in nodes.split()}


def declarators(form: str) -> Reader:
    """`int a, b = 2;`: each declarator with a name, here or one level down."""

    def read(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
        for part in node.named_children:
            for declarator in part.named_children if part.type == "variable_declaration" else (part,):
                name = child(declarator, "name")
                if declarator.type == "variable_declarator" and name is not None:
                    yield defined(parsed, "variable", form, name, declarator)

    return read


def base_name(parsed: Parsed, node: Node) -> str:
    """A type's own name: `Foo` of `&m::Foo<T>` and `*Foo[T]`."""
    while True:
        inner = child(node, "name", "type")
        if inner is None and node.type in ("pointer_type", "reference_type", "parenthesized_type"):
            inner = node.named_children[-1]
        if inner is None:
            return parsed.text(node)
        node = inner
