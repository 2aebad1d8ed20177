"""Types in JavaScript and TypeScript that the code around a name or an expression tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from repoeval_bench.own.references.script_trees import FUNCTIONS, child
from repoeval_bench.own.references.script_types import CLASSES, DEPTH, DOTTED, HOLDERS, ScriptTypes, Type
from repoeval_bench.own.references.tree_names import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_PARAMETERS = ("required_parameter", "optional_parameter")
# Methods of collections that call a function with each of their elements.
_EACH = frozenset({"map", "filter", "forEach", "some", "every", "find", "findIndex", "flatMap", "then"})


class ScriptPlaces(ScriptTypes):
    """Types of names and expressions that depend on the syntax around them."""

    def named(self, path: str, node: Node) -> list[tuple[str, Node]]:
        """Return (file, name's node) of each binding that a name may mean.

        After a dot these are members of its receiver. Empty if the type of the receiver is not known.
        """
        self.known.clear()
        self._depth = 0
        owners = self._owners(path, node)
        if owners is None:
            return [(file, _name_of(binding)) for file, binding in self.trees.bound(path, node, text_of(node))]
        by_position = {}
        for member in self.looked_up(owners, text_of(node)):
            name = _name_of(member.node)
            by_position[member.path, name.start_byte] = member.path, name
        return [*by_position.values()]

    def _owners(self, path: str, node: Node) -> Iterable[Type] | None:
        """Return the types that a name is looked up in; None if it has no receiver."""
        parent = node.parent
        if parent is None:
            return ()
        kind, inside = node.type, parent.type
        if inside in DOTTED and node != child(parent, "object", "module"):
            return self.of(path, child(parent, "object", "module"))
        if inside in ("pair", "pair_pattern") and node == child(parent, "key"):
            return self.expected(path, parent.parent) if inside == "pair" else self.bound_at(path, parent.parent)
        if kind == "shorthand_property_identifier":
            return self.expected(path, parent)
        if kind == "shorthand_property_identifier_pattern":
            return self.bound_at(path, parent if inside == "object_pattern" else parent.parent)
        if inside == "method_definition" and parent.parent is not None and parent.parent.type == "object":
            return self.expected(path, parent.parent)
        return () if kind == "property_identifier" else None

    def bound_at(self, path: str, node: Node | None, inside_of: int = 0) -> Iterator[Type]:
        """Yield the types that are bound at a pattern or a parameter: as declared, or as the caller declares.

        None in a pattern that is nested too deeply.
        """
        if node is None or node.parent is None or inside_of > DEPTH:
            return
        parent, inside = node.parent, node.parent.type
        if node.type in _PARAMETERS:
            typed = child(node, "type") or child(node, "value")
            yield from self.of(path, typed) if typed is not None else self._of_argument(path, node)
        elif inside in ("variable_declarator", *_PARAMETERS):
            yield from self.of_binding(path, parent)
        elif node.type == "pair_pattern" or inside == "object_pattern":
            key = child(node, "key", "left") or node
            yield from self.values(self.bound_at(path, parent, inside_of + 1), text_of(key))
        elif inside in ("pair_pattern", "object_assignment_pattern", "assignment_pattern"):
            yield from self.bound_at(path, parent, inside_of + 1)
        elif inside == "array_pattern":
            for type_ in self.bound_at(path, parent, inside_of + 1):
                yield from self.elements(type_)
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
        for type_ in self.expected(path, function):
            if type_.node.type in FUNCTIONS:
                yield from self._parameter(type_, index)
        outer = function.parent
        call = outer.parent if outer is not None and outer.type == "arguments" else None
        callee = child(call, "function") if call is not None else None
        if callee is not None and callee.type == "member_expression" and text_of(child(callee, "property")) in _EACH:
            for receiver in self.of(path, child(callee, "object")) if not index else ():
                if receiver.node.type in HOLDERS:
                    yield from self.elements(receiver)

    def _parameter(self, function: Type, index: int) -> Iterator[Type]:
        parameters = self.trees.parameters(function.node)
        if index < len(parameters):
            yield from self.of(function.path, child(parameters[index], "type"), function.names)

    def expected(self, path: str, node: Node | None) -> list[Type]:
        """Return the types that an expression must have, by the code around it."""
        if node is None or node.parent is None:
            return []
        parent = node.parent
        return self.once(("expected", path, node), lambda: self._expected(path, node, parent))

    def _expected(self, path: str, node: Node, parent: Node) -> Iterator[Type]:
        kind = parent.type
        if kind in ("parenthesized_expression", "ternary_expression", "binary_expression", "await_expression"):
            yield from self.expected(path, parent)
        elif kind in ("as_expression", "satisfies_expression"):
            yield from self.of(path, parent.named_children[-1])
        elif kind in ("variable_declarator", "public_field_definition", "required_parameter", "optional_parameter"):
            yield from self.of(path, child(parent, "type"))
        elif kind == "assignment_expression" and node != child(parent, "left"):
            yield from self.of(path, child(parent, "left"))
        elif kind == "pair":
            yield from self.values(self.expected(path, parent.parent), text_of(child(parent, "key")).strip("\"'"))
        elif kind == "array":
            for type_ in self.expected(path, parent):
                yield from self.elements(type_)
        elif kind == "arguments" and parent.parent is not None:
            yield from self._argument_types(path, parent.parent, parent.named_children.index(node))
        elif kind == "return_statement" or (kind == "arrow_function" and node == child(parent, "body")):
            function: Node | None = parent
            while function is not None and function.type not in FUNCTIONS:
                function = function.parent
            if function is not None:
                yield from self._expected_result(path, function)

    def _argument_types(self, path: str, call: Node, index: int) -> Iterator[Type]:
        """Yield the types that a call declares for the argument at an index."""
        if call.type == "call_expression":
            for type_ in self.of(path, child(call, "function")):
                if type_.node.type in FUNCTIONS:
                    yield from self._parameter(type_, index)
        elif call.type == "new_expression":
            for instance in self.new_instances(path, call, {}):
                signatures = self.members(instance, "constructor") if instance.node.type in CLASSES else [instance]
                for signature in signatures:
                    yield from self._parameter(signature, index)

    def _expected_result(self, path: str, function: Node) -> Iterator[Type]:
        """Yield the types that a function must return; for an async one, those that it promises."""
        declared = child(function, "return_type")
        types = self.of(path, declared) if declared is not None else []
        if declared is None:
            for type_ in self.expected(path, function):
                types += self.returns(type_) if type_.node.type in FUNCTIONS else []
        asynchronous = any(node.type == "async" for node in function.children)
        for result in types:
            yield from self.elements(result) if asynchronous and self.head(result) == "Promise" else [result]


def _name_of(node: Node) -> Node:
    """Return the name of a binding, such as `f` for the function of `{ f: () => 1 }` or `exports.f = () => 1`."""
    own = child(node, "name", "key")
    if own is None and node.parent is not None and node == child(node.parent, "value", "right"):
        own = child(node.parent, "key") or child(child(node.parent, "left"), "property")
    return own or node
