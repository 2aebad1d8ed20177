"""The grammars of C and C++."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from repoeval_bench.core.grammars.grammar import (
    BARE,
    NEW,
    DefinedName,
    Grammar,
    Kind,
    Reader,
    child,
    defined,
    named,
    named_all,
    words,
)
from repoeval_bench.core.syntax import Node, Parsed

# Doxygen's comments on the code before them.
_TRAILING = ("///<", "//!<", "/**<", "/*!<")
_IDENTIFIERS = ("identifier", "field_identifier", "type_identifier", "statement_identifier")
_CALLEES = {**BARE, "field_expression": ("field", "field_identifier")}
# The start of a line with a parenthesis: functions have no word of their own.
_FUNCTION = r"^()[A-Za-z_][^\n(=]*\((?![^\n]*;[ \t]*$)"
_NAMES = words(
    "identifier field_identifier type_identifier qualified_identifier destructor_name operator_name operator_cast "
    "template_function"
)
# Statements that look like a function after a syntax error or a macro.
_STATEMENTS = words("if else for while do switch catch return sizeof")
_SHAPES = words("function_declarator pointer_declarator array_declarator reference_declarator")
_TAGGED = {f"{word}_specifier": word for word in ("struct", "union", "enum", "class")}
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define\b(?:[^\n\\]|\\\r?\n|\\.)*", re.MULTILINE)
_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/', re.DOTALL)
_SCOPES = words(
    "translation_unit declaration_list field_declaration_list template_declaration preproc_if preproc_ifdef "
    "preproc_elif preproc_else"
)


def _declared(node: Node) -> tuple[Node, str] | None:
    """The name in a declarator, and the kind of declarator right around it: "" for a plain name."""
    # A name is innermost, and the node around it decides: `int (*f)(int)` is a variable and `int *f(int)` a function.
    shape = ""
    while node.type not in _NAMES:
        if node.type in _SHAPES:
            shape = node.type
        parts = node.named_children
        inner = child(node, "declarator") or next((part for part in parts if part.type in _NAMES | _SHAPES), None)
        inner = inner or next((part for part in parts if part.type.endswith("declarator")), None)
        if inner is None:
            return None
        node = inner
    return node, "function_declarator" if node.type == "operator_cast" else shape


def _qualified(parsed: Parsed, node: Node) -> tuple[tuple[str, ...], str]:
    """The scopes before a name, and the name: (A, m) of `A<T>::m`."""
    scope: list[str] = []
    while node.type == "qualified_identifier":
        if (around := child(node, "scope")) is not None:
            scope.append(parsed.text(child(around, "name") or around))
        if (name := child(node, "name")) is None:
            break
        node = name
    if node.type == "template_function":
        node = child(node, "name") or node
    text = parsed.text(node)
    return tuple(scope), " ".join((text.partition("(")[0] if node.type == "operator_cast" else text).split())


def _function(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    declarator = child(node, "declarator")
    declared = _declared(declarator) if declarator is not None else None
    if declared is None:
        return
    name_node, shape = declared
    scope, name = _qualified(parsed, name_node)
    if name in _STATEMENTS:
        return
    body = child(node, "body")
    attempt = body or next((part for part in node.children if part.type == "try_statement"), None)
    if attempt is not None and attempt.type == "try_statement":  # int f() try { … } catch { … }
        body = child(attempt, "body")
    if shape != "function_declarator":
        # The grammar reads `class EXPORT A { … }` as a function without parameters; any other such function is an
        # error. In `class EXPORT A : ns::B { … }` it reads the base as the function, and the name as an error before.
        tag = child(node, "type")
        if tag is not None and tag.type in _TAGGED:
            start = name_node.start_byte
            errors = (error for error in node.children if error.type == "ERROR" and error.end_byte <= start)
            inside = (inner for error in errors for inner in error.named_children if inner.type == "identifier")
            if misread := next(inside, None):
                name_node, name = misread, parsed.text(misread)
            yield defined(parsed, "class", _TAGGED[tag.type], name_node, node, name=name, body=body)
        return
    kind: Kind = "method" if scope else "function"
    if not scope and declarator is not None and child(node, "type") is None and _is_made(node, name):
        name = _invocation(parsed, declarator)
    yield defined(parsed, kind, "function", name_node, node, name=name, body=body, scope=scope)


def _is_made(node: Node, name: str) -> bool:
    """Return whether a macro makes a function without a type: `TEST(suite, name) { … }`. Else it is a constructor."""
    around = node.parent
    while around is not None and around.type in _SCOPES and around.type != "field_declaration_list":
        around = around.parent
    return name[:1].isupper() and (around is None or around.type == "namespace_definition")


def _invocation(parsed: Parsed, node: Node) -> str:
    # As a name, the call of a macro on one line: no other code can use it.
    return " ".join(parsed.text(node).split())


def _called(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    """A block after the call of a macro: `TEST_CASE("name") { … }`."""
    call, *_, end = node.children[0], node.children[-1]
    after = node.next_named_sibling
    while after is not None and after.type == "comment":
        after = after.next_named_sibling
    callee = child(call, "function")
    if callee is None or callee.type != "identifier" or not end.is_missing or after is None:
        return
    name = _invocation(parsed, call)
    # Without a string it is what is left of a header that the grammar could not parse.
    if after.type == "compound_statement" and name[:1].isupper() and '"' in name:
        yield defined(parsed, "function", "function", callee, call, name=name, body=after, apart=True)


def _without_comments(text: str) -> str:
    """A text with blanks for the comments in macros, and for the slashes of strings, which seem to begin one."""
    return _DEFINE.sub(lambda macro: _COMMENT.sub(_blank, macro[0]), text)


def _blank(match: re.Match[str]) -> str:
    return re.sub("/" if match[0][0] == '"' else r"[^\\\r\n]", " ", match[0])


def _tagged(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    """A struct, union, enum or class with a body; without one only if it is a statement, as in `class A;`."""
    name, body = child(node, "name"), child(node, "body")
    alone = body is None and node.parent is not None and node.parent.type in _SCOPES
    if name is not None and (body is not None or alone):
        scope, text = _qualified(parsed, child(name, "name") or name)
        facts: dict[str, Any] = {"name": text, "body": body, "scope": scope, "declared": body is None}
        yield defined(parsed, "class", _TAGGED[node.type], name, node, **facts)


def _declaration(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    """`struct a { … } x, *y, f(int);`: a type with a body, then each declarator."""
    tag = child(node, "type")
    tagged = tag is not None and tag.type in _TAGGED and child(tag, "body") is not None
    if tag is not None and tagged:
        yield from _tagged(parsed, tag)
    extern = any(part.type == "storage_class_specifier" and parsed.text(part) == "extern" for part in node.children)
    several = node.children_by_field_name("declarator")
    for declarator in several:
        declared = _declared(declarator)
        if declared is None:
            continue
        name_node, shape = declared
        holder = declarator if tagged or len(several) > 1 else node
        scope, name = _qualified(parsed, name_node)
        facts: dict[str, Any] = {"name": name, "scope": scope}
        if shape == "function_declarator":
            yield defined(parsed, "method" if scope else "function", "function", name_node, holder, **facts)
        else:
            facts["declared"] = extern and declarator.type != "init_declarator"
            yield defined(parsed, "variable", "variable", name_node, holder, **facts)


def _typedef(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    """`typedef struct a { … } b;` defines both names; a struct without a name has that of the typedef."""
    tag = child(node, "type")
    body = child(tag, "body") if tag is not None and tag.type in _TAGGED else None
    if tag is not None and body is not None:
        yield from _tagged(parsed, tag)
    for declarator in node.children_by_field_name("declarator"):
        declared = _declared(declarator)
        if declared is None:
            continue
        if tag is not None and body is not None and child(tag, "name") is None:
            yield defined(parsed, "class", _TAGGED[tag.type], declared[0], tag, body=body)
            body = None
        else:
            yield defined(parsed, "class", "type", declared[0], declarator)


def _macro(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    """`#define N 3` and `#define F(x) …`; without a value it is a switch or an include guard, not a definition."""
    if child(node, "value") is not None:
        kind: Kind = "function" if node.type == "preproc_function_def" else "variable"
        yield from named(kind, "macro", declared=False)(parsed, node)


def _template(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    inner = node.named_children[-1] if node.named_children else None
    reader = _CPP_ANYWHERE.get(inner.type, _CPP_MEMBERS.get(inner.type)) if inner is not None else None
    if inner is not None and reader is not None:
        yield from reader(parsed, inner)


_C_ANYWHERE: dict[str, Reader] = {"function_definition": _function, **dict.fromkeys(_TAGGED, _tagged)}
_C_MEMBERS: dict[str, Reader] = {
    **named_all("variable", enumerator="enumerator"),
    "declaration": _declaration,
    "field_declaration": _declaration,
    "expression_statement": _called,
    "type_definition": _typedef,
    "preproc_def": _macro,
    "preproc_function_def": _macro,
}
_CPP_ANYWHERE: dict[str, Reader] = {**_C_ANYWHERE, "template_declaration": _template}
_CPP_MEMBERS: dict[str, Reader] = {
    **_C_MEMBERS,
    **named_all("class", type="alias_declaration", concept="concept_definition"),
}
_C_TRANSPARENT = words(
    "linkage_specification declaration_list field_declaration_list field_declaration enum_specifier struct_specifier "
    "union_specifier enumerator_list preproc_if preproc_ifdef preproc_elif preproc_elifdef preproc_else"
)
C = Grammar(
    anywhere=_C_ANYWHERE,
    members=_C_MEMBERS,
    transparent=_C_TRANSPARENT,
    identifiers=_IDENTIFIERS,
    # Names that headers declare are not built in: they belong to a library.
    builtins=frozenset({"NULL"}),
    calls={"call_expression": ("function", _CALLEES)},
    imports="(preproc_include path: (_) @name)",
    import_separator="/",
    separators=(r"^()(?:typedef[ \t]+)?(?:struct|union|enum)\s", _FUNCTION),
    trailing=_TRAILING,
    legible=_without_comments,
)
CPP = replace(
    C,
    anywhere=_CPP_ANYWHERE,
    members=_CPP_MEMBERS,
    transparent=_C_TRANSPARENT | {"namespace_definition"},
    namespaces=frozenset({"namespace_definition"}),
    identifiers=(*_IDENTIFIERS, "namespace_identifier"),
    builtins=C.builtins | {"std"},
    calls={
        "call_expression": (
            "function",
            {**_CALLEES, "qualified_identifier": ("name", "identifier"), "template_function": ("name", "identifier")},
        ),
        "new_expression": ("type", NEW),
    },
    separators=(r"^()[ \t]*(?:typedef[ \t]+)?(?:class|struct|union|enum|namespace|template)\b", _FUNCTION),
)
