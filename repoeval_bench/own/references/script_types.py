"""Type inference in JavaScript and TypeScript: declared types, and what follows from them without running anything.

A type is the node that declares it (a class, an interface, an object type or a function), and its type arguments.
Overloads are not distinguished, type arguments are not inferred, and a mapped or conditional type counts as its parts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from repoeval_bench.own.references.script_trees import FUNCTIONS, Trees, child, children
from repoeval_bench.own.references.tree_names import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

DEPTH, _STEPS = 40, 1500
"""The most steps from one type to another in a row, and in all for one name."""

CLASSES = frozenset({"class_declaration", "abstract_class_declaration", "class", "interface_declaration"})
_TYPES = CLASSES | {"object_type", "object", "array", "array_type", "tuple_type", "constructor_type"}
DOTTED = frozenset({"member_expression", "nested_type_identifier"})
"""Nodes that look a name up in a receiver."""

_MODULES = frozenset({"program", "internal_module", "module"})
_LOGICAL = frozenset({"??", "||", "&&"})


def _either(node: Node) -> list[Node | None]:
    return [child(node, "consequence"), child(node, "alternative")]


def _logical(node: Node) -> list[Node | None]:
    return [child(node, "left"), child(node, "right")] if text_of(child(node, "operator")) in _LOGICAL else []


def _first(node: Node) -> list[Node]:
    return node.named_children[:1]


def _not_null(node: Node) -> list[Node]:
    """Return the operand of `!`: in `a - b!` the grammar takes `a - b`."""
    inner = node.named_children[0]
    while inner.type in ("binary_expression", "unary_expression", "ternary_expression"):
        inner = inner.named_children[-1]
    return [inner]


def _last(node: Node) -> list[Node]:
    return node.named_children[-1:]


# Nodes that have the type of some of their parts.
_PARTS: Mapping[str, Callable[[Node], Iterable[Node | None]]] = {
    "parenthesized_expression": _first,
    "parenthesized_type": _first,
    "non_null_expression": _not_null,
    "readonly_type": _first,
    "constraint": _first,
    "type_annotation": _first,
    "default_type": _first,
    "optional_type": _first,
    "type_query": _first,
    "satisfies_expression": _first,
    "as_expression": _last,
    "assignment_expression": _last,
    "union_type": lambda node: node.named_children,
    "intersection_type": lambda node: node.named_children,
    "conditional_type": _either,
    "ternary_expression": _either,
    "binary_expression": _logical,
}
_INFERRED_BY = {
    "call_expression": "_of_call",
    "new_expression": "_of_new",
    "await_expression": "_of_await",
    "subscript_expression": "_of_subscript",
}
HOLDERS = ("generic_type", "new_expression", "array_type", "array")
"""Nodes that may be collections, or types of them."""
_SAME = frozenset({"Readonly", "Partial", "Required", "NonNullable", "Omit", "Pick", "NoInfer"})
_COLLECTIONS = frozenset({"Array", "ReadonlyArray", "Set", "ReadonlySet", "Promise", "PromiseLike", "Iterable"})
_COLLECTIONS |= {"Map", "ReadonlyMap", "WeakMap", "Record", "ArrayLike", "AsyncIterable"}
_ITERATORS = frozenset({"Iterator", "IterableIterator", "Generator"})
_ITERATORS |= {f"Async{kind}" for kind in _ITERATORS}
"""Iterators, whose items have the first of their type arguments."""
# Methods of collections that return one element, and those that return some.
_ONE = frozenset({"find", "pop", "shift", "at", "get"})
_SOME = frozenset({"filter", "slice", "concat", "sort", "reverse", "values"})


@dataclass(frozen=True, slots=True)
class Type:
    """The node of a file that declares a type; `names` is type parameter -> its types."""

    path: str
    node: Node
    names: Names = field(default_factory=dict, hash=False, compare=False)


Names = Mapping[str, "tuple[Type, ...]"]
"""Type parameter -> its types."""


class ScriptTypes(ABC):
    """The types in the files of one repository, resolved on first use.

    A subclass knows what a pattern or a parameter binds.
    """

    def __init__(self, trees: Trees) -> None:
        self.trees = trees
        self.known: dict[Hashable, list[Type]] = {}
        self._depth = 0

    def of(self, path: str, node: Node | None, names: Names | None = None) -> list[Type]:
        """Return the types that an expression, or the node of a type, may have."""
        if node is None:
            return []
        key = "of", path, node, tuple((names or {}).items())
        return self.once(key, lambda: self._of(path, node, names or {}))

    def once(self, key: Hashable, find: Callable[[], Iterable[Type]]) -> list[Type]:
        """Return the types under a key; none while `find` looks them up, or if that takes too many steps."""
        if key not in self.known:
            if len(self.known) > _STEPS or self._depth > DEPTH:
                return []
            self.trees.steps.take()
            self.known[key] = []
            self._depth += 1
            self.known[key] = [*dict.fromkeys(find())]
            self._depth -= 1
        return self.known[key]

    def _of(self, path: str, node: Node, names: Names) -> Iterator[Type]:
        kind = node.type
        if kind in _PARTS:
            for part in _PARTS[kind](node):
                yield from self.of(path, part, names)
        elif kind in ("identifier", "type_identifier"):
            yield from self._of_name(path, node, names, ())
        elif kind == "generic_type":
            yield from self._of_generic(path, node, names)
        elif kind in DOTTED:
            yield from self.values(
                self.of(path, child(node, "object", "module"), names), text_of(child(node, "property", "name"))
            )
        elif kind == "lookup_type":
            owner, key = node.named_children[0], node.named_children[-1]
            yield from self.values(self.of(path, owner, names), text_of(key).strip("\"'"))
        elif kind in ("this", "this_type", "super"):
            for around in self._around(path, node):
                yield from self._bases(around) if kind == "super" else [around]
        elif kind in _INFERRED_BY:
            yield from getattr(self, _INFERRED_BY[kind])(path, node, names)
        elif kind in FUNCTIONS or kind in _TYPES:
            yield Type(path, node, names)

    def _of_new(self, path: str, node: Node, names: Names) -> Iterator[Type]:
        for instance in self.new_instances(path, node, names):
            if instance.node.type in CLASSES:
                yield instance
            else:
                yield from self.of(instance.path, child(instance.node, "type"), instance.names)
        head = child(node, "constructor")
        arguments = child(node, "type_arguments")
        if arguments is not None and head is not None and text_of(head) in _COLLECTIONS:
            yield from () if self.trees.bound(path, head, text_of(head)) else [Type(path, node, names)]

    def _of_await(self, path: str, node: Node, names: Names) -> Iterator[Type]:
        for type_ in self.of(path, node.named_children[-1], names):
            yield from self.elements(type_) if self.head(type_) in ("Promise", "PromiseLike") else [type_]

    def _of_subscript(self, path: str, node: Node, names: Names) -> Iterator[Type]:
        for type_ in self.of(path, child(node, "object"), names):
            yield from self.elements(type_)

    def _of_name(self, path: str, node: Node, names: Names, arguments: tuple[tuple[Type, ...], ...]) -> Iterator[Type]:
        name = text_of(node)
        if name in names:
            yield from names[name]
            return
        if (narrowed := self.trees.narrowed(node, name)) is not None:
            yield from self.of(path, narrowed)
            return
        for file, binding in self.trees.bound(path, node, name):
            yield from self.of_binding(file, binding, arguments)

    def of_binding(self, path: str, node: Node, arguments: tuple[tuple[Type, ...], ...] = ()) -> Iterator[Type]:
        """The types of a name that is bound at a node."""
        kind = node.type
        if kind in CLASSES:
            yield Type(path, node, self._bind(path, node, arguments))
        elif kind == "type_alias_declaration":
            yield from self.of(path, child(node, "value"), self._bind(path, node, arguments))
        elif kind == "type_parameter":
            yield from self.of(path, child(node, "constraint"))
        elif kind in FUNCTIONS or kind == "enum_declaration" or kind in _MODULES:
            yield Type(path, node)
        elif kind == "variable_declarator":
            typed = child(node, "type")
            yield from self.of(path, typed if typed is not None else child(node, "value"))
        else:
            yield from self.bound_at(path, node)

    def _bind(self, path: str, node: Node, arguments: tuple[tuple[Type, ...], ...]) -> dict[str, tuple[Type, ...]]:
        """The types of a declaration's type parameters; without an argument, that of the default or the bound."""
        names: dict[str, tuple[Type, ...]] = {}
        for index, parameter in enumerate(children(child(node, "type_parameters"), "type_parameter")):
            name = text_of(child(parameter, "name"))
            if index < len(arguments):
                names[name] = arguments[index]
            else:
                default = child(parameter, "value") or child(parameter, "constraint")
                names[name] = tuple(self.of(path, default, names))
        return names

    def _arguments(self, path: str, node: Node | None, names: Names) -> tuple[tuple[Type, ...], ...]:
        return tuple(tuple(self.of(path, child, names)) for child in (node.named_children if node is not None else ()))

    def _of_generic(self, path: str, node: Node, names: Names) -> Iterator[Type]:
        head = child(node, "name")
        if head is None:
            return
        arguments = child(node, "type_arguments")
        name = text_of(head)
        if head.type == "type_identifier" and name not in names and not self.trees.bound(path, head, name):
            if name in _SAME and arguments is not None:
                yield from self.of(path, arguments.named_children[0], names)
            elif name in _COLLECTIONS or name in _ITERATORS:
                yield Type(path, node, names)
            return
        yield from self._instances(path, head, names, self._arguments(path, arguments, names))

    def new_instances(self, path: str, node: Node, names: Names) -> Iterator[Type]:
        """Yield the types of a `new` expression: classes, or signatures that name the type they construct."""
        constructor = child(node, "constructor")
        if constructor is None:
            return
        for instance in self._instances(
            path, constructor, names, self._arguments(path, child(node, "type_arguments"), names)
        ):
            if instance.node.type == "constructor_type":
                yield instance
            elif signatures := children(child(instance.node, "body") or instance.node, "construct_signature"):
                yield from (Type(instance.path, signature, instance.names) for signature in signatures)
            elif instance.node.type in CLASSES:
                yield instance

    def _instances(
        self, path: str, head: Node, names: Names, arguments: tuple[tuple[Type, ...], ...]
    ) -> Iterator[Type]:
        """Yield the types that a named type means with these type arguments."""
        if head.type in DOTTED:
            owners = self.of(path, child(head, "object", "module"), names)
            for member in self.looked_up(owners, text_of(child(head, "property", "name"))):
                yield from self.of_binding(member.path, member.node, arguments)
        else:
            yield from self._of_name(path, head, names, arguments)

    def _around(self, path: str, node: Node | None) -> Iterator[Type]:
        """Yield the types of `this` at a node: the class around it, or what a function around it declares."""
        while node is not None:
            if node.type in CLASSES:
                yield Type(path, node)
                return
            if (declared := self.trees.own(node)) is not None:
                yield from self.of(path, declared)
                return
            node = self.trees.parent(node)

    def _bases(self, type_: Type) -> Iterator[Type]:
        for clause in children(type_.node, "index_signature") if type_.node.type == "object_type" else ():
            for mapped in children(clause, "mapped_type_clause"):
                keys = child(mapped, "type")
                if keys is not None and keys.type == "index_type_query":  # it maps the keys of another type
                    yield from self.of(type_.path, keys.named_children[0], type_.names)
        for heritage in type_.node.children:
            if heritage.type not in ("class_heritage", "extends_type_clause"):
                continue
            for clause in heritage.named_children if heritage.type == "class_heritage" else (heritage,):
                if clause.type == "extends_clause":
                    value = child(clause, "value")
                    if value is not None:
                        arguments = self._arguments(type_.path, child(clause, "type_arguments"), type_.names)
                        yield from self._instances(type_.path, value, type_.names, arguments)
                elif clause.type in ("extends_type_clause", "implements_clause"):
                    for inner in clause.named_children:
                        yield from self.of(type_.path, inner, type_.names)
                else:  # in JavaScript the base has no clause around it
                    yield from self.of(type_.path, clause)

    def members(self, type_: Type, name: str) -> Iterator[Type]:
        """The members of that name, each as the node that declares it. Those of a class hide its bases'."""
        yield from self._members(type_, name, frozenset(), {})

    def _members(self, type_: Type, name: str, below: frozenset[Node], tried: dict[Hashable, int]) -> Iterator[Type]:
        """The same; `below` are the types that it is a base of, `tried` is type -> the fewest types below it so far."""
        key = type_, tuple(type_.names.items())
        if type_.node in below or len(below) > DEPTH or tried.get(key, len(below) + 1) <= len(below):
            return
        tried[key] = len(below)
        self.trees.steps.take()
        if type_.node.type in _MODULES:
            for path, node in self.trees.exported(type_.path, type_.node, name):
                yield Type(path, node)
            return
        if members := [*self.trees.members(type_.node, name)]:
            yield from (Type(type_.path, member, type_.names) for member in members)
            return
        for base in self._bases(type_):
            yield from self._members(base, name, below | {type_.node}, tried)

    def looked_up(self, owners: Iterable[Type], name: str) -> Iterator[Type]:
        """The members of that name. Bases of a class do not hide members of a namespace that is merged with it."""
        types = [*owners]
        merged = {
            _declared(module) for module in types if module.node.type in _MODULES and any(self.members(module, name))
        }
        for owner in types:
            if owner.node.type in CLASSES and _declared(owner) in merged:
                yield from (Type(owner.path, member, owner.names) for member in self.trees.members(owner.node, name))
            else:
                yield from self.members(owner, name)

    def values(self, owners: Iterable[Type], name: str) -> Iterator[Type]:
        """Yield the types of the members of that name."""
        for member in self.looked_up(owners, name):
            kind = member.node.type
            if kind in ("property_signature", "public_field_definition"):
                typed = child(member.node, "type") or child(member.node, "value")
                yield from self.of(member.path, typed, member.names)
            elif kind == "pair":
                yield from self.of(member.path, child(member.node, "value"))
            elif kind == "shorthand_property_identifier":
                yield from self._of_name(member.path, member.node, {}, ())
            elif kind in FUNCTIONS and any(node.type == "get" for node in member.node.children):
                yield from self.returns(member)
            elif kind in FUNCTIONS:
                yield member
            else:
                yield from self.of_binding(member.path, member.node)

    def head(self, type_: Type) -> str:
        """The name of a collection's or promise's type; "" for anything else."""
        return text_of(child(type_.node, "name", "constructor")) if type_.node.type in HOLDERS[:2] else ""

    def elements(self, type_: Type) -> Iterator[Type]:
        """Yield the types that a collection or promise contains; for a map, those of its values."""
        if type_.node.type in ("array_type", "tuple_type", "array"):
            for argument in type_.node.named_children:
                yield from self.of(type_.path, argument, type_.names)
        elif type_.node.type in HOLDERS and (arguments := child(type_.node, "type_arguments")) is not None:
            index = 0 if self.head(type_) in _ITERATORS else -1
            yield from self.of(type_.path, arguments.named_children[index], type_.names)

    def _of_call(self, path: str, node: Node, names: Names) -> Iterator[Type]:  # noqa: ARG002 - called like the others
        callee = child(node, "function")
        if callee is None:
            return
        if callee.type == "member_expression":
            method = text_of(child(callee, "property"))
            if method in _ONE or method in _SOME:
                for type_ in self.of(path, child(callee, "object")):
                    if type_.node.type in HOLDERS:
                        yield from self.elements(type_) if method in _ONE else [type_]
        for function in self.of(path, callee):
            if function.node.type in FUNCTIONS:
                yield from self.returns(function)

    def returns(self, function: Type) -> Iterator[Type]:
        """Yield the types of a function's result: as declared, else by its return statements."""
        declared = child(function.node, "return_type")
        if declared is not None:
            yield from self.of(function.path, declared, function.names)
            return
        body = child(function.node, "body")
        if body is not None and body.type != "statement_block":
            yield from self.of(function.path, body, function.names)
        for value in self.trees.returned(body):
            yield from self.of(function.path, value, function.names)

    @abstractmethod
    def bound_at(self, path: str, node: Node | None) -> Iterator[Type]:
        """Return the types that are bound at a pattern or a parameter: as declared, or as the caller declares."""


def _declared(type_: Type) -> tuple[str, str]:
    return type_.path, text_of(child(type_.node, "name"))
