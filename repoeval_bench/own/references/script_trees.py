"""Cached syntax trees; in those of JavaScript and TypeScript, bindings, exports of modules, members of classes."""

from __future__ import annotations

import re
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from repoeval_bench.core.grammars.grammar import child, words
from repoeval_bench.core.languages import language_of
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.syntax import Parsed, parse
from repoeval_bench.own.references.language_rules import EVERY, Imports, LanguageRules
from repoeval_bench.own.references.local_scopes import LocalScopes
from repoeval_bench.own.references.tree_names import children, text_of

if TYPE_CHECKING:
    from tree_sitter import Node


FUNCTIONS = words(
    "function_declaration function_expression function_signature generator_function generator_function_declaration "
    "arrow_function method_definition method_signature abstract_method_signature function_type"
)
"""Nodes that can be called: they may have parameters, a declared result and a body."""

_MOST_CACHED = 4_000_000
"""The most characters of files whose trees are cached."""
_DECLARATIONS = (".d.ts", ".d.mts", ".d.cts")
"""Endings of files that export all that they declare."""
_OPENS_SPACE = re.compile(r"\b(?:namespace|mod)\b")
_HOLD_SPACES = words("declaration_list linkage_specification ERROR preproc_if preproc_ifdef preproc_else preproc_elif")
"""Nodes outside of functions in which a namespace may be."""
_BODIES = frozenset({"class_body", "interface_body", "object_type", "enum_body"})


class Trees:
    """The trees of a repository's files, parsed on first use."""

    def __init__(
        self, files: Mapping[str, SourceFile], imports: Imports, rules: Callable[[str], LanguageRules]
    ) -> None:
        self._files, self._imports, self.rules = files, imports, rules
        self._cached: OrderedDict[str, Parsed] = OrderedDict()
        self._parents: dict[Node, Node | None] = {}
        self.scopes = LocalScopes(self.parent)
        self._assigned: dict[Node, Sequence[tuple[str, Node]]] = {}
        self._members: dict[Node, Mapping[str, list[Node]]] = {}
        self._exported_nodes: dict[tuple[str, int, str], list[tuple[str, Node]]] = {}

    def of(self, path: str) -> Parsed:
        """The tree of a file."""
        if path not in self._cached:
            language = language_of(path, self._files[path].text)
            assert language is not None
            self._cached[path] = parse(self._files[path], language)
            while len(self._cached) > 1 and sum(len(self._files[file].text) for file in self._cached) > _MOST_CACHED:
                self._cached.popitem(last=False)
                # Their nodes would keep the tree in memory.
                self._parents.clear()
                self.scopes.clear()
                self._assigned.clear()
                self._members.clear()
        self._cached.move_to_end(path)
        return self._cached[path]

    def begin(self) -> None:
        """Forget the exports of modules: in a circle of imports they depend on the name that was asked first."""
        self._exported_nodes.clear()

    def parent(self, node: Node) -> Node | None:
        """The parent of a node, searched for once: tree-sitter begins each search at the root of the tree."""
        if node not in self._parents:
            self._parents[node] = node.parent
        return self._parents[node]

    def bound(self, path: str, node: Node, name: str) -> list[tuple[str, Node]]:
        """Return (file, node) of the nearest bindings of a name that is used at a node, imports followed to the end."""
        bounds, _ = self.scopes.at(self.rules(path), node, name)
        bindings = [(path, _declaring(bound.name)) for bound in bounds]
        return bindings or self._imported(path, name)

    def namespaces(self, path: str, lines: LineSpan) -> list[str]:
        """Return the names of the namespaces around some lines, the outermost first."""
        spaces = self._imports.once(("namespaces", path), lambda: [*self._read_namespaces(path)])
        around = (name for span, name in spaces if span.contains(lines))
        return [part for name in around for part in re.findall(r"\w+", name)]

    def _read_namespaces(self, path: str) -> Iterator[tuple[LineSpan, str]]:
        """Yield (lines, name) of each namespace of a file, outer ones first."""
        spaces = self.rules(path).nodes.get("spaces", ())
        if not spaces or not _OPENS_SPACE.search(self._files[path].text):
            return
        parsed = self.of(path)
        stack = [parsed.root]
        while stack:
            for node in stack.pop().named_children:
                if node.type in spaces:
                    name, span = text_of(child(node, "name")), parsed.span(node)
                    if node.type.startswith("file_scoped"):  # of C#, without a body
                        span = LineSpan(span.start, self._files[path].n_lines)
                    yield span, name
                if node.type in spaces or node.type in _HOLD_SPACES:
                    stack.append(node)

    def _imported(self, path: str, name: str) -> list[tuple[str, Node]]:
        for import_ in self._imports.of(path):
            if import_.name == name and not import_.exported:
                if import_.original is None:
                    return [(file, self.of(file).root) for file in import_.files]
                return [
                    exported
                    for file in import_.files
                    for exported in self.exported(file, self.of(file).root, import_.original)
                ]
        return []

    def exported(self, path: str, module: Node, name: str) -> list[tuple[str, Node]]:
        """Return (file, node) of what a module or a namespace in it exports under a name."""
        key = path, module.start_byte, name
        if key not in self._exported_nodes:  # many imports may lead to one module
            self._exported_nodes[key] = []
            self._exported_nodes[key] = self._exported(path, module, name)
        return self._exported_nodes[key]

    def _exported(self, path: str, module: Node, name: str) -> list[tuple[str, Node]]:
        block = module if module.type == "program" else child(module, "body")
        if block is None:
            return []
        is_file = module.type == "program"
        if is_file and name == "default" and (result := self._default(path, block)):
            return result
        value = self._required(block, name) if is_file else None
        if value is not None:
            return self._value(path, value)
        for statement in children(block, "export_statement"):
            for clause in children(statement, "export_clause") if child(statement, "source") is None else ():
                for inner in clause.named_children:
                    if text_of(child(inner, "alias", "name")) == name:
                        return self._at_top(path, block, text_of(child(inner, "name")))
        declared = self.scopes.inside(self.rules(path), block, name)
        if is_file and not path.endswith(_DECLARATIONS):
            declared = [bound for bound in declared if self._is_exported(bound.node)]
        if declared:
            return [(path, _declaring(bound.name)) for bound in declared]
        return self._re_exported(path, name) if is_file else []

    def _is_exported(self, node: Node | None) -> bool:
        """Return whether a declaration at the top of a file is exported by its own name."""
        while node is not None and node.type not in ("export_statement", "statement_block"):
            node = self.parent(node)
        return node is not None and node.type == "export_statement" and not children(node, "default")

    def _at_top(self, path: str, block: Node, name: str) -> list[tuple[str, Node]]:
        """Return the bindings of a name at the top of a file: a type may have it too."""
        declared = self.scopes.inside(self.rules(path), block, name)
        return [(path, _declaring(bound.name)) for bound in declared] or self._imported(path, name)

    def _re_exported(self, path: str, name: str) -> list[tuple[str, Node]]:
        """Return what a module exports from other modules under a name."""
        named: dict[tuple[str, Node], None] = {}
        every: dict[tuple[str, Node], None] = {}
        for import_ in self._imports.of(path):
            if not import_.exported or import_.name not in (name, EVERY):
                continue
            if import_.original is None:
                return [(file, self.of(file).root) for file in import_.files]
            is_every = import_.original == EVERY
            for file in import_.files:
                nodes = self.exported(file, self.of(file).root, name if is_every else import_.original)
                (every if is_every else named).update(dict.fromkeys(nodes))
        # What a file exports by name hides what it exports with all names; of those, one must have the name.
        return [*(named or (every if len({file for file, _ in every}) == 1 else ()))]

    def _default(self, path: str, block: Node) -> list[tuple[str, Node]]:
        for statement in children(block, "export_statement"):
            value = child(statement, "declaration", "value")
            if value is not None and any(node.type == "default" for node in statement.children):
                return self._value(path, value)
        value = self._required(block)
        return self._value(path, value) if value is not None and value.type != "object" else []

    def _value(self, path: str, value: Node) -> list[tuple[str, Node]]:
        """Return the bindings of an expression at the top of a file that is a name, else the expression."""
        return self._at_top(path, self.of(path).root, text_of(value)) if is_name(value) else [(path, value)]

    def _required(self, block: Node, name: str = "") -> Node | None:
        """Return what a CommonJS module exports under a name; all that it exports if the name is empty."""
        value: Node | None = None
        if block not in self._assigned:
            self._assigned[block] = [*_exports(block)]
        for target, right in self._assigned[block]:
            if target == "module.exports":
                if not name:
                    value = right
                elif right.type == "object":
                    value = next(iter(self.members(right, name)), value)
            elif name and target in (f"exports.{name}", f"module.exports.{name}"):
                value = right
        return child(value, "value") if value is not None and value.type == "pair" else value

    def members(self, node: Node, name: str) -> Sequence[Node]:
        """Return the own members of that name of a class, interface, enum, object type or object."""
        body = node if node.type in (*_BODIES, "object") else child(node, "body")
        if body is None:
            return ()
        if body not in self._members:
            self._members[body] = self._read_members(body)
        return self._members[body].get(name, ())

    def _read_members(self, body: Node) -> Mapping[str, list[Node]]:
        by_name: dict[str, list[Node]] = defaultdict(list)
        for member in body.named_children:
            named = child(member, "name", "key") or member
            if named.type.endswith("identifier"):
                by_name[text_of(named)].append(member)
            if member.type == "method_definition" and text_of(named) == "constructor":
                for parameter in self.parameters(member):  # `constructor(private name: string)` declares a member
                    if children(parameter, "accessibility_modifier") or children(parameter, "readonly"):
                        by_name[text_of(child(parameter, "pattern"))].append(parameter)
        return by_name

    def parameters(self, function: Node) -> list[Node]:
        """The parameters of a function in order, `this` aside."""
        alone, listed = child(function, "parameter"), child(function, "parameters")
        nodes = [alone] if alone is not None else listed.named_children if listed is not None else []
        return [node for node in nodes if node.type != "comment" and text_of(child(node, "pattern")) != "this"]

    def returned(self, body: Node | None) -> Iterator[Node]:
        """Yield what the return statements of a body return, those of inner functions aside."""
        stack = [body] if body is not None and body.type == "statement_block" else []
        while stack:
            node = stack.pop()
            if node.type == "return_statement":
                yield from node.named_children[:1]
            elif node.type not in FUNCTIONS and not node.type.startswith("class"):
                stack += reversed(node.named_children)


def is_name(node: Node) -> bool:
    """Return whether an expression is a name."""
    return node.type in ("identifier", "shorthand_property_identifier")


def is_parameter(node: Node) -> bool:
    """Return whether a binding is a parameter, or a part of one."""
    holder = node.parent
    while holder is not None and holder.type.endswith(("pattern", "_parameter")):
        node, holder = holder, holder.parent
    return holder is not None and (holder.type == "formal_parameters" or child(holder, "parameter") == node)


def name_of(node: Node) -> Node:
    """Return the name of a binding, such as `f` for the function of `{ f: () => 1 }` or `exports.f = () => 1`."""
    own = child(node, "name", "key")
    if own is None and node.parent is not None and node == child(node.parent, "value", "right"):
        own = child(node.parent, "key") or child(child(node.parent, "left"), "property")
    return own or node


def _declaring(name: Node) -> Node:
    """Return the declaration or the parameter with a name; the name itself if it is in a pattern."""
    holder = name.parent
    return holder if holder is not None and child(holder, "name", "pattern") == name else name


def _exports(block: Node) -> Iterator[tuple[str, Node]]:
    """Yield (target, value) of each statement of a CommonJS module that exports something."""
    for statement in children(block, "expression_statement"):
        assigned = statement.named_children[0] if statement.named_children else None
        targets = []
        while assigned is not None and assigned.type == "assignment_expression":  # exports = module.exports = …
            targets.append(text_of(child(assigned, "left")))
            assigned = child(assigned, "right")
        if assigned is not None:
            yield from ((target, assigned) for target in targets if target.startswith(("exports.", "module.exports")))
    for declaration in (*children(block, "variable_declaration"), *children(block, "lexical_declaration")):
        for declarator in declaration.named_children:  # const f = exports.f = …
            target = text_of(child(child(declarator, "value"), "left"))
            if target.startswith(("exports.", "module.exports")):
                yield target, declarator
    for statement in children(block, "export_statement"):
        if children(statement, "=") and statement.named_children:  # export = …
            yield "module.exports", statement.named_children[-1]
