"""A Python file as scopes: the bindings of each name, and the definitions among them, by the syntax tree alone."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.syntax import Parsed, parse
from repoeval_bench.core.uses import LIMIT, CodeDefinition, Kind
from repoeval_bench.own.references import python_nodes as nodes
from repoeval_bench.own.references.tree_names import text_of

if TYPE_CHECKING:
    from tree_sitter import Node


Role = Literal["value", "item", "context", "type", "many", "narrowed", "unknown"]


@dataclass(frozen=True, slots=True)
class Imported:
    """`import module` (name None) or `from module import name`; `level` counts the dots of a relative one."""

    module: str
    name: str | None
    level: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PythonBinding:
    """One site that binds a name: a def or class, a parameter, or a target with what it is assigned.

    `role`: the name is the value of `source`, an item of it, or what `with source` returns; or it has the type that
    `source` names, declared or tested, or items of it (`many`). `source` is evaluated in `scope`. `lines` are those of
    the statement, `line` (0-based) that of the name. `opens` is the scope of a def or class. `local` sites define
    nothing for other code: targets of comprehensions, caught exceptions, parameters of a lambda, tests.
    """

    role: Role
    source: Node | None
    scope: Scope
    line: int
    lines: LineSpan
    opens: Scope | None = None
    imported: Imported | None = None
    local: bool = False


@dataclass(eq=False, kw_only=True)
class Scope:
    """A module, class or function, also a lambda or a comprehension: its names with their sites in the file's order.

    `members` are the attributes of a class's instances: sites of `self.x` in its methods. `declared_in` maps each name
    that is declared `global` or `nonlocal` to its scope. `decorators` are the last words of those of a def or class,
    such as `property`; `outer` is the node with them. `own` is what a method calls its instance or class.
    """

    kind: Literal["module", "class", "function"]
    name: str
    parent: Scope | None
    node: Node
    module: Module
    names: dict[str, list[PythonBinding]] = field(default_factory=lambda: defaultdict(list))
    members: dict[str, list[tuple[str, PythonBinding]]] = field(default_factory=lambda: defaultdict(list))
    stars: list[Imported] = field(default_factory=list)
    declared_in: dict[str, Scope] = field(default_factory=dict)
    outer: Node | None = None
    decorators: frozenset[str] = frozenset()
    own: str | None = None

    @property
    def prefix(self) -> str:
        """The qualifier of names in this scope, with a dot at its end."""
        return f"{self.name}." if self.name else ""

    def sites(self, name: str) -> list[PythonBinding]:
        """Return the sites of a name, and of the attribute of that name."""
        return [*self.names.get(name, ()), *(site for _, site in self.members.get(name, ()))]

    @property
    def header(self) -> LineSpan:
        """Decorators, header and docstring of a def or class."""
        span = self.module.parsed.span
        start = span(self.outer or self.node).start
        first = next(iter(nodes.inside(self.node.child_by_field_name("body"))), self.node)
        if first.type == "expression_statement" and any(
            nodes.string_of(part) is not None for part in nodes.inside(first)[:1]
        ):
            return LineSpan(start, span(first).end)
        colons = [part for part in self.node.children if part.type == ":"]
        return LineSpan(start, span(colons[-1] if colons else self.node).start + 1)


@dataclass(eq=False, kw_only=True)
class Module:
    """The scopes of a file; `scopes` is a node that opens a scope -> that scope.

    `marks` are the first bytes of the nodes in expressions that bind names, and of what functions return. `unknown` are
    the type parameters in what they are for: they are no names of the scopes around.
    """

    file: SourceFile
    parsed: Parsed
    marks: list[int]
    scopes: dict[Node, Scope] = field(default_factory=dict)
    unknown: set[Node] = field(default_factory=set)

    @property
    def top(self) -> Scope:
        """The scope of the module itself."""
        return self.scopes[self.parsed.root]

    def marked(self, node: Node) -> bool:
        """Return whether one of the `marks` is in a node."""
        index = bisect_left(self.marks, node.start_byte)
        return index < len(self.marks) and self.marks[index] < node.end_byte

    def definition(self, scope: Scope, name: str, target_span: LineSpan | None = None) -> CodeDefinition | None:
        """The definition of a name bound in a scope, or of an attribute of a class; None for a local or an import.

        Sites in the target do not count.
        """
        site = self.site(scope, name, target_span)
        if site is None:
            return None
        kind: Kind
        if site.opens is None:
            kind = "attribute" if scope.kind == "class" else "variable"
        elif site.opens.kind == "class":
            kind = "class"
        else:
            kind = "method" if scope.kind == "class" else "function"
        lines = site.opens.header if site.opens else site.lines
        return CodeDefinition(self.file.name, self.cut(lines), scope.prefix + name, kind)

    def defined_at(self, line: int, name: str, target_span: LineSpan | None) -> CodeDefinition | None:
        """The definition that has a site of this name on a line (0-based); sites in the target do not count."""
        bound = (
            self.definition(scope, name, target_span)
            for scope in self.scopes.values()
            if any(site.line == line and not (site.imported or site.local) for site in scope.sites(name))
        )
        return next(filter(None, bound), None)

    def around(self, lines: LineSpan) -> Iterator[CodeDefinition]:
        """The functions and methods whose def is above these lines, or on the first, and whose end is below that."""
        for node, scope in self.scopes.items():
            if node.type == "function_definition" and scope.parent is not None:
                span = self.parsed.span(node)
                name = scope.name.rpartition(".")[2]
                if lines.start in span and lines.start < self.parsed.span(nodes.end_of(node)).end:
                    yield from filter(None, [self.definition(scope.parent, name)])

    def site(self, scope: Scope, name: str, target_span: LineSpan | None = None) -> PythonBinding | None:
        """The site that defines a name; None if the name is not a definition.

        Of several defs, it is the first that is not an overload. An attribute's is the first in the body of its class,
        else in `__init__`, else in any method.
        """

        def counts(site: PythonBinding) -> bool:
            return not (site.imported or site.local) and (target_span is None or site.line not in target_span)

        sites = [site for site in scope.names.get(name, ()) if counts(site)]
        if scope.kind == "function":
            sites = [site for site in sites if site.opens]
        defs = [site for site in sites if site.opens and site.opens.kind == "function"]
        if defs and len(defs) == len(sites):
            return next((site for site in defs if site.opens and "overload" not in site.opens.decorators), defs[-1])
        if sites:
            return sites[0]
        members = [(method, member) for method, member in scope.members.get(name, ()) if counts(member)]
        return next((member for method, member in members if method == "__init__"), members[0][1] if members else None)

    def cut(self, lines: LineSpan) -> LineSpan:
        """The lines up to the `LIMIT`th that is not blank."""
        filled = [line for line in lines if self.file.line_text(LineSpan(line, line + 1)).strip()]
        return LineSpan(lines.start, filled[:LIMIT][-1] + 1) if filled else lines


def parts_of(node: Node, scope: Scope) -> Iterator[tuple[Node, Scope]]:
    """The nodes in a node, each with the scope that it is evaluated in; the node itself is evaluated in `scope`.

    Defaults, annotations, bases and the first iterable of a comprehension are evaluated outside the scope that the node
    opens.
    """
    parts = nodes.evaluated(node)
    if node.type not in nodes.OPENING:
        yield from ((part, scope) for part in parts)
        return
    inner = scope.module.scopes.get(node, scope)
    if node.type not in nodes.COMPREHENSIONS:
        body = node.child_by_field_name("body")
        yield from ((part, inner if part == body else scope) for part in parts)
        return
    first = True
    for part in parts:
        if part.type == "for_in_clause":
            yield from ((iterable, scope if first else inner) for iterable in part.children_by_field_name("right"))
            yield from ((target, inner) for target in part.children_by_field_name("left"))
            first = False
        else:
            yield part, inner


_Block = tuple["Node", Scope]
"""Statements and the scope that they are in."""

OF_EVERY_OBJECT = frozenset({"__class__", "__dict__"})
"""Attributes that an assignment changes and does not define: every object has them."""
_MARKS = """[
    (named_expression) (list_comprehension) (set_comprehension) (dictionary_comprehension) (generator_expression)
    (lambda) (return_statement) (yield) (call function: (identifier) @tested (#eq? @tested "isinstance"))
] @mark"""
_SPLATS = frozenset({"list_splat", "list_splat_pattern", "dictionary_splat_pattern"})


def read_module(file: SourceFile) -> Module | None:
    """Return a file's scopes with their bindings; None if its code is nested too deeply."""
    try:
        parsed = parse(file, nodes.GRAMMAR)
        marks = sorted(match["mark"][0].start_byte for match in parsed.matches(_MARKS))
        module = Module(file=file, parsed=parsed, marks=marks)
        module.scopes[parsed.root] = Scope(kind="module", name="", parent=None, node=parsed.root, module=module)
        Binder(module).bind_all()
    except RecursionError:
        return None
    return module


class Binder:
    """Fills the scopes of one module."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._statement = module.parsed.root, module.parsed.root
        """The nodes with which the statement, or its header, begins and ends."""

    def bind_all(self) -> None:
        """Add the bindings of all statements; by a stack, as blocks are nested without limit."""
        blocks = [self._in_block(self._module.parsed.root, self._module.top)]
        while blocks:
            inner = next(blocks[-1], None)
            if inner is None:
                blocks.pop()
            else:
                blocks.append(self._in_block(*inner))

    def _in_block(self, block: Node, scope: Scope) -> Iterator[_Block]:
        for statement in nodes.inside(block):
            yield from self._bind(statement, scope)

    def _bind(self, node: Node, scope: Scope) -> Iterator[_Block]:  # noqa: C901, PLR0912 - one branch a kind of statement
        self._statement = node, node
        kind = node.type
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if kind == "decorated_definition" or kind in nodes.DEFINITIONS:
            yield from self._open(node, scope)
        elif kind in ("import_statement", "import_from_statement", "future_import_statement"):
            self._import(node, scope)
        elif kind == "assignment" and left is not None:
            self._assign(node, left, right, scope)
        elif kind == "type_alias_statement" and left is not None and right is not None:
            if nodes.bare(left).type == "generic_type":
                self._forget(
                    [part for listed in nodes.inside(nodes.bare(left))[1:] for part in nodes.inside(listed)], right
                )
            if (name := nodes.alias_name(node)).type == "identifier":  # else it is `type(x).y = z`
                self._target(name, "value", right, scope)
        elif kind in ("global_statement", "nonlocal_statement"):
            for word in map(text_of, nodes.inside(node)):
                is_global = kind == "global_statement"
                scope.declared_in[word] = self._module.top if is_global else _function_around(scope, word)
        else:
            if kind == "for_statement" and left is not None and right is not None:
                self._statement = node, right
                self._target(left, "item", right, scope)
            elif kind == "with_statement":
                self._with(node, scope)
            elif kind in ("except_clause", "except_group_clause"):
                types, caught_as = nodes.caught(node)
                if caught_as is not None:
                    self._name(text_of(caught_as), "type", types[0], scope, node, local=True)
            elif kind == "case_clause":
                self._patterns(node, scope)
            for part in nodes.inside(node):
                if part.type == "block":
                    yield part, scope
                elif part.type == "assignment" or part.type.endswith("_clause"):
                    yield from self._bind(part, scope) if part.type != "with_clause" else ()
                elif kind not in ("for_statement", "except_clause", "except_group_clause") or part == right:
                    self._expression(part, scope)

    def _assign(self, node: Node, left: Node, right: Node | None, scope: Scope) -> None:
        targets = [left]
        while right is not None and right.type == "assignment":  # a = b = c
            targets += [*filter(None, [right.child_by_field_name("left")])]
            right = right.child_by_field_name("right")
        if (typed := node.child_by_field_name("type")) is not None:
            self._target(left, "type", typed, scope)
        if right is not None:
            for target in targets:
                self._target(target, "value", right, scope)
            self._expression(right, scope)

    def _with(self, node: Node, scope: Scope) -> None:
        for item in (item for clause in nodes.inside(node)[:1] for item in nodes.inside(clause)):
            context = nodes.part_of(item, "value") or nodes.bare(item)
            # The grammar reads `with a if b else (c as d)`.
            named = nodes.bare(nodes.inside(context)[-1]) if context.type == "conditional_expression" else context
            alias = nodes.part_of(named, "alias") if named.type == "as_pattern" else None
            if alias is not None and named == context:
                context = nodes.bare(nodes.inside(context)[0])
            self._statement = node, context
            self._expression(context, scope)
            if alias is not None:
                self._target(alias, "context", context, scope)

    def _patterns(self, clause: Node, scope: Scope) -> None:
        """Bind the names in the patterns of a `case`: a name with a dot is a value."""
        stack = [part for part in nodes.inside(clause) if part.type != "block"]
        while stack:
            node = stack.pop()
            if node.type == "splat_pattern":
                captured = nodes.inside(node)
            elif node.type == "dotted_name":
                alone = len(nodes.inside(node)) == 1 and (node.parent is None or node.parent.type != "class_pattern")
                captured = nodes.inside(node) if alone else []
            else:
                parts = nodes.inside(node)
                captured = parts[1:] if node.type == "as_pattern" else []
                stack += reversed(parts[1:] if node.type == "keyword_pattern" else parts)
            for name in captured:
                self._name(text_of(name), "unknown", None, scope, name, local=True)

    def _open(self, node: Node, scope: Scope) -> Iterator[_Block]:
        definition = node.child_by_field_name("definition") if node.type == "decorated_definition" else node
        if definition is None:
            return
        decorators = [nodes.bare(part) for part in nodes.inside(node) if part.type == "decorator"]
        is_class, name = definition.type == "class_definition", text_of(definition.child_by_field_name("name"))
        parameters = definition.child_by_field_name("parameters")
        inner = self._inside(definition, scope, scope.prefix + name, "class" if is_class else "function")
        inner.outer = node
        inner.decorators = frozenset(
            nodes.last_word(nodes.part_of(part, "function") if part.type == "call" else part) for part in decorators
        )
        if "staticmethod" not in inner.decorators:
            inner.own = _first_parameter(parameters)
        types = [
            part for listed in definition.children_by_field_name("type_parameters") for part in nodes.inside(listed)
        ]
        if types:
            self._forget(types, definition)
        self._name(name, "value", None, scope, definition, opens=inner)
        body = definition.child_by_field_name("body")
        for part in (*nodes.evaluated(definition), *decorators):
            if part != body:
                self._expression(part, scope)
        self._parameters(parameters, inner)
        if body is not None:
            yield body, inner

    def _forget(self, types: list[Node], holder: Node) -> None:
        """Note the uses of type parameters in what they are for."""
        names = set()
        for typed in types:
            while nodes.inside(typed):
                typed = nodes.inside(typed)[0]  # noqa: PLW2901 - with a bound it is the first name
            names.add(typed.text)
        stack = [holder]
        while stack:
            node = stack.pop()
            if node.type == "identifier" and node.text in names:
                self._module.unknown.add(node)
            stack += nodes.inside(node)

    def _inside(self, node: Node, scope: Scope, name: str, kind: Literal["class", "function"] = "function") -> Scope:
        inner = Scope(kind=kind, name=name, parent=scope, node=node, module=self._module)
        self._module.scopes[node] = inner
        return inner

    def _parameters(self, parameters: Node | None, inner: Scope) -> None:
        around = inner.parent or inner
        for parameter in nodes.inside(parameters):
            typed, default = parameter.child_by_field_name("type"), parameter.child_by_field_name("value")
            written = _written(parameter)
            many = written.type in _SPLATS  # the annotation is the type of one argument
            for name in _identifiers(written):
                text = text_of(name)
                self._name(text, "unknown", None, inner, name)
                if typed is not None:
                    self._name(text, "many" if many else "type", typed, inner, name, read_in=around)
                if default is not None:
                    self._name(text, "value", default, inner, name, read_in=around)

    def _import(self, node: Node, scope: Scope) -> None:
        origin = node.child_by_field_name("module_name")
        module = "".join(text_of(origin).split()) if origin is not None else "__future__"
        level = len(module) - len(module.lstrip("."))
        names = node.children_by_field_name("name")
        if node.type == "import_from_statement" and not names:
            scope.stars.append(Imported(module[level:], "*", level))
        for alias in names:
            dotted = "".join(text_of(alias.child_by_field_name("name") or alias).split())
            name = text_of(alias.child_by_field_name("alias"))
            if node.type != "import_statement":
                imported = Imported(module[level:], dotted, level)
            else:
                imported = Imported(dotted if name else dotted.partition(".")[0], None, 0)
            name = name or (dotted if imported.name else imported.module)
            self._name(name, "unknown", None, scope, node, imported=imported)

    def _target(self, target: Node, role: Role, source: Node, scope: Scope, **facts: Any) -> None:
        target = nodes.bare(target)
        if target.type == "identifier":
            self._name(text_of(target), role, source, scope, target, **facts)
        elif target.type in nodes.LISTS:
            elements = nodes.inside(target)
            for index, element in enumerate(elements):
                part = _part(nodes.bare(source), role, index, len(elements))
                inner = next(iter(nodes.inside(element)), element) if element.type in _SPLATS else element
                known = role if part else "unknown"
                self._target(inner, known, part or source, scope, **facts)
        elif (attribute := nodes.attribute_of(target)) and attribute[0].type == "identifier":
            name = text_of(attribute[1])
            owner = self._owner(text_of(attribute[0]), scope) if name not in OF_EVERY_OBJECT else None
            if owner is not None:
                # The line of an attribute's name may be below its object's.
                owner.members[name].append(
                    (scope.name.rpartition(".")[2], self._site(role, source, scope, attribute[1]))
                )

    def _owner(self, name: str, scope: Scope) -> Scope | None:
        """The class whose instance a name is: the name is a method's first parameter, also in functions inside it."""
        while scope.kind == "function":
            around = scope.parent
            if around is not None and around.kind == "class" and scope.own == name:
                return around
            if name in scope.names or around is None:
                return None
            scope = around
        return None

    def _expression(self, node: Node, scope: Scope) -> None:
        """Bind the names of walrus and comprehension targets, of lambdas' parameters, and of isinstance tests."""
        stack: list[tuple[Node, Scope]] = [(node, scope)]
        while stack:
            part, within = stack.pop()
            if not self._module.marked(part):
                continue
            if part.type == "named_expression":
                name, value = nodes.part_of(part, "name"), nodes.part_of(part, "value")
                if name is not None and value is not None:
                    self._target(name, "value", value, statements_of(within), read_in=within)
            elif part.type in nodes.COMPREHENSIONS:
                inner = self._inside(part, within, within.name)
                for index, clause in enumerate(
                    clause for clause in nodes.inside(part) if clause.type == "for_in_clause"
                ):
                    left, right = clause.child_by_field_name("left"), clause.child_by_field_name("right")
                    if left is not None and right is not None:
                        self._target(left, "item", right, inner, local=True, read_in=inner if index else within)
            elif part.type == "lambda":
                self._parameters(part.child_by_field_name("parameters"), self._inside(part, within, within.name))
            elif nodes.called_name(part) == "isinstance":
                tested, _ = nodes.arguments_of(part)
                if len(tested) == 2 and (holding := _holding(text_of(tested[0]), within)):
                    self._name(text_of(tested[0]), "narrowed", tested[1], holding, part, local=True, read_in=within)
            stack += [*parts_of(part, within)][::-1]

    def _name(self, name: str, role: Role, source: Node | None, scope: Scope, node: Node, **facts: Any) -> None:
        """Add a site of a name; it is evaluated in `scope`, or in another one by `read_in`."""
        site = self._site(role, source, facts.pop("read_in", scope), node, **facts)
        scope.declared_in.get(name, scope).names[name].append(site)

    def _site(self, role: Role, source: Node | None, scope: Scope, node: Node, **facts: Any) -> PythonBinding:
        """Return a site at a node, with the other fields that are given."""
        span = self._module.parsed.span
        first, last = self._statement
        lines = LineSpan(span(first).start, span(last).end)
        source = nodes.bare(source) if source is not None else None
        return PythonBinding(role=role, source=source, scope=scope, line=span(node).start, lines=lines, **facts)


def _identifiers(node: Node) -> list[Node]:
    """Return the names that a parameter binds; in Python 2 it may be a tuple of them."""
    if node.type == "identifier":
        return [node]
    return [name for part in nodes.inside(node) for name in _identifiers(part)]


def _first_parameter(parameters: Node | None) -> str | None:
    """Return the first parameter, if it is given by its place."""
    parts = parameters.named_children if parameters is not None else []
    first = next((_written(part) for part in parts if part.type != "comment"), None)
    return text_of(first) if first is not None and first.type == "identifier" else None


def _written(parameter: Node) -> Node:
    """Return what a parameter binds, without its type and its default."""
    if parameter.type not in ("default_parameter", "typed_parameter", "typed_default_parameter"):
        return parameter
    return parameter.child_by_field_name("name") or next(iter(nodes.inside(parameter)), parameter)


def _function_around(scope: Scope, name: str) -> Scope:
    """The function whose name `nonlocal` means: the nearest around that binds it so far, else the nearest."""
    around: list[Scope] = []
    while scope.parent is not None:
        scope = scope.parent
        around += [scope] if scope.kind == "function" else []
    return next((outer for outer in around if name in outer.names), (around or [scope])[0])


def statements_of(scope: Scope) -> Scope:
    """The scope of the statement that a comprehension is in; a lambda has its own."""
    while scope.node.type in nodes.COMPREHENSIONS and scope.parent is not None:
        scope = scope.parent
    return scope


def _holding(name: str, scope: Scope) -> Scope | None:
    """The scope that binds a name, up to the function, class or module around comprehensions and lambdas."""
    while name not in scope.names and (scope.node.type in nodes.COMPREHENSIONS or scope.node.type == "lambda"):
        if scope.parent is None:
            break
        scope = scope.parent
    return scope if name in scope.names else None


def _part(source: Node, role: Role, index: int, count: int) -> Node | None:
    """Return the part of an unpacked source that the target at `index` of `count` gets; None if it is not known."""
    if role == "value" and source.type in nodes.LISTS:
        parts = nodes.inside(source)
        return parts[index] if len(parts) == count else None
    if role != "item" or source.type != "call":
        return None
    called, (arguments, _) = nodes.called_name(source), nodes.arguments_of(source)
    if called == "enumerate" and arguments and index == 1:
        return arguments[0]
    if called == "zip" and len(arguments) == count:
        return arguments[index]
    # The `Items` of a dictionary are its values.
    attribute = nodes.attribute_of(nodes.part_of(source, "function") or source)
    return attribute[0] if attribute and text_of(attribute[1]) == "items" and index == 1 else None
