"""The definitions of each grammar: the nodes that define names, and those that only contain such nodes.

A reader yields the names that a syntax node defines: two for `int a, *b;`, none for a call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.core.syntax import Parsed

Kind: TypeAlias = Literal["function", "method", "class", "variable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinedName:
    """A name that a node defines. `form` is the language's word, such as struct or property.

    `node` is the definition, `name_node` its name, `body` its content. `scope`: the names before its own, as in `A::m`.
    `declared`: it is only declared here; None to decide by whether a function or method has a body.
    """

    kind: Kind
    form: str
    name: str
    node: Node
    name_node: Node
    body: Node | None = None
    scope: tuple[str, ...] = ()
    declared: bool | None = None


Reader: TypeAlias = "Callable[[Parsed, Node], Iterator[DefinedName]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The nodes of one grammar: `anywhere` define names, `members` do so on the level of a module or class only.

    `transparent` nodes contain members of their own level, `namespaces` do in their bodies. `barren` nodes contain no
    definition.
    """

    anywhere: Mapping[str, Reader]
    members: Mapping[str, Reader]
    transparent: frozenset[str]
    namespaces: frozenset[str] = frozenset()
    barren: frozenset[str] = frozenset()


def words(text: str) -> frozenset[str]:
    """A set of node types, written with blanks between them."""
    return frozenset(text.split())


def named(kind: Kind, form: str) -> Reader:
    """A reader of a node with the fields `name` and `body`."""

    def read(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
        name = node.child_by_field_name("name")
        if name is not None:
            body = node.child_by_field_name("body")
            yield DefinedName(kind=kind, form=form, name=parsed.text(name), node=node, name_node=name, body=body)

    return read


def named_all(kind: Kind, **forms: str) -> dict[str, Reader]:
    """`form="node_type other_type"` as a table of readers."""
    return {node: named(kind, form.rstrip("_")) for form, nodes in forms.items() for node in nodes.split()}


def _base(parsed: Parsed, node: Node) -> str:
    """A type's own name: `Foo` of `&m::Foo<T>` and `*Foo[T]`."""
    while True:
        inner = node.child_by_field_name("name") or node.child_by_field_name("type")
        if inner is None and node.type in ("pointer_type", "reference_type", "parenthesized_type"):
            inner = node.named_children[-1]
        if inner is None:
            return parsed.text(node)
        node = inner


# Python


def _python_decorated(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    inner = node.child_by_field_name("definition")
    if inner is None:
        return
    overload = any(parsed.text(child).endswith("overload") for child in node.children if child.type == "decorator")
    for definition in _PYTHON_PLAIN[inner.type](parsed, inner):
        yield replace(definition, declared=True) if overload else definition


def _python_targets(node: Node) -> Iterator[Node]:
    if node.type == "identifier":
        yield node
    elif node.type in ("pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern"):
        for child in node.named_children:
            yield from _python_targets(child)


def _python_assigned(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    assignment = node.children[0] if node.children else None
    while assignment is not None and assignment.type == "assignment":
        left, right = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
        for name_node in _python_targets(left) if left else ():
            name = parsed.text(name_node)
            yield DefinedName(
                kind="variable", form="variable", name=name, node=node, name_node=name_node, declared=right is None
            )
        assignment = right


def _python_type(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    left = node.child_by_field_name("left")
    while left is not None and left.named_children:
        left = left.named_children[0]
    if left is not None:
        yield DefinedName(kind="class", form="type", name=parsed.text(left), node=node, name_node=left)


_PYTHON_PLAIN = {"function_definition": named("function", "function"), "class_definition": named("class", "class")}
PYTHON = Rules(
    anywhere={**_PYTHON_PLAIN, "decorated_definition": _python_decorated},
    members={"expression_statement": _python_assigned, "type_alias_statement": _python_type},
    transparent=words(
        "block if_statement elif_clause else_clause try_statement except_clause except_group_clause finally_clause "
        "with_statement for_statement while_statement match_statement case_clause"
    ),
    # In Python no expression contains a definition. In other languages functions are arguments, so every node is
    # visited.
    barren=words(
        "expression_statement return_statement assert_statement raise_statement delete_statement import_statement "
        "import_from_statement future_import_statement parameters argument_list"
    ),
)

# JavaScript, TypeScript

_FUNCTION_VALUES = words("arrow_function function_expression generator_function")


def _valued(
    node: Node, name: str, name_node: Node, value: Node | None, *, kind: Kind = "function"
) -> Iterator[DefinedName]:
    """Yield what `name = value` defines: a function, a class, or a variable."""
    if value is not None and value.type in _FUNCTION_VALUES:
        form = "arrow" if value.type == "arrow_function" else "function"
        yield DefinedName(
            kind=kind, form=form, name=name, node=node, name_node=name_node, body=value.child_by_field_name("body")
        )
    elif value is not None and value.type == "class":
        body = value.child_by_field_name("body")
        yield DefinedName(kind="class", form="class", name=name, node=node, name_node=name_node, body=body)
    else:
        yield DefinedName(kind="variable", form="variable", name=name, node=node, name_node=name_node)


def _js_names(node: Node) -> Iterator[Node]:
    if node.type in ("identifier", "shorthand_property_identifier_pattern"):
        yield node
        return
    for child in node.named_children:
        if node.type in ("pair_pattern", "object_assignment_pattern", "assignment_pattern"):
            child = node.child_by_field_name("value" if node.type == "pair_pattern" else "left") or child  # noqa: PLW2901
            yield from _js_names(child)
            return
        yield from _js_names(child)


def is_required(value: Node | None) -> bool:
    """Return whether a value is a module, or a name of one: `require("a").b` is an import."""
    while value is not None and value.type in ("member_expression", "await_expression"):
        value = value.child_by_field_name("object") or value.named_children[-1]
    called = value.child_by_field_name("function") if value is not None and value.type == "call_expression" else None
    return called is not None and called.text in (b"require", b"import")


def _js_declared(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    for declarator in node.named_children:
        name, value = declarator.child_by_field_name("name"), declarator.child_by_field_name("value")
        if declarator.type != "variable_declarator" or name is None or is_required(value):
            continue
        if name.type == "identifier":
            yield from _valued(declarator, parsed.text(name), name, value)
        else:
            for name_node in _js_names(name):
                yield DefinedName(
                    kind="variable", form="variable", name=parsed.text(name_node), node=declarator, name_node=name_node
                )


def _js_default(parsed: Parsed, value: Node) -> Iterator[DefinedName]:
    """A function or class that a module exports as its value, named `default` if it has no name."""
    name = value.child_by_field_name("name")
    yield from _valued(value, parsed.text(name) if name else "default", name or value, value)


def _js_exported(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    inner = node.child_by_field_name("declaration")
    value = node.child_by_field_name("value")
    if inner is not None:
        if inner.type in JAVASCRIPT.anywhere:
            yield from JAVASCRIPT.anywhere[inner.type](parsed, inner)
    elif value is not None and (value.type in _FUNCTION_VALUES or value.type == "class"):
        yield from _js_default(parsed, value)


def _js_ambient(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    inner = node.named_children[-1] if node.named_children else None
    if inner is not None and inner.type in JAVASCRIPT.anywhere:
        for definition in JAVASCRIPT.anywhere[inner.type](parsed, inner):
            yield replace(definition, declared=True) if definition.kind == "variable" else definition


def _js_assigned(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    """`exports.f = function …` and `A.prototype.m = …`; only an assigned function or class is a definition."""
    assignment = node.children[0] if node.children else None
    if assignment is None or assignment.type != "assignment_expression":
        return
    left, right = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
    if left is None or right is None or left.type != "member_expression":
        return
    if right.type in _FUNCTION_VALUES or right.type == "class":
        *scope, name = parsed.text(left).split(".")
        if [*scope, name] == ["module", "exports"]:
            return (yield from _js_default(parsed, right))
        owners = tuple(part for part in scope if part not in ("exports", "module", "prototype", "this", "window"))
        for definition in _valued(assignment, name, left.child_by_field_name("property") or left, right):
            yield replace(definition, scope=owners)


def _js_pair(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
    if key is not None and value is not None and value.type in _FUNCTION_VALUES:
        yield from _valued(node, parsed.text(key).strip("'\""), key, value, kind="method")


def _js_field(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    name = node.child_by_field_name("name") or node.child_by_field_name("property")
    if name is not None:
        yield from _valued(node, parsed.text(name), name, node.child_by_field_name("value"), kind="method")


def _js_enumerator(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    yield DefinedName(kind="variable", form="enumerator", name=parsed.text(node), node=node, name_node=node)


JAVASCRIPT = Rules(
    anywhere={
        **named_all("function", function="function_declaration generator_function_declaration function_signature"),
        **named_all("method", method="method_definition method_signature abstract_method_signature"),
        **named_all("class", class_="class_declaration abstract_class_declaration", interface="interface_declaration"),
        **named_all("class", enum="enum_declaration", type="type_alias_declaration"),
        "lexical_declaration": _js_declared,
        "variable_declaration": _js_declared,
        "export_statement": _js_exported,
        "ambient_declaration": _js_ambient,
        "pair": _js_pair,
    },
    members={
        **named_all("variable", property="property_signature", enumerator="enum_assignment"),
        "expression_statement": _js_assigned,
        "field_definition": _js_field,
        "public_field_definition": _js_field,
        "property_identifier": _js_enumerator,
    },
    transparent=words(
        "class_body class interface_body enum_body object_type export_statement ambient_declaration "
        "expression_statement internal_module module"
    ),
    namespaces=words("internal_module module"),
)

# Java


def declarators(form: str) -> Reader:
    """`int a, b = 2;`: each declarator with a name, here or one level down."""

    def read(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
        for child in node.named_children:
            for declarator in child.named_children if child.type == "variable_declaration" else (child,):
                name = declarator.child_by_field_name("name")
                if declarator.type == "variable_declarator" and name is not None:
                    yield DefinedName(
                        kind="variable", form=form, name=parsed.text(name), node=declarator, name_node=name
                    )

    return read


JAVA = Rules(
    anywhere={
        **named_all("class", class_="class_declaration", interface="interface_declaration", enum="enum_declaration"),
        **named_all("class", record="record_declaration", annotation="annotation_type_declaration"),
        **named_all("method", method="method_declaration annotation_type_element_declaration"),
        **named_all("method", constructor="constructor_declaration compact_constructor_declaration"),
    },
    members={
        **named_all("variable", enumerator="enum_constant"),
        "field_declaration": declarators("field"),
        "constant_declaration": declarators("constant"),
    },
    transparent=words("class_body interface_body enum_body enum_body_declarations annotation_type_body"),
)

# Go


def _go_method(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    receiver = node.child_by_field_name("receiver")
    types = [parameter.child_by_field_name("type") for parameter in receiver.named_children] if receiver else []
    scope = tuple(_base(parsed, parameter) for parameter in types[:1] if parameter is not None)
    for definition in named("method", "method")(parsed, node):
        yield replace(definition, scope=scope)


def _go_type(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    typed = node.child_by_field_name("type")
    for definition in named("class", "type")(parsed, node):
        if typed is not None and typed.type == "struct_type":
            yield replace(definition, form="struct", body=typed.named_children[-1])
        elif typed is not None and typed.type == "interface_type":
            yield replace(definition, form="interface", body=typed)
        else:
            yield definition


def _go_names(form: str) -> Reader:
    def read(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
        for name_node in node.children_by_field_name("name"):
            if name_node.type != ",":
                yield DefinedName(
                    kind="variable", form=form, name=parsed.text(name_node), node=node, name_node=name_node
                )

    return read


def _go_ungrouped(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    """`type A struct …`; the specs of `type ( … )` are read one by one."""
    if any(child.type in ("(", "var_spec_list") for child in node.children):
        return
    for child in node.named_children:
        if child.type in _GO_SPECS:
            yield from _GO_SPECS[child.type](parsed, child)


_GO_SPECS = {
    "type_spec": _go_type,
    "type_alias": _go_type,
    "const_spec": _go_names("constant"),
    "var_spec": _go_names("variable"),
}
GO = Rules(
    anywhere={
        **named_all("function", function="function_declaration"),
        "method_declaration": _go_method,
        "type_declaration": _go_ungrouped,
        "type_spec": _go_type,
        "type_alias": _go_type,
    },
    members={
        **named_all("method", method="method_elem method_spec"),
        **_GO_SPECS,
        "const_declaration": _go_ungrouped,
        "var_declaration": _go_ungrouped,
        "field_declaration": _go_names("field"),
    },
    transparent=words(
        "type_declaration const_declaration var_declaration var_spec_list struct_type field_declaration_list "
        "interface_type"
    ),
)

# Rust


def _rust_impl(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    typed = node.child_by_field_name("type")
    if typed is not None:
        body = node.child_by_field_name("body")
        yield DefinedName(kind="class", form="impl", name=_base(parsed, typed), node=node, name_node=typed, body=body)


def _rust_macro(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    for definition in named("function", "macro")(parsed, node):
        yield replace(definition, declared=False)


RUST = Rules(
    anywhere={
        **named_all("function", function="function_item function_signature_item"),
        **named_all("class", struct="struct_item", enum="enum_item", union="union_item", trait="trait_item"),
        **named_all("class", type="type_item associated_type"),
        "impl_item": _rust_impl,
        "macro_definition": _rust_macro,
    },
    members={
        **named_all("variable", constant="const_item static_item", field="field_declaration", enumerator="enum_variant")
    },
    transparent=words("declaration_list field_declaration_list enum_variant_list mod_item foreign_mod_item"),
)
