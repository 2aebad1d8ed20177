"""Type inference in Go, Rust, Java, C, C++ and C#: declared types, and what follows from them in a few steps.

A value is the node that writes its type. Type parameters are not bound. `Names` resolves names without a receiver.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from repoeval_bench.core.definitions import Definition, defining_nodes
from repoeval_bench.core.grammars.grammar import child
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.own.references.language_rules import CALLED, Answer, Located, Names, may_take, plain_type, types_of
from repoeval_bench.own.references.languages import NODES
from repoeval_bench.own.references.static_nodes import (
    Step,
    arguments_of,
    arguments_to,
    arity_of,
    bare_type,
    binding_of,
    called_with,
    callee_of,
    case_of,
    count_of,
    head_of,
    qualified_parts,
)
from repoeval_bench.own.references.tree_names import first_leaf, receiver_of, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.own.references.local_scopes import Bound
    from repoeval_bench.own.references.script_trees import Trees


_MOST_CACHED = 200
"""The most files whose definitions are cached with their trees."""
_DEPTH = 24
"""The most steps from one value to another in a row."""

# Types and methods of standard libraries that lead from one value to another.
_INSIDE = frozenset({"Option", "Result", "Optional", "optional", "Mutex", "RwLock", "RefCell", "Cell", "Task"})
_OPENS = frozenset({"unwrap", "expect", "unwrap_or_default", "unwrap_or_else", "unwrap_or", "lock", "borrow", "read"})
_OPENS |= {"borrow_mut", "write", "value", "get", "orElseThrow", "orElse"}
"""Methods that return the content of such a value."""
_KEEPS = frozenset(
    {"clone", "as_ref", "as_mut", "to_owned", "iter", "iter_mut", "into_iter", "as_deref", "rev", "take"}
)
_KEEPS |= {"Where", "OrderBy", "OrderByDescending", "Skip", "Take", "ToList", "ToArray", "sorted", "distinct", "limit"}
_KEEPS |= {"cloned", "filter", "skip", "by_ref", "borrow", "ok_or", "ok_or_else", "map_err", "stream", "as_deref_mut"}
_ONE = frozenset({"next", "first", "last", "get", "get_mut", "pop", "front", "back", "at", "First", "Last", "poll"})
_ONE |= {"FirstOrDefault", "Single", "peek", "remove", "getFirst", "getLast", "begin", "Pop", "Peek", "Dequeue"}
_BOUNDS = frozenset({"trait_bounds", "type_bound", "type_constraint", "type_parameter_constraint"})
_CLAUSES = frozenset({"where_predicate", "type_parameter_constraints_clause"})
_NAMES = frozenset({"identifier", "type_identifier", "field_identifier", "shorthand_field_identifier"})
_NAMES |= {"namespace_identifier"}  # in C++ also that of a class whose member is named
_LITERALS = {"string_literal": "string", "character_literal": "char", "true": "bool", "false": "bool"}
_LITERALS |= {"decimal_integer_literal": "int", "integer_literal": "int", "boolean_literal": "bool"}
"""Literals whose type an overload can name -> that type."""
_RESULT = ("result", "return_type", "returns", "type")


@dataclass(frozen=True, slots=True)
class Value:
    """`node` is a type as a file writes it, or the definition of a function; None if it is from outside.

    `held`: it is in an optional value.
    """

    path: str
    node: Node | None
    held: bool = False


_OUTSIDE = Value("", None)
_NO_OWNER = Value(" ", None)
Members = Sequence[Located] | None
"""(file, definition) of members; None if the receiver's type is known to be from outside the repository."""


class StaticTypes:
    """The types in the files of one repository, resolved on first use, and the receivers of names.

    A receiver is in the text, or the context implies it.
    """

    def __init__(self, trees: Trees, names: Names) -> None:
        self._trees, self._names = trees, names
        self._known: dict[tuple[str, int, int, int], Value | None] = {}
        self._nodes: dict[str, dict[tuple[int, str], tuple[Node, Node]]] = {}
        self._depth = 0

    def begin(self) -> None:
        """Forget values: how far inference gets depends on what is known, and a task's gold must not depend on others.

        Values keep their trees in memory.
        """
        self._known.clear()
        self._depth = 0
        if len(self._nodes) > _MOST_CACHED:
            self._nodes.clear()

    def local(self, path: str, node: Node, name: str) -> Bound | None:
        """Return the binding of a local at a node; None if the name is not local."""
        bindings, _ = self._trees.scopes.at(self._names.rules(path), node, name)
        return bindings[-1] if bindings and not bindings[-1].outer else None

    def of(self, path: str, node: Node | None) -> Value | None:
        """Return the value of an expression; None if it is not known."""
        if node is None or self._depth > _DEPTH:
            return None
        key = path, node.start_byte, node.end_byte, node.kind_id
        if key not in self._known:
            self._known[key] = None  # a value that depends on itself is not known
            self._depth += 1
            self._known[key] = self._of(path, node)
            self._depth -= 1
        return self._known[key]

    def _of(self, path: str, node: Node) -> Value | None:  # noqa: C901, PLR0911, PLR0912 - one branch a kind of node
        kind = node.type
        if text_of(node) in self._names.rules(path).self_names:
            return self.around(path, node)
        if kind in ("bracketed_type", *NODES["generic"]):
            named = child(node, "name")
            return self.of(path, named) if kind == "template_function" else self.typed(path, bare_type(node))
        if kind in _NAMES and node.parent is not None and node.parent.type == "field_pattern":
            return self._first(self.named(path, node)[1])
        if kind in _NAMES:
            return self._of_name(path, node)
        if kind in NODES["dotted"]:
            name = child(node, "field", "name")
            if name is not None and name.type == "this":  # of Java: `Outer.this`
                return self.of(path, child(node, "object"))
            if name is not None and name.type == node.type:  # `a::B::c` of C++ is `a::` and `B::c`
                return self.of(path, name)
            if name is not None:
                return self._of_member(path, node, name)
            # A class of Java in a class or in a package.
            return Value(path, node) if self._names.types(path, self.at(path, node), qualified_parts(node))[0] else None
        if kind in NODES["calls"]:
            return self._of_call(path, node)
        if kind in NODES["creations"]:
            return self.typed(path, child(node, "type", "name"))
        if kind == "implicit_object_creation_expression" and node.parent is not None:  # of C#: `new()`
            if node.parent.type == "assignment_expression":
                return self.of(path, child(node.parent, "left"))
            return self.typed(path, child(node.parent, "type") or child(node.parent.parent, "type"))
        if kind in NODES["casts"]:
            return self.typed(path, child(node, "type", "right"))
        if kind == "try_expression":
            return self.step(self.of(path, node.named_children[0]), "inside")
        if kind in NODES["same"] and node.named_children:
            inner = child(node, "operand", "function", "argument", "value", "condition", "right")
            value = self.of(path, inner or node.named_children[-1 if kind == "reference_expression" else 0])
            return self.step(value, "item") if text_of(child(node, "operator")) == "<-" else value  # of a channel of Go
        if kind in NODES["items"] and node.named_children:
            value = self.of(path, node.named_children[0])
            is_function = value is not None and value.node is not None and value.node.type == "function_declaration"
            return value if is_function else self.step(value, "item")  # of Go: `New[int]`
        return _OUTSIDE if kind in NODES["literals"] else None

    def _of_name(self, path: str, node: Node) -> Value | None:
        name = text_of(node)
        local = self.local(path, node, name)
        if local is None:
            matches, reason = self._names.bare(path, self.at(path, node), name)
            return self._first(matches) if matches else _OUTSIDE if reason == "outside" else None
        bound = binding_of(local)
        if local.node.type == "type_switch_statement" and (typed := case_of(local.node, node)) is not None:
            return self.typed(path, typed)
        value = self.typed(path, bound.typed) if bound.typed is not None else self.of(path, bound.value)
        for step in bound.steps:
            value = self.step(value, step)
        return value

    def _of_member(self, path: str, node: Node, name: Node) -> Value | None:
        owner = receiver_of(name) if name.type in _NAMES else child(node, "operand", "value", "object", "expression")
        text = self._names.rules(path).qualifier(path, owner) if owner is not None else ""
        parts = text.replace("::", ".").split(".") if text else []
        if name.type in NODES["generic"]:
            name = next((inner for inner in name.named_children if inner.type in _NAMES), name)
        if (
            owner is not None
            and all(map(str.isidentifier, parts))
            and self.local(path, first_leaf(owner), parts[0]) is None
        ):
            matches, reason = self._names.of_module(path, self.at(path, node), parts, text_of(name))
            if matches or reason == "outside":
                return self._first(matches) if matches else _OUTSIDE
        members = self.named(path, name)[1]
        if members is None:
            return _OUTSIDE
        return self._first(members) or self._embedded_as(self.of(path, owner), text_of(name))

    def _first(self, matches: Members) -> Value | None:
        """Return the value of the first of several definitions, if those that can be called have one result."""
        called = [self.nodes(*located)[0] for located in matches or () if located[1].kind in CALLED]
        results = {head_of(result) for node in called if (result := child(node, *_RESULT)) is not None}
        return self.of_definition(*matches[0]) if matches and len(results) <= 1 else None

    def of_definition(self, path: str, parsed: Definition) -> Value | None:
        """Return the value of a name by its definition."""
        node, _ = self.nodes(path, parsed)
        if node is None:
            return None
        if parsed.kind == "class":
            return Value(path, child(node, "name", "type") or node)
        if parsed.kind in ("function", "method") and parsed.form != "property":
            return Value(path, node)
        parts = (inner for inner in node.named_children if child(inner, "type", "value") is not None)
        declaration = node if child(node, "type", "value") is not None else next(parts, None)
        typed, value = child(declaration, "type"), child(declaration, "value")
        return self.typed(path, typed) if typed is not None else self.of(path, value)

    def nodes(self, path: str, parsed: Definition) -> tuple[Node | None, Node | None]:
        """The syntax node of a definition, its own if one declaration has several, and the node of its name."""
        if path not in self._nodes:
            bindings = defining_nodes(self._trees.of(path))
            self._nodes[path] = {(binding.named, binding.name): (node, name) for binding, node, name in bindings}
        node, named = self._nodes[path].get((parsed.named, parsed.name), (None, None))
        if node is not None and node.type in NODES["groups"]:
            names = ((child, name) for child in node.named_children for name in child.children_by_field_name("name"))
            node = next((declarator for declarator, name in names if text_of(name) == parsed.name), node)
        return node, named

    def around(self, path: str, node: Node) -> Value | None:
        """Return the type of `this`."""
        current: Node | None = node
        while current is not None and current.type not in NODES["classes"]:
            if current.type == "function_definition" and (scope := child(callee_of(current), "scope")) is not None:
                return Value(path, scope)  # a method of C++ that is defined outside of its class
            current = current.parent
        name = child(current, "type") if current is not None and current.type == "impl_item" else child(current, "name")
        return Value(path, name) if name is not None else None

    def _of_call(self, path: str, node: Node) -> Value | None:
        function = child(node, "function", "name")
        if function is None:
            return None
        alone = node.type != "method_invocation" or child(node, "object") is None
        called = self.of(path, function) if alone else self._first(self.named(path, function)[1])
        method = child(function, "field", "name") if function.type in NODES["dotted"] else function
        if called is None or called is _OUTSIDE:
            owner = receiver_of(method) if method is not None else None
            return self._known_method(self.of(path, owner), text_of(method)) if owner is not None else called
        return self._result(called)

    def _known_method(self, receiver: Value | None, name: str) -> Value | None:
        """Return the results of well-known methods of collections and optional values."""
        if receiver is None or receiver.node is None:
            return receiver
        if receiver.held:
            return replace(receiver, held=False) if name in _OPENS else receiver if name in _KEEPS else None
        rules, target = self._names.rules(receiver.path), self._target(receiver.path, receiver.node)
        if head_of(target) in _INSIDE and name in _OPENS:
            return self.step(Value(receiver.path, target), "inside")
        if name in _KEEPS:
            return receiver
        if rules.pointer_items and self._is_pointer(receiver):
            return Value(receiver.path, target) if name == "get" else None
        if name in _ONE and (arguments_of(target) or target.type in NODES["collections"]):
            item = self.step(Value(receiver.path, target), "item")
            is_held = rules.optional_items and (name, head_of(target)) != ("remove", "Vec")
            return replace(item, held=is_held) if item is not None else None
        return receiver if name in ("unwrap", "expect") else None  # of a guard, which stands for what it guards

    def _target(self, path: str, node: Node) -> Node:
        """Return a type without pointers to it, those of a library included."""
        node = bare_type(node)
        while head_of(node) in self._names.rules(path).pointers and (arguments := arguments_of(node)):
            node = bare_type(arguments[0])
        return node

    def _is_pointer(self, value: Value | None) -> bool:
        """Return whether a value is a smart pointer of a library."""
        node = value.node if value is not None else None
        return value is not None and node is not None and head_of(node) in self._names.rules(value.path).pointers

    def _result(self, called: Value) -> Value | None:
        """Return the result of a function; that of a class is its instance."""
        node = called.node
        if node is None:
            return called
        result = child(node, *_RESULT)
        if node.type in ("constructor_declaration", "type_identifier", "identifier", "generic_type", "qualified_type"):
            return called
        return self.typed(called.path, result)

    def typed(self, path: str, node: Node | None) -> Value | None:
        """A value of the type that is written at a node."""
        return Value(path, node) if node is not None else None

    def step(self, value: Value | None, step: Step) -> Value | None:
        """Return a part of a value, an item of it, or what it contains."""
        if value is not None and value.held:
            return replace(value, held=False) if step in ("inside", "each") else None
        node = bare_type(value.node) if value is not None and value.node is not None else None
        if value is None or node is None:
            return value
        if isinstance(step, int):
            return self._part(value, node, step)
        arguments = arguments_of(node)
        # In Java one node has all dimensions of an array; an item of a map is a pair.
        if text_of(child(node, "dimensions")).count("[") > 1 or (step == "each" and len(arguments) > 1):
            return None
        if node.type in NODES["collections"]:
            element = child(node, "element", "value", "type") or node.named_children[-1]
            return Value(value.path, element)
        if not arguments and (meant := next(iter(self._aliased(self._types(value.path, node)[0])), None)) is not None:
            self._depth += 1
            result = self.step(meant, step)
            self._depth -= 1
            return result
        if arguments:
            inside = step == "inside"
            return Value(value.path, arguments[0 if inside else -1]) if not inside or head_of(node) != "Err" else None
        return value if step != "inside" and self._names.rules(value.path).pointer_items else None

    def _part(self, value: Value, node: Node, index: int) -> Value | None:
        """Return a part of a tuple, of several results, or of a struct or a variant whose fields have no names."""
        named = self._types(value.path, node)[0] if node.type in (*NODES["dotted"], *_NAMES) else ()
        for path, parsed in named:
            body = child(self.nodes(path, parsed)[0], "body")
            if body is not None and body.type.startswith("ordered_field"):
                return self.typed(path, dict(enumerate(body.children_by_field_name("type"))).get(index))
        parts = node.named_children if node.type in ("parameter_list", "tuple_type") else []
        part = child(parts[index], "type") or parts[index] if index < len(parts) else None
        return self.typed(value.path, part) if parts or index else value

    def at(self, path: str, node: Node) -> LineSpan:
        """Return the line on which a node begins."""
        line = self._trees.of(path).span(node).start
        return LineSpan(line, line + 1)

    def _types(self, path: str, node: Node) -> Answer:
        """Return the types that a type names where it is written."""
        types, reason = self._names.types(path, self.at(path, node), qualified_parts(node))
        return self._of_arity(path, node, types), reason

    def _of_arity(self, path: str, node: Node, matches: Sequence[Located]) -> Sequence[Located]:
        """Return the definitions without types of another number of type parameters, where those are others."""
        if not self._names.rules(path).arities or all(one.kind != "class" for _, one in matches):
            return matches
        inner = node if node.type in NODES["generic"] else node.parent
        written = [part for part in (inner or node).named_children if re.search("type_(arg|param)", part.type)]
        is_name = inner is not None and (inner.type in NODES["generic"] or child(inner, "name") == node)
        given = text_of(written[0]) if written and is_name else ""
        return [located for located in matches if located[1].kind != "class" or arity_of(located[1]) == count_of(given)]

    def _classes(self, value: Value) -> Sequence[Located]:
        node = bare_type(value.node) if value.node is not None else None
        if node is None:
            return ()
        return [type_ for type_ in self._types(value.path, node)[0] if type_[1].kind == "class"]

    def _members(self, value: Value, name: str, tried: dict[tuple[str, str], Members]) -> Members:
        """The members of that name of a value; None if its type is from outside the repository.

        `tried` are the types so far, as type aliases may name one another.
        """
        key = value.path, text_of(value.node)
        if key not in tried:
            tried[key] = ()  # a type that is an alias of itself has none
            tried[key] = self._members_of(value, name, tried)
        return tried[key]

    def _members_of(self, value: Value, name: str, tried: dict[tuple[str, str], Members]) -> Members:
        if value.node is None:
            return None
        rules, node = self._names.rules(value.path), self._target(value.path, value.node)
        if node.type in NODES["collections"] or node.type in ("primitive_type", "predefined_type", "integral_type"):
            return None
        if text_of(node) == "Self":
            inner = self.around(value.path, node)
            return self._members(inner, name, tried) if inner is not None else ()
        if (bounds := self._bounds(value.path, node)) is not None:
            limited = (self._members(Value(value.path, bound), name, tried) for bound in bounds)
            return next(filter(None, limited), ())
        classes, reason = self._types(value.path, node)
        matches = self._names.members(value.path, [cls for cls in classes if cls[1].kind == "class"], name)
        if matches:
            return matches
        for meant in self._aliased(classes):
            self._depth += 1
            members = self._members(meant, name, tried)
            self._depth -= 1
            if members:
                return members
        return None if reason == "outside" or (not classes and rules.outside_unless_found) else ()

    def _aliased(self, classes: Sequence[Located]) -> Iterable[Value]:
        """Yield the types that aliases stand for."""
        for path, parsed in classes if self._depth < _DEPTH else ():
            spec, _ = self.nodes(path, parsed)
            if spec is not None and spec.type in NODES["aliases"] and (written := child(spec, "type")) is not None:
                yield Value(path, written)

    def _bounds(self, path: str, node: Node) -> Sequence[Node] | None:
        """Return the types that bound a type parameter; None if the type is none."""
        bound = self.local(path, node, text_of(node)) if node.type in _NAMES else None
        if bound is None or not re.search("type_parameter|template|generic_type", bound.node.type):
            return None
        listed = bound.node.parent
        around = listed.parent.named_children if listed is not None and listed.parent is not None else []
        clauses = (part for inner in around for part in (inner, *inner.named_children) if part.type in _CLAUSES)
        own = (clause for clause in clauses if text_of(clause.named_children[0]) == text_of(node))
        parts = (part for holder in (bound.node, *own) for part in holder.named_children if part.type in _BOUNDS)
        return [inner for part in parts for inner in part.named_children]

    def _embedded_as(self, value: Value | None, name: str) -> Value | None:
        """Return the type that a struct of Go embeds under a name: the field has the name of its type."""
        values = [value] if value is not None and self._names.rules(value.path).embeds else []
        for outer in values:
            for path, parsed in self._classes(outer):
                for parts in self.embedded(path, parsed):
                    types = self._names.types(path, parsed.lines, parts)[0]
                    inner = self.of_definition(*types[0]) if types else None
                    if inner is not None and parts[-1] == name:
                        return inner
                    values += [inner] if inner is not None and inner not in values else []
        return None

    def embedded(self, path: str, parsed: Definition) -> Iterable[Sequence[str]]:
        """The names of the types that a struct or an interface of Go embeds."""
        spec, _ = self.nodes(path, parsed)
        body = child(spec, "type")
        for node in body.named_children if body is not None else ():
            for field in node.named_children if node.type == "field_declaration_list" else (node,):
                if field.type == "type_elem" or (field.type == "field_declaration" and not child(field, "name")):
                    yield qualified_parts(bare_type(child(field, "type") or field.named_children[0]))

    def named(self, path: str, node: Node) -> tuple[bool, Members]:
        """Return (whether a name has a receiver, written or implied, the receiver's members of that name).

        There are no members if the type of the receiver is not known.
        """
        owner = self._owner(path, node)
        if owner is None or owner is _NO_OWNER:
            return owner is None, ()
        if owner.held or (text_of(child(node.parent, "operator")) == "." and self._is_pointer(owner)):
            return True, None
        name, arguments = text_of(node), called_with(node)
        matches = self._members(owner, name, {})
        extensions: list[Located] = []
        if arguments is not None and receiver_of(node) is not None:
            named = self._names.of_name(path, name)
            extensions = [one for one in named if "(this " in one[1].signature and may_take(one[1], arguments)]
        if not matches:
            head = plain_type(head_of(owner.node)) if owner.node is not None else ""
            of_type = [one for one in extensions if head and types_of(one[1])[0] == head]
            return True, of_type if len(of_type) == 1 else matches
        return True, [*self._names.fitting(matches, arguments), *extensions]  # by its types, an extension may fit

    def _owner(self, path: str, node: Node) -> Value | None:  # noqa: PLR0911 - one return a kind of owner
        """Return the value that a name is looked up in: its receiver, or the literal or pattern whose member it names.

        `_NO_OWNER` if it is looked up in nothing.
        """
        receiver, parent = receiver_of(node), node.parent
        if receiver is not None:
            whole = self._names.rules(path).qualifier(path, receiver)
            if whole != text_of(receiver):  # the path of a type or of a module
                types = self._names.types(path, self.at(path, node), whole.split("::"))[0]
                return self.of_definition(*types[0]) if types else _NO_OWNER
            # `Names` knows the bases of a class.
            return None if text_of(receiver) in ("super", "base") else self.of(path, receiver)
        holder = parent.parent if parent is not None else None
        if parent is None or holder is None:
            return _NO_OWNER
        if parent.type == "literal_element" and holder.type == "keyed_element" and parent == child(holder, "key"):
            owner = self._of_literal(path, holder.parent)
            return _NO_OWNER if owner is not None and self.step(owner, "item") is not None else owner
        if parent.type in ("field_initializer", "shorthand_field_initializer") and node == (
            child(parent, "field") or node
        ):
            literal = holder.parent
            if literal is not None and literal.type == "struct_expression":
                return self.typed(path, child(literal, "name"))
            return self.around(path, node)  # of C++, in the constructor of its class
        if parent.type == "field_designator":
            return self._designated(path, parent)
        if parent.type == "switch_label":  # of Java, where that of an enumeration is one of its constants
            return self._switched(path, parent)
        if parent.type == "subpattern" and node == parent.named_children[0]:  # of C#: `Cat { Age: 3 }`
            return self.typed(path, child(holder.parent, "type"))
        if parent.type == "field_pattern" and node == child(parent, "name"):
            return self.typed(path, child(holder, "type"))
        if parent.type == "assignment_expression" and holder.type == "initializer_expression":
            return self.of(path, holder.parent) if node == child(parent, "left") else _NO_OWNER
        return _NO_OWNER

    def _of_literal(self, path: str, body: Node | None) -> Value | None:
        """Return the value of a literal of Go; without a type it is an item of the literal around it."""
        literal = body.parent if body is not None else None
        if literal is None or literal.type == "composite_literal":
            return self.typed(path, child(literal, "type"))
        while literal is not None and literal.type != "literal_value":
            literal = literal.parent
        return self.step(self._of_literal(path, literal), "item")

    def exact(self, path: str, node: Node, matches: Sequence[Located]) -> Sequence[Located]:
        """Return the overload with the types of a call's arguments where overloads differ; all if none or several."""
        matches = self._of_arity(path, node, matches)
        called = [located for located in matches if located[1].kind in CALLED] if len(matches) > 1 else ()
        if not called or not self._names.rules(path).overloads:
            return matches
        types = [types_of(parsed) for _, parsed in called]
        given = [self._head(path, argument) for argument in arguments_to(node) or ()]
        differing = [index for index in range(len(given)) if len({listed[index : index + 1] for listed in types}) > 1]
        same = [
            located
            for located, listed in zip(called, types, strict=True)
            if all(given[index] and listed[index : index + 1] == (given[index],) for index in differing)
        ]
        return same if differing and len(same) == 1 else matches

    def _head(self, path: str, argument: Node) -> str:
        """Return the name of an argument's type; "" if it is not known."""
        if argument.type == "argument":  # of C#
            argument = argument.named_children[-1] if argument.named_children else argument
        if literal := _LITERALS.get(argument.type):
            return literal
        value = self.of(path, argument)
        node = bare_type(value.node) if value is not None and value.node is not None else None
        # In C a primitive type may be that of a pointer or of an array, and a type parameter is any type.
        if value is None or node is None or node.type in ("primitive_type", *NODES["collections"]):
            return ""
        if self._names.rules(value.path).namespaces and self._bounds(value.path, node) is not None:
            return ""
        return plain_type(head_of(node))

    def _switched(self, path: str, label: Node) -> Value | None:
        """Return the value that a label is compared with, if it is of a class, or not known."""
        switch: Node | None = label
        while switch is not None and child(switch, "condition") is None:
            switch = switch.parent
        value = self.of(path, child(switch, "condition"))
        return value if value is None or self._classes(value) else _NO_OWNER

    def inherited(self, path: str, node: Node) -> Sequence[Located]:
        """Return the members of a name in the bases of the classes without a name around it, the innermost first."""
        inner, around = node, node.parent
        while around is not None and around.type not in NODES["classes"]:
            if around.type in NODES["creations"] and inner.type.endswith("_body"):
                base = self.typed(path, child(around, "type"))
                if base is not None and (matches := self._members(base, text_of(node), {})):
                    return matches
            inner, around = around, around.parent
        return ()

    def _designated(self, path: str, designator: Node) -> Value | None:
        """The value of C that `.a = 1` initializes a member of; that of `.b` in `.a.b = 1` is not known."""
        before, pair = designator.prev_named_sibling, designator.parent
        holder = pair.parent.parent if pair is not None and pair.parent is not None else None
        if holder is None or (before is not None and before.type == "field_designator"):
            return None
        return self.typed(path, child(holder if holder.type != "init_declarator" else holder.parent, "type"))
