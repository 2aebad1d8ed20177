"""Type inference in Python: from constructors, annotations, returned values and the classes around a method.

Nothing is run. What does not follow from the source in a few steps has no type here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import TYPE_CHECKING

from repoeval_bench.core.grammars.grammar import words
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.own.references import python_nodes as nodes
from repoeval_bench.own.references.python_flow import reaching
from repoeval_bench.own.references.python_modules import Modules, Name, Outside, Package, Target
from repoeval_bench.own.references.python_scopes import statements_of
from repoeval_bench.own.references.tree_names import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.own.references.python_scopes import PythonBinding, Scope


_DEPTH = 12
"""The most steps from one expression to the next; what needs more is not known."""
_DISPLAYS = nodes.TUPLES | {"list", "set", "dictionary"}
_LITERALS = nodes.STRINGS | {"integer", "float", "true", "false", "ellipsis"}


@dataclass(frozen=True, slots=True)
class Class:
    """A class itself."""

    scope: Scope


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance of a class; `above`: as `super()` sees it, without the class's own names."""

    scope: Scope
    above: bool = False


@dataclass(frozen=True, slots=True)
class Routine:
    """A function or a bound method; `on` is the class that it was looked up in."""

    scope: Scope
    on: Scope | None = None


@dataclass(frozen=True, slots=True)
class Items:
    """Anything that contains or yields values of a type: a list, a dictionary (its values), a generator."""

    of: Type


Type = Class | Instance | Routine | Items | Package | Outside

WRAPPERS = frozenset(
    {"Optional", "Union", "Annotated", "ClassVar", "Final", "Required", "NotRequired", "ReadOnly", "Awaitable"}
)
HOLDERS = words("""
list List set Set frozenset FrozenSet tuple Tuple Sequence MutableSequence Iterable Iterator Collection Deque deque
dict Dict Mapping MutableMapping DefaultDict defaultdict OrderedDict Generator AsyncIterator AsyncIterable
AsyncGenerator Counter KeysView ValuesView ItemsView ContextManager AsyncContextManager AbstractContextManager
AbstractAsyncContextManager UserDict UserList Reversible
""")
SAME = frozenset(
    {"list", "sorted", "reversed", "set", "tuple", "iter", "frozenset", "filter", "copy", "deepcopy", "closing"}
)
ONE_OF = frozenset({"next", "min", "max", "choice"})
PROPERTIES = frozenset({"property", "cached_property", "lazy_property", "classproperty", "getter", "setter"})


class Types:
    """The types of expressions in the modules of one repository, cached; names bound in the target do not count."""

    def __init__(self, modules: Modules, target_span: tuple[str, LineSpan]) -> None:
        self._modules = modules
        self._target_span = target_span
        self._orders: dict[Scope, list[Scope | Outside]] = {}
        self._known: dict[tuple[Node, Scope], tuple[Type, ...]] = {}
        self._busy: set[object] = set()
        self._ways: dict[Node, Sequence[Node]] = {}
        self._reaching: dict[Node, list[list[PythonBinding] | None]] = {}

    def targets(self, node: Node, scope: Scope) -> tuple[Target, ...]:
        """Return what a name, an attribute or an imported name denotes; nothing if its object's type is not known."""
        if node.type == "identifier":
            return self._modules.lookup(text_of(node), scope)
        if (attribute := nodes.attribute_of(node)) is not None:
            named = text_of(attribute[1])
            apart = [[self.attribute(owner, named) for owner in owners] for owners in self._apart(attribute[0], scope)]
            defined = {frozenset(target for target in targets if isinstance(target, Name)) for targets in apart}
            if len(defined - {frozenset()}) > 1:  # each binding that may hold here leads to another definition
                return ()
            return tuple(dict.fromkeys(target for target in chain(*apart) if target is not None))
        return ()

    def _apart(self, node: Node, scope: Scope) -> list[tuple[Type, ...]]:
        """Return the types of an expression, apart for each binding that a name may have here."""
        targets = self.targets(node, scope) if node.type == "identifier" else ()
        groups = [(target, sites) for target in targets for sites in self._sites(target, node, scope)]
        if len(groups) < 2:
            return [self.infer(node, scope)]
        return [tuple(self.types_of(target, sites=sites)) for target, sites in groups]

    def _sites(self, target: Target, node: Node, scope: Scope) -> list[list[PythonBinding] | None]:
        """Return the sites of a target that may hold at a node, those of one statement together; None for all."""
        if not isinstance(target, Name) or target.scope.kind == "class":
            return [None]
        around = target.scope
        sites = [site for site in around.sites(target.name) if site.imported is None]
        if len(sites) < 2:
            return [None]
        if scope is not around and statements_of(scope) is not around:  # it runs at another time
            return [[*group] for _, group in groupby(sites, key=lambda site: site.lines)]
        if node not in self._reaching:
            self._reaching[node] = [*reaching(sites, around.node, node, self._ways)]
        return self._reaching[node]

    def infer(self, node: Node, scope: Scope) -> tuple[Type, ...]:
        """The types that an expression may have; none if nothing is known."""
        node = nodes.bare(node)
        key = (node, scope)
        if key not in self._known:
            if key in self._busy or len(self._busy) > _DEPTH:
                return ()
            self._busy.add(key)
            try:
                types = tuple(dict.fromkeys(self._infer(node, scope)))
            finally:
                self._busy.discard(key)
            if not (types or not self._busy):
                return ()  # it may have been cut short
            self._known[key] = types
        return self._known[key]

    def _infer(self, node: Node, scope: Scope) -> Iterator[Type]:  # noqa: C901, PLR0912 - one branch a kind of expression
        kind, attribute = node.type, nodes.attribute_of(node)
        if node in scope.module.unknown:
            yield Outside()
        elif kind == "identifier":
            for target in self.targets(node, scope):
                for sites in self._sites(target, node, scope):
                    yield from self.types_of(target, sites=sites)
        elif attribute is not None:
            owners = self.infer(attribute[0], scope)
            if text_of(attribute[1]) == "__class__":
                yield from _classes_of(owners)
            on = next((type_.scope for type_ in owners if isinstance(type_, Instance | Class)), None)
            for target in self.targets(node, scope) if owners else ():
                for type_ in self.types_of(target, on):
                    # A descriptor decides by itself what an attribute that has it means.
                    if not isinstance(type_, Instance) or not isinstance(self.attribute(type_, "__get__"), Name):
                        yield type_
        elif kind == "call":
            yield from self._call(node, scope)
        elif kind in nodes.SUBSCRIPTS:
            yield from self._of_subscript(*nodes.subscripted(node), scope)
        elif kind == "named_expression":
            yield from self.infer(nodes.part_of(node, "value") or node, scope)
        elif kind in ("await", "list_splat", "as_pattern"):
            for part in nodes.inside(node)[:1]:
                yield from self.infer(part, scope)
        elif kind == "conditional_expression":
            for part in nodes.inside(node)[::2]:
                yield from self.infer(part, scope)
        elif kind == "boolean_operator":
            for value in nodes.operands(node, "or" if any(sign.type == "or" for sign in node.children) else "and"):
                yield from self.infer(value, scope)
        elif kind in nodes.UNIONS:
            for part in nodes.inside(node)[:1]:
                yield from (operand for operand in self.infer(part, scope) if isinstance(operand, Instance | Outside))
        elif kind in nodes.COMPREHENSIONS or kind in _DISPLAYS:
            yield from self._of_display(node, scope)
        elif kind in _LITERALS:
            yield Outside()

    def _of_subscript(self, value: Node, parts: list[Node], scope: Scope) -> Iterator[Type]:
        for type_ in self.infer(value, scope):
            if isinstance(type_, Items):
                yield Items(type_.of) if [part.type for part in parts] == ["slice"] else type_.of
            elif isinstance(type_, Class | Outside):
                yield type_

    def _of_display(self, node: Node, scope: Scope) -> Iterator[Type]:
        """The types of a list, a dictionary (those of its values) and the like, written out or as a comprehension."""
        if node.type in nodes.COMPREHENSIONS:
            parts, scope = nodes.inside(node)[:1], scope.module.scopes.get(node, scope)
        else:
            parts = nodes.inside(node)[:3]
        for part in parts:
            value = (nodes.part_of(part, "value") or part) if part.type == "pair" else part
            yield from map(Items, self.infer(value, scope))
        yield Outside()

    def types_of(
        self, target: Target, on: Scope | None = None, sites: Sequence[PythonBinding] | None = None
    ) -> Iterator[Type]:
        """The types of a name, over these sites, else over all of it."""
        if isinstance(target, Package | Outside):
            yield target
            return
        busy = (target, *sites) if sites else target
        if busy in self._busy:
            return
        self._busy.add(busy)
        try:
            scope, name = target.scope, target.name
            sites = sites or [site for site in scope.sites(name) if site.imported is None]
            if scope.kind == "class":
                yield from self._of_member(sites, scope, name, on)
            else:
                yield from chain.from_iterable(self._of_site(site_, scope, name, on) for site_ in sites)
        finally:
            self._busy.discard(busy)

    def _of_member(self, sites: Iterable[PythonBinding], scope: Scope, name: str, on: Scope | None) -> Iterator[Type]:
        """The types of an attribute: as it is declared, else as it is assigned, else as a base has it.

        A declaration of unknown type does not count.
        """
        by_site = {site: tuple(self._of_site(site, scope, name, on)) for site in sites}
        declared = [type_ for site, types in by_site.items() if site.role == "type" for type_ in types]
        if any(not isinstance(declaration, Outside) for declaration in declared):
            yield from declared
        elif any(by_site.values()):
            yield from chain.from_iterable(by_site.values())
        else:
            for base in self.bases(scope)[1:]:
                if not isinstance(base, Outside) and (name in base.names or name in base.members):
                    yield from self.types_of(Name(base, name), on)
                    return

    def _of_site(self, site: PythonBinding, scope: Scope, name: str, on: Scope | None) -> Iterator[Type]:
        if site.opens is not None:
            yield from self._of_definition(site.opens, scope, on)
        elif site.source is None:
            around = scope.parent
            if around is not None and around.kind == "class" and scope.own == name:
                of_class = "classmethod" in scope.decorators or scope.name.endswith((".__new__", ".__init_subclass__"))
                yield Class(around) if of_class else Instance(around)
        elif site.role == "many":
            yield from map(Items, self.annotated(site.source, site.scope))
            yield Outside()
        elif site.role in ("type", "narrowed"):
            yield from self.annotated(site.source, site.scope)
        elif site.role == "value":
            yield from self.infer(site.source, site.scope)
        elif site.role == "item":
            yield from self._items_of(self.infer(site.source, site.scope))
        elif site.role == "context":
            for context in self.infer(site.source, site.scope):
                entered = self._returned(context, "__enter__", "__aenter__") if isinstance(context, Instance) else ()
                yield from entered or ((context.of,) if isinstance(context, Items) else (context,))

    def _of_definition(self, opened: Scope, scope: Scope, on: Scope | None) -> Iterator[Type]:
        if opened.kind == "class":
            yield Class(opened)
        elif scope.kind == "class" and opened.decorators & PROPERTIES:
            yield from self.returns(opened, on or scope)
        else:
            yield Routine(opened, on or (scope if scope.kind == "class" else None))

    def _items_of(self, types: Iterable[Type]) -> Iterator[Type]:
        return (type_.of for type_ in types if isinstance(type_, Items))

    def _returned(self, value: Instance, *methods: str) -> Sequence[Type]:
        """Return the types of the first method's result that is known: an object may have an `async` form too."""
        for method in methods:
            target = self.attribute(value, method)
            called = self.types_of(target, value.scope) if isinstance(target, Name) else ()
            scopes = (type_.scope for type_ in called if isinstance(type_, Routine))
            if types := [type_ for scope in scopes for type_ in self.returns(scope, value.scope)]:
                return types
        return ()

    def returns(self, scope: Scope, on: Scope | None) -> Iterator[Type]:
        """Yield the types of a function's result: by its annotation, else by what it returns or yields."""
        if scope.node.type != "function_definition" or (scope, "returns") in self._busy:
            return
        self._busy.add((scope, "returns"))
        try:
            if (declared := nodes.part_of(scope.node, "return_type")) is not None:
                types = tuple(self.annotated(declared, scope.parent or scope, on))
                yield from types
                if types:
                    return
            for part in results(scope):
                value = next(map(nodes.bare, nodes.inside(part)), None)
                if value is None or any(word.type == "from" for word in part.children):
                    continue
                if part.type == "yield":
                    yield from map(Items, self.infer(value, scope))
                elif on is not None and (own := _of_own(value, scope)) is not None:
                    is_class = "classmethod" in scope.decorators
                    yield Class(on) if is_class and own.type == "identifier" else Instance(on)
                else:
                    yield from self.infer(value, scope)
        finally:
            self._busy.discard((scope, "returns"))

    def _call(self, node: Node, scope: Scope) -> Iterator[Type]:
        function = nodes.part_of(node, "function")
        if function is None:
            return
        for callee in self.infer(function, scope):
            match callee:
                case Class():
                    yield Instance(callee.scope)
                case Routine():
                    yield from self.returns(callee.scope, callee.on)
                case Instance():
                    yield from self._returned(callee, "__call__")
                case Outside():
                    yield from self._call_outside(node, function, scope) or (callee,)

    def _call_outside(self, call: Node, function: Node, scope: Scope) -> tuple[Type, ...]:
        """Return the types of the result of a well-known function; nothing for others."""
        name = nodes.last_word(function)
        if name == "super":
            around = class_around(scope)
            return (Instance(around, above=True),) if around else ()
        arguments = [argument for argument in nodes.arguments_of(call)[0] if argument.type != "list_splat"]
        if not arguments or name not in SAME | ONE_OF | {"type"}:
            return ()
        types = self.infer(arguments[-1 if name == "filter" else 0], scope)
        if name in ONE_OF:
            return tuple(self._items_of(types))
        if name == "type":
            return tuple(_classes_of(types))
        return tuple(type_ for type_ in types if not isinstance(type_, Outside))

    def annotated(self, node: Node, scope: Scope, on: Scope | None = None) -> Iterator[Type]:
        """The types of values that an annotation allows; `on` is what `Self` means."""
        node = nodes.bare(node)
        if (text := nodes.string_of(node)) is not None:
            if (inner := nodes.expression_of(text.strip())) is not None:
                yield from self.annotated(inner, scope, on)
        elif node.type in nodes.UNIONS and len(parts := [*nodes.operands(node, "|")]) > 1:
            for operand in parts:
                yield from self.annotated(operand, scope, on)
        elif node.type in nodes.TUPLES:
            for element in nodes.inside(node):
                yield from self.annotated(element, scope, on)
        elif node.type in nodes.SUBSCRIPTS:
            yield from self._subscripted(node, scope, on)
        elif node not in scope.module.unknown:
            if nodes.last_word(node) == "Self" and (around := on or class_around(scope)):
                yield Instance(around)
                return
            for target in self.targets(node, scope):
                yield from self._named_type(target)

    def _subscripted(self, node: Node, scope: Scope, on: Scope | None) -> Iterator[Type]:
        value, parts = nodes.subscripted(node)
        word = nodes.last_word(value)
        if word in WRAPPERS:
            for part in parts[:1] if word == "Annotated" else parts:
                yield from self.annotated(part, scope, on)
        elif word in HOLDERS:
            # The items of a generator are what it yields, those of a dictionary its values.
            members = parts if word.lower() == "tuple" else parts[:1] if word.endswith("Generator") else parts[-1:]
            for part in members:
                yield from map(Items, self.annotated(part, scope, on))
            yield Outside()
        elif word in ("type", "Type"):
            for part in parts:
                yield from _classes_of(self.annotated(part, scope, on))
        else:
            yield from self.annotated(value, scope, on)

    def _named_type(self, target: Target) -> Iterator[Type]:
        for type_ in self.types_of(target):
            if isinstance(type_, Class):
                yield Instance(type_.scope)
            elif isinstance(type_, Outside):
                yield type_
        if isinstance(target, Name) and target not in self._busy:
            # An alias of a type, or a type variable with its bound.
            self._busy.add(target)
            for site in target.scope.names.get(target.name, ()):
                if site.source is None:
                    continue
                if site.role == "value" and site.source.type in (*nodes.SUBSCRIPTS, *nodes.UNIONS):
                    yield from self.annotated(site.source, site.scope)
                elif nodes.last_word(nodes.part_of(site.source, "function")) == "TypeVar":
                    bound = nodes.arguments_of(site.source)[1].get("bound")
                    yield from self.annotated(bound, site.scope) if bound is not None else ()
            self._busy.discard(target)

    def attribute(self, value: Type, name: str) -> Target | None:
        """Return what an attribute of a value denotes; None if its type does not tell."""
        match value:
            case Outside():
                return value
            case Package():
                return self._modules.attribute(value, name) or Outside()
            case Items() | Routine():
                return Outside()
            case Class() | Instance():
                return self._of_class(value, name)

    def _of_class(self, value: Class | Instance, name: str) -> Target | None:
        order = self.bases(value.scope)
        in_target: Name | None = None
        for cls in order[1:] if isinstance(value, Instance) and value.above else order:
            if not isinstance(cls, Outside) and (sites := cls.sites(name)):
                path, lines = self._target_span
                if cls.module.file.path != path or any(site.line not in lines for site in sites):
                    return Name(cls, name)
                # It is bound in the target alone: a base may define it; if none does, this still tells its type.
                in_target = in_target or Name(cls, name)
        return in_target or Outside()

    def bases(self, scope: Scope) -> list[Scope | Outside]:
        """Return a class and its bases, in the order in which attributes are looked up."""
        if scope not in self._orders:
            self._orders[scope] = [scope]  # what a class that inherits from itself sees of its bases
            self._orders[scope] = self._order(scope)
        return self._orders[scope]

    def _order(self, scope: Scope) -> list[Scope | Outside]:
        """Order the bases depth first, a repeated base at its last position: Python's order for usual hierarchies."""
        of_bases = ([direct] if isinstance(direct, Outside) else self.bases(direct) for direct in self._above(scope))
        above = [*chain.from_iterable(of_bases)]
        return [scope, *reversed(dict.fromkeys(base for base in reversed(above) if base is not scope))]

    def _above(self, scope: Scope) -> list[Scope | Outside]:
        """Return the direct bases of a class, in their order."""
        above: list[Scope | Outside] = []
        for base in nodes.given(scope.node.child_by_field_name("superclasses"))[0] if scope.parent is not None else ():
            for type_ in self.infer(
                nodes.subscripted(base)[0] if base.type in nodes.SUBSCRIPTS else base, scope.parent or scope
            ):
                if isinstance(type_, Class):
                    above.append(type_.scope)
                elif isinstance(type_, Outside):
                    above.append(type_)
        return above


def _classes_of(types: Iterable[Type]) -> Iterator[Class]:
    return (Class(type_.scope) for type_ in types if isinstance(type_, Instance))


def results(scope: Scope) -> Iterator[Node]:
    """Yield what a function returns or yields, without functions and classes inside it."""
    stack = [*nodes.inside(scope.node.child_by_field_name("body"))][::-1]
    while stack:
        node = stack.pop()
        if scope.module.marked(node) and node.type not in nodes.DEFINITIONS and node.type != "lambda":
            if node.type in ("return_statement", "yield"):
                yield node
            stack += nodes.inside(node)[::-1]


def _of_own(value: Node, scope: Scope) -> Node | None:
    """Return what a returned value is if it is `self`, `cls` or `cls()`, also by a local name; None of another."""
    for _ in range(_DEPTH):
        if value.type == "call" and "classmethod" in scope.decorators and nodes.called_name(value) == scope.own:
            return value
        if value.type != "identifier" or text_of(value) == scope.own:
            break
        sites = scope.names.get(text_of(value), ())
        if len(sites) != 1 or sites[0].role != "value" or sites[0].source is None:
            break
        value = sites[0].source
    return value if value.type == "identifier" and text_of(value) == scope.own else None


def class_around(scope: Scope) -> Scope | None:
    """Return the scope itself if it is a class, else the innermost class around it; None outside of classes."""
    while scope.kind != "class":
        if scope.parent is None:
            return None
        scope = scope.parent
    return scope
