"""Type inference in JavaScript and TypeScript: declared types, and what follows from them without running anything.

A type is the node that declares it: a class, an interface, an object type or a function.
Overloads are not distinguished, a type parameter is its bound, and a conditional type counts as its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.core.grammars.grammar import child, words
from repoeval_bench.own.references.script_trees import FUNCTIONS, Trees, is_name, name_of
from repoeval_bench.own.references.tree_names import children, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_DEPTH, _STEPS = 40, 1500
"""The most steps from one type to another in a row, and in all for one name."""

CLASSES = frozenset({"class_declaration", "abstract_class_declaration", "class", "interface_declaration"})
_TYPES = CLASSES | {"object_type", "object", "array", "array_type", "tuple_type", "constructor_type"}
DOTTED = frozenset({"member_expression", "nested_type_identifier"})
"""Nodes that look a name up in a receiver."""

_MODULES = frozenset({"program", "internal_module", "module"})
_LOGICAL = frozenset({"??", "||", "&&"})


# Nodes that have the type of some of their parts.
_FIRST = words(
    "parenthesized_expression parenthesized_type non_null_expression readonly_type constraint type_annotation "
    "default_type optional_type type_query satisfies_expression"
)
_LAST = frozenset({"as_expression", "assignment_expression"})
_UNIONS = frozenset({"union_type", "intersection_type"})
_EITHER = frozenset({"conditional_type", "ternary_expression"})
_SAME = frozenset({"Readonly", "Partial", "Required", "NonNullable", "Omit", "Pick", "NoInfer"})
_PROMISES = frozenset({"Promise", "PromiseLike"})
_COLLECTIONS = _PROMISES | {"Array", "ReadonlyArray", "Set", "ReadonlySet", "Iterable"}
_COLLECTIONS |= {"Map", "ReadonlyMap", "WeakMap", "Record", "ArrayLike", "AsyncIterable"}

_PARAMETERS = ("required_parameter", "optional_parameter")
# Methods of collections that call a function with each of their elements.
_EACH = frozenset({"map", "filter", "forEach", "some", "every", "find", "findIndex", "flatMap", "then"})
_ITEM = frozenset({"get", "at", "find", "findLast", "pop", "shift"})
"""Methods of collections that return an element."""
_COMPONENTS = frozenset({"FC", "FunctionComponent", "VFC"})


@dataclass(frozen=True, slots=True)
class Type:
    """The node of a file that declares a type."""

    path: str
    node: Node


class ScriptTypes:
    """The types in the files of one repository, resolved on first use, also those that the code around tells."""

    def __init__(self, trees: Trees) -> None:
        self.trees = trees
        self._known: dict[Hashable, list[Type]] = {}
        self._depth = 0

    def of(self, path: str, node: Node | None) -> list[Type]:
        """Return the types that an expression, or the node of a type, may have."""
        if node is None:
            return []
        return self._once(("of", path, node), lambda: self._of(path, node))

    def _once(self, key: Hashable, find: Callable[[], Iterable[Type]]) -> list[Type]:
        """Return the types under a key; none while `find` looks them up, or if that takes too many steps."""
        if key not in self._known:
            if len(self._known) > _STEPS or self._depth > _DEPTH:
                return []
            self._known[key] = []
            self._depth += 1
            self._known[key] = [*dict.fromkeys(find())]
            self._depth -= 1
        return self._known[key]

    def _of(self, path: str, node: Node) -> Iterator[Type]:  # noqa: C901, PLR0912 - one branch a kind of expression
        kind = node.type
        if parts := _parts(node):
            for part in parts:
                yield from self.of(path, part)
        elif kind in ("identifier", "type_identifier"):
            yield from self._of_name(path, node)
        elif kind == "generic_type":
            yield from self._of_generic(path, node)
        elif kind in DOTTED:
            yield from self.values(
                self.of(path, child(node, "object", "module")), text_of(child(node, "property", "name"))
            )
        elif kind in ("this", "this_type", "super"):
            for around in self._around(path, node):
                yield from self._bases(around) if kind == "super" else [around]
        elif kind == "call_expression":
            yield from self._of_call(path, node)
        elif kind == "new_expression":
            yield from (type_ for type_ in self.of(path, child(node, "constructor")) if type_.node.type in CLASSES)
        elif kind == "await_expression":
            for type_ in self.of(path, node.named_children[-1]):
                yield from self._promised(type_)
        elif kind == "subscript_expression":
            for type_ in self.of(path, child(node, "object")):
                yield from self.elements(type_)
        elif kind in FUNCTIONS or kind in _TYPES:
            yield Type(path, node)

    def _of_name(self, path: str, node: Node) -> Iterator[Type]:
        for file, binding in self.trees.bound(path, node, text_of(node)):
            yield from self._of_binding(file, binding)

    def _of_binding(self, path: str, node: Node) -> Iterator[Type]:
        """The types of a name that is bound at a node."""
        kind = node.type
        if kind == "type_alias_declaration":
            yield from self.of(path, child(node, "value"))
        elif kind == "type_parameter":
            yield from self.of(path, child(node, "constraint"))
        elif kind in CLASSES or kind in FUNCTIONS or kind == "enum_declaration" or kind in _MODULES:
            yield Type(path, node)
        elif kind == "variable_declarator":
            typed = child(node, "type")
            yield from self.of(path, typed if typed is not None else child(node, "value"))
        elif kind in _TYPES or kind.endswith("_expression"):  # an exported value without a name
            yield from self.of(path, node)
        else:
            yield from self._bound_at(path, node)

    def _of_generic(self, path: str, node: Node) -> Iterator[Type]:
        head, arguments = child(node, "name"), child(node, "type_arguments")
        if head is None:
            return
        name = text_of(head)
        if head.type != "type_identifier" or self.trees.bound(path, head, name):
            yield from self.of(path, head)
        elif name in _SAME and arguments is not None:
            yield from self.of(path, arguments.named_children[0])
        elif name in _COLLECTIONS:
            yield Type(path, node)

    def _around(self, path: str, node: Node | None) -> Iterator[Type]:
        """Yield the type of `this` at a node: the class around it."""
        while node is not None:
            if node.type in CLASSES:
                yield Type(path, node)
                return
            node = self.trees.parent(node)

    def _bases(self, type_: Type) -> Iterator[Type]:
        for heritage in type_.node.children:
            if heritage.type not in ("class_heritage", "extends_type_clause"):
                continue
            for clause in heritage.named_children if heritage.type == "class_heritage" else (heritage,):
                if clause.type == "extends_clause":
                    yield from self.of(type_.path, child(clause, "value"))
                elif clause.type in ("extends_type_clause", "implements_clause"):
                    for inner in clause.named_children:
                        yield from self.of(type_.path, inner)
                else:  # in JavaScript the base has no clause around it
                    yield from self.of(type_.path, clause)

    def _members(self, type_: Type, name: str, tried: set[Type]) -> Iterator[Type]:
        """The members of that name, each as the node that declares it. Those of a class hide its bases'."""
        if type_ in tried:
            return
        tried.add(type_)
        if type_.node.type in _MODULES:
            for path, node in self.trees.exported(type_.path, type_.node, name):
                yield Type(path, node)
            return
        if members := [*self.trees.members(type_.node, name)]:
            yield from (Type(type_.path, member) for member in members)
            return
        for base in self._bases(type_):
            yield from self._members(base, name, tried)

    def _looked_up(self, owners: Iterable[Type], name: str) -> Iterator[Type]:
        for owner in owners:
            yield from self._members(owner, name, set())

    def values(self, owners: Iterable[Type], name: str) -> Iterator[Type]:
        """Yield the types of the members of that name."""
        for member in self._looked_up(owners, name):
            kind = member.node.type
            if kind in ("property_signature", "public_field_definition"):
                typed = child(member.node, "type") or child(member.node, "value")
                yield from self.of(member.path, typed)
            elif kind == "pair":
                yield from self.of(member.path, child(member.node, "value"))
            elif kind == "shorthand_property_identifier":
                yield from self._of_name(member.path, member.node)
            elif kind in FUNCTIONS and any(node.type == "get" for node in member.node.children):
                yield from self.returns(member)
            elif kind in FUNCTIONS:
                yield member
            else:
                yield from self._of_binding(member.path, member.node)

    def elements(self, type_: Type) -> Iterator[Type]:
        """Yield the types that a collection or promise contains; for a map, those of its values."""
        if type_.node.type in ("array_type", "tuple_type", "array"):
            for argument in type_.node.named_children:
                yield from self.of(type_.path, argument)
        elif type_.node.type == "generic_type" and (arguments := child(type_.node, "type_arguments")) is not None:
            yield from self.of(type_.path, arguments.named_children[-1])

    def _promised(self, type_: Type) -> Iterable[Type]:
        """Return what a promise is of; any other type itself."""
        is_promise = type_.node.type == "generic_type" and text_of(child(type_.node, "name")) in _PROMISES
        return self.elements(type_) if is_promise else [type_]

    def _of_call(self, path: str, node: Node) -> Iterator[Type]:
        callee = child(node, "function")
        if callee is None:
            return
        for function in self.of(path, callee):
            if function.node.type in FUNCTIONS:
                yield from self.returns(function)
        if callee.type == "member_expression" and text_of(child(callee, "property")) in _ITEM:
            for receiver in self.of(path, child(callee, "object")):
                yield from self.elements(receiver)

    def returns(self, function: Type) -> Iterator[Type]:
        """Yield the types of a function's result: as declared, else by its return statements."""
        declared = child(function.node, "return_type")
        if declared is not None:
            yield from self.of(function.path, declared)
            return
        body = child(function.node, "body")
        if body is not None and body.type != "statement_block":
            yield from self.of(function.path, body)
        for value in self.trees.returned(body):
            yield from self.of(function.path, value)

    def named(self, path: str, node: Node) -> list[tuple[str, Node]]:
        """Return (file, name's node) of each binding that a name may mean.

        After a dot these are members of its receiver. Empty if the type of the receiver is not known.
        """
        self._known.clear()
        self._depth = 0
        owners = self._owners(path, node)
        if owners is None:
            return [(file, name_of(binding)) for file, binding in self.trees.bound(path, node, text_of(node))]
        members = [*self._looked_up(owners, text_of(node))]
        # A class may have a static member and one of its objects under one name.
        static = any(binding.type in CLASSES for _, binding in self._named(path, child(node.parent, "object")))
        members = [member for member in members if bool(children(member.node, "static")) == static] or members
        by_position = {}
        for member in members:
            # `{ f }` and `{ f: f }` have the value `f`.
            value = child(member.node, "value") if member.node.type == "pair" else member.node
            for file, binding in self._named(member.path, value) or [(member.path, member.node)]:
                name = name_of(binding)
                by_position[file, name.start_byte] = file, name
        return [*by_position.values()]

    def _named(self, path: str, node: Node | None) -> list[tuple[str, Node]]:
        """Return (file, node) of the bindings of an expression that is a name; none of another."""
        return self.trees.bound(path, node, text_of(node)) if node is not None and is_name(node) else []

    def _owners(self, path: str, node: Node) -> Iterable[Type] | None:
        """Return the types that a name is looked up in; None if it has no receiver."""
        parent = node.parent
        if parent is None:
            return ()
        kind, inside = node.type, parent.type
        if inside in DOTTED and node != child(parent, "object", "module"):
            return self.of(path, child(parent, "object", "module"))
        if inside in ("pair", "pair_pattern") and node == child(parent, "key"):
            return self._expected_at(path, parent.parent) if inside == "pair" else self._bound_at(path, parent.parent)
        if kind == "shorthand_property_identifier":
            return self._expected_at(path, parent)
        if kind == "shorthand_property_identifier_pattern":
            return self._bound_at(path, parent if inside == "object_pattern" else parent.parent)
        if inside == "method_definition" and parent.parent is not None and parent.parent.type == "object":
            return self._expected_at(path, parent.parent)
        if inside == "jsx_attribute":  # a key of the only parameter of a component
            components = self.of(path, child(parent.parent, "name"))
            return [type_ for component in components for type_ in self._parameter(component, 0)]
        return () if kind == "property_identifier" else None

    def _bound_at(self, path: str, node: Node | None) -> Iterator[Type]:
        """Yield the types that are bound at a pattern or a parameter: as declared, or as the caller declares."""
        if node is None or node.parent is None:
            return
        parent, inside = node.parent, node.parent.type
        if node.type in _PARAMETERS:
            typed = child(node, "type") or child(node, "value")
            yield from self.of(path, typed) if typed is not None else self._of_argument(path, node)
        elif inside in ("variable_declarator", *_PARAMETERS):
            yield from self._of_binding(path, parent)
        elif node.type == "pair_pattern" or inside == "object_pattern":
            key = child(node, "key", "left") or node
            yield from self.values(self._bound_at(path, parent), text_of(key))
        elif inside in ("pair_pattern", "object_assignment_pattern", "assignment_pattern"):
            yield from self._bound_at(path, parent)
        elif inside == "for_in_statement" and any(token.type == "of" for token in parent.children):
            for iterable in self.of(path, child(parent, "right")):
                yield from self.elements(iterable)
        elif inside == "formal_parameters" or inside in FUNCTIONS:  # of JavaScript, or `x => …`
            yield from self._of_argument(path, node)

    def _of_argument(self, path: str, parameter: Node) -> Iterator[Type]:
        """Yield the types of a parameter without a declared one, by what its function is passed to."""
        function = parameter.parent
        if function is not None and function.type not in FUNCTIONS:
            function = function.parent
        if function is None or function.type not in FUNCTIONS:
            return
        parameters = self.trees.parameters(function)
        index = parameters.index(parameter) if parameter in parameters else 0
        for type_ in self._expected_at(path, function):
            if type_.node.type in FUNCTIONS:
                yield from self._parameter(type_, index)
        outer = function.parent
        annotation = child(outer, "type")  # `const A: React.FC<Props> = …`
        typed = annotation.named_children[0] if annotation is not None and not index else None
        if typed is not None and text_of(child(typed, "name")).rpartition(".")[2] in _COMPONENTS:
            yield from self.elements(Type(path, typed))
        call = outer.parent if outer is not None and outer.type == "arguments" else None
        callee = child(call, "function") if call is not None else None
        if callee is not None and callee.type == "member_expression" and text_of(child(callee, "property")) in _EACH:
            for receiver in self.of(path, child(callee, "object")) if not index else ():
                yield from self.elements(receiver)

    def _parameter(self, function: Type, index: int) -> Iterator[Type]:
        parameters = self.trees.parameters(function.node)
        if index < len(parameters):
            yield from self.of(function.path, child(parameters[index], "type"))

    def _expected_at(self, path: str, node: Node | None) -> list[Type]:
        """Return the types that an expression must have, by the code around it."""
        if node is None or node.parent is None:
            return []
        parent = node.parent
        return self._once(("expected", path, node), lambda: self._expected(path, node, parent))

    def _expected(self, path: str, node: Node, parent: Node) -> Iterator[Type]:
        kind = parent.type
        if kind in ("parenthesized_expression", "ternary_expression", "binary_expression", "await_expression"):
            yield from self._expected_at(path, parent)
        elif kind in ("as_expression", "satisfies_expression"):
            yield from self.of(path, parent.named_children[-1])
        elif kind in ("variable_declarator", "public_field_definition", "required_parameter", "optional_parameter"):
            yield from self.of(path, child(parent, "type"))
        elif kind == "assignment_expression" and node != child(parent, "left"):
            yield from self.of(path, child(parent, "left"))
        elif kind == "pair":
            yield from self.values(self._expected_at(path, parent.parent), text_of(child(parent, "key")).strip("\"'"))
        elif kind == "arguments" and (call := parent.parent) is not None and call.type == "call_expression":
            for type_ in self.of(path, child(call, "function")):
                if type_.node.type in FUNCTIONS:
                    yield from self._parameter(type_, parent.named_children.index(node))
        elif kind == "return_statement" or (kind == "arrow_function" and node == child(parent, "body")):
            function: Node | None = parent
            while function is not None and function.type not in FUNCTIONS:
                function = function.parent
            is_async = function is not None and any(token.type == "async" for token in function.children)
            for result in self.of(path, child(function, "return_type")):
                yield from self._promised(result) if is_async else [result]


def _parts(node: Node) -> list[Node | None]:
    """Return the parts whose types a node has; none if it has a type of its own."""
    kind = node.type
    if kind in _EITHER:
        return [child(node, "consequence"), child(node, "alternative")]
    if kind == "binary_expression" and text_of(child(node, "operator")) in _LOGICAL:
        return [child(node, "left"), child(node, "right")]
    parts = node.named_children
    return [*(parts[:1] if kind in _FIRST else parts[-1:] if kind in _LAST else parts if kind in _UNIONS else [])]
