"""The definitions of a file: functions, methods, classes, and variables of modules and classes; and its calls.

They are read from the syntax tree alone; names are not resolved. `grammars` knows the nodes; here are lines,
nesting, comments above and bodies.
"""

from __future__ import annotations

import inspect
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from repoeval_bench.core.grammars import GRAMMARS
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.syntax import COMMENT, DECORATOR, Node, Parsed, parse

if TYPE_CHECKING:
    from repoeval_bench.core.grammars.grammar import DefinedName, Grammar, Kind
    from repoeval_bench.core.languages import Language


@dataclass(frozen=True, slots=True)
class DocComment:
    """A docstring or doc comment: its lines, and its text without quotes, comment marks and common indentation.

    followed: a statement starts on its last line.
    """

    lines: LineSpan
    text: str
    followed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A name that a file defines. Lines are 0-based and half-open.

    kind: a class is also a struct, interface, enum, trait, impl or type; `form` is the language's own word. Variables
    are those of modules and classes, fields and enumerators included, without locals and parameters.
    qualified: the names of the definitions around it and its own, joined by dots; `A.m` also for a method that is
    defined outside of its class. Namespaces and modules within the file are not in it.
    signature: the text up to the body on one line, without comments; for a variable, the name alone.
    lines: all of it, with decorators and a doc comment above. above: the first line of the comments right above, of any
    kind; `lines.start` if there are none.
    header: decorators and signature, up to the line that the signature ends on; all of a definition without a body.
    named: the line of the name, which is below the header in `typedef struct { … } name;`.
    body: the lines between the braces, or the indented block, with its docstring, but without blank lines at its ends
    and comments on the line that opens it. Header and body may share a line. It is empty if nothing is inside, and None
    if there is no body.
    doc: None if there is none. parent: the index of the definition around it.
    declaration: it is only declared here, as in `int f(int);`, or is one of several signatures (@overload).
    broken: it contains a syntax error, so its fields can be wrong.
    """

    kind: Kind
    form: str
    name: str
    qualified: str
    signature: str
    lines: LineSpan
    above: int
    header: LineSpan
    named: int
    body: LineSpan | None
    doc: DocComment | None
    parent: int | None
    declaration: bool
    broken: bool


def definitions_in(parsed: Parsed, lines: tuple[int, ...] | None = None) -> tuple[Definition, ...]:
    """Every definition of a tree in the order of the file, outer ones before those inside them.

    With `lines`, in order, only those whose syntax is on one of them. In a file with a syntax error, those that can be
    read.
    """
    return tuple(_Walk(parsed, lines).definitions)


# Cached: tasks, uses and questions all need those of the files that are searched.
@lru_cache(maxsize=4096)
def definitions(file: SourceFile, language: Language, lines: tuple[int, ...] | None = None) -> tuple[Definition, ...]:
    """Every definition of a file, or those on some lines, in order. GrammarError if the grammar is not installed."""
    return definitions_in(parse_legible(file, language), lines)


def parse_legible(file: SourceFile, language: Language, like: Parsed | None = None) -> Parsed:
    """The tree of a file; where the grammar cannot parse something that it need not, of the file without that.

    `like`: see `parse`.
    """
    parsed = parse(file, language, like)
    legible = GRAMMARS[language.name].legible
    if legible and (broken := _broken_bytes(parsed)) and (text := legible(file.text)) != file.text:
        without = parse(SourceFile(file.repo, file.path, text), language, like)
        if _broken_bytes(without) < broken:
            return without
    return parsed


def _broken_bytes(parsed: Parsed) -> int:
    # Not a query: it would look at every node.
    size, stack = 0, [parsed.root]
    while stack:
        node = stack.pop()
        size += (node.end_byte - node.start_byte) * node.is_error
        stack += node.children if node.has_error else ()
    return size


def defining_nodes(parsed: Parsed) -> tuple[tuple[Definition, Node, Node], ...]:
    """The definitions of a tree, each with its syntax node, decorators included, and the node of its name."""
    walk = _Walk(parsed)
    return tuple((defined, *nodes) for defined, nodes in zip(walk.definitions, walk.nodes, strict=True))


@dataclass(slots=True)
class _Above:
    """The decorators and comments right above a node, and the last line of the code before them."""

    before: int = -1
    top: int = -1
    below: int = -1
    run: list[tuple[int, Node, int]] = field(default_factory=list)

    def add(self, first: int, last: int, node: Node, role: int) -> None:
        """Add a comment or decorator, unless other code is before it on its line."""
        if first <= self.before:
            return
        if self.top < 0 or first > self.below:
            self.top = first
            self.run = []
        self.run.append((first, node, role))
        self.below = last + 1

    def of(self, first: int) -> _Above:
        """Return what belongs to a node that starts on this line; nothing if a blank line is between them."""
        if self.top < 0 or first > self.below:
            return _Above(top=first)
        return _Above(self.before, self.top, self.below, self.run)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Visit:
    """A node to visit: its lines, what is above it, the index of the definition around it.

    `level`: it is on the level of a module or class, where members are.
    """

    node: Node
    first: int
    last: int
    above: _Above
    parent: int | None
    level: bool


class _Walk:
    """One pass over a tree, or over what is on some of its lines in order."""

    def __init__(self, parsed: Parsed, lines: Sequence[int] | None = None) -> None:
        self.parsed, self.lines = parsed, lines
        self.definitions: list[Definition] = []
        self.nodes: list[tuple[Node, Node]] = []
        self.grammar = GRAMMARS[parsed.language.name]
        self.namespaces: set[str] = set()
        # A stack: nesting can be deeper than Python's recursion.
        stack = [*reversed(self._children(self.parsed.root, None, level=True))]
        while stack:
            visited = stack.pop()
            inner: list[_Visit] = []
            for node, parent, level in self._visit(visited):
                inner += self._children(node, parent, level=level)
            stack.extend(reversed(inner))

    def _visit(self, visited: _Visit) -> list[tuple[Node, int | None, bool]]:
        """Add the definitions of a node; return what to visit next as (node, definition around it, level)."""
        kind = visited.node.type
        reader = self.grammar.anywhere.get(kind) or (self.grammar.members.get(kind) if visited.level else None)
        underscore = self.grammar.underscore and visited.level and visited.parent is None
        candidates = [
            candidate
            for candidate in (reader(self.parsed, visited.node) if reader else ())
            if _is_name(candidate, underscore=underscore) and (visited.level or candidate.kind != "variable")
        ]
        if not candidates:
            if kind in self.grammar.namespaces:
                return [(self._namespace(visited.node), visited.parent, visited.level)]
            return [(visited.node, visited.parent, visited.level and kind in self.grammar.transparent)]
        inner: dict[int, tuple[Node, int | None, bool]] = {}
        for candidate in candidates:
            shared = candidate.node.id in inner
            inner[candidate.node.id] = (
                candidate.node,
                visited.parent if shared else len(self.definitions),
                candidate.kind == "class",
            )
            self.definitions.append(self._definition(candidate, visited))
            self.nodes.append((visited.node, candidate.name_node))
        return [*inner.values()]

    def _namespace(self, node: Node) -> Node:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None:
            self.namespaces |= set(re.findall(r"\w+", self.parsed.text(name)))
        return body or node

    def _children(self, node: Node, parent: int | None, *, level: bool) -> list[_Visit]:
        """The children that can define a name or contain a definition."""
        visits: list[_Visit] = []
        above: _Above | None = None
        before = -1
        anywhere, members, grammar = self.grammar.anywhere, self.grammar.members, self.grammar
        for first, last, child in self.parsed.children(node):
            role = self.parsed.role(child)
            if role in (COMMENT, DECORATOR):
                above = above or _Above(before)
                above.add(first, last, child, role)
                continue
            if (
                child.is_named
                and (
                    (kind := child.type) in anywhere
                    or (level and (kind in members or kind in grammar.transparent))
                    or (last > first and kind not in grammar.barren)
                )
                and self._is_read(kind, first, last)
            ):
                on_top = above.of(first) if above else _Above(top=first)
                visits.append(_Visit(node=child, first=first, last=last, above=on_top, parent=parent, level=level))
            above, before = None, last
        return visits

    def _is_read(self, kind: str, first: int, last: int) -> bool:
        """Return whether a node is on one of the lines, or may contain a namespace, whose name others use."""
        if self.lines is None or kind in self.grammar.namespaces or kind in self.grammar.transparent:
            return True
        return bisect_left(self.lines, first) < bisect_right(self.lines, last)

    def _definition(self, candidate: DefinedName, visited: _Visit) -> Definition:
        parsed = self.parsed
        kind = candidate.kind
        around = self.definitions[visited.parent] if visited.parent is not None else None
        scope = [name for name in candidate.scope if name not in self.namespaces]
        if kind == "function" and (scope or (around is not None and around.kind == "class")):
            kind = "method"
        elif kind == "method" and candidate.scope and not scope and around is None:
            kind = "function"
        attributes, doc = self._above(visited)
        start = min([visited.first, *attributes, *([doc.lines.start] if doc else [])])
        header, body = self._parts(candidate, visited.node)
        apart = candidate.body if candidate.apart else None
        declared = candidate.declared
        if declared is None:
            declared = kind in ("function", "method") and candidate.body is None
        return Definition(
            kind=kind,
            form="method" if (kind, candidate.form) == ("method", "function") else candidate.form,
            name=candidate.name,
            qualified=".".join([*([around.qualified] if around else []), *scope, candidate.name]),
            signature=candidate.name if kind == "variable" else parsed.signature(candidate.node, candidate.body),
            lines=LineSpan(start, parsed.lines(apart).end if apart else visited.last + 1),
            above=min(visited.above.top, start),
            header=LineSpan(min([header.start, *attributes]), header.end),
            named=parsed.lines(candidate.name_node).start,
            body=body,
            doc=self._docstring(candidate) if self.grammar.indented else doc,
            parent=visited.parent,
            declaration=declared,
            broken=visited.node.has_error if apart is None else self._is_broken(apart),
        )

    def _is_broken(self, block: Node) -> bool:
        """Return whether an error is in a block; a call of a macro before another block in it is none."""
        errors = (match["error"][0] for match in self.parsed.matches("(ERROR) @error", self.parsed.lines(block)))
        return any(block.start_byte <= error.start_byte < block.end_byte for error in errors)

    def _above(self, visited: _Visit) -> tuple[list[int], DocComment | None]:
        """The first lines of decorators on lines of their own above a node, and its doc comment."""
        attributes: list[int] = []
        comments: list[Node] = []
        marks = self.parsed.language.doc_comments
        for first, node, role in reversed(visited.above.run):
            if role == DECORATOR:
                attributes.append(first)
                continue
            text = self.parsed.text(node)
            block = text.startswith("/*")
            trailing = text.startswith(self.grammar.trailing)
            if not text.startswith(marks) or trailing or (comments and block):
                break
            comments.append(node)
            if block:
                break
        if not marks or not comments:
            return attributes, None
        comments.reverse()
        lines = LineSpan(self.parsed.lines(comments[0]).start, self.parsed.lines(comments[-1]).end)
        # A doc comment line of Rust includes its line end.
        text = "\n".join(self.parsed.text(comment).rstrip("\n") for comment in comments)
        return attributes, DocComment(lines, _comment_text(text, self.grammar))

    def _docstring(self, candidate: DefinedName) -> DocComment | None:
        """The docstring of Python: a string that is the first statement of a body, and neither formatted nor bytes."""
        plain = [child for child in candidate.body.children if child.type != "comment"] if candidate.body else []
        first = plain[0].children[0] if plain and plain[0].children else None
        if first is None or first.type != "string" or not first.children:
            return None
        opening = self.parsed.text(first.children[0])
        if set(opening.lower()) & {"f", "b"}:
            return None
        text = self.parsed.text(first)[len(opening) : -len(opening.lstrip("rRuU"))]
        lines = self.parsed.lines(first)
        followed = any(child.is_named and self.parsed.lines(child).start < lines.end for child in plain[1:3])
        return DocComment(lines, inspect.cleandoc(text), followed)

    def _parts(self, candidate: DefinedName, whole: Node) -> tuple[LineSpan, LineSpan | None]:
        """The lines of header and body; None without a body."""
        parsed, body = self.parsed, candidate.body
        if body is None:
            return parsed.lines(whole), None
        tokens = body.children
        start, end, inside = body.start_byte, body.end_byte, tokens
        header_end = start
        opener = next((index for index, token in enumerate(tokens[:2]) if token.type in ("{", "(")), None)
        if opener is not None and tokens[-1].type in ("}", ")"):
            header_end, start, end = tokens[opener].start_byte, tokens[opener].end_byte, tokens[-1].start_byte
            inside = tokens[opener + 1 :]
        elif tokens and tokens[0].type == "=>":
            start = tokens[0].end_byte
        elif self.grammar.indented:
            before = [child for child in candidate.node.children if child.end_byte <= body.start_byte]
            colon = max((index for index, child in enumerate(before) if child.type == ":"), default=-1)
            if colon >= 0:
                header_end = start = before[colon].end_byte
                inside = before[colon + 1 :]
        header = parsed.lines_between(whole.start_byte, header_end)
        # A brace may be on a line of its own.
        opened = max(header.end, parsed.lines_between(whole.start_byte, start).end)
        for comment in inside:
            if parsed.role(comment) != COMMENT or parsed.lines(comment).start >= opened:
                break
            start = comment.end_byte
        if not parsed.text_between(start, end).strip():
            return header, LineSpan(header.end, header.end)
        return header, parsed.lines_between(start, end)


def _is_name(candidate: DefinedName, *, underscore: bool) -> bool:
    """Return False for what a syntax error leaves (no text, several lines), and for "_" unless it may be a function."""
    if candidate.name == "_" and not (underscore and candidate.kind == "function"):
        return False
    return bool(candidate.name) and not any("\n" in name for name in (candidate.name, *candidate.scope))


_MARKS = re.compile(r"^[ \t]*(?:/\*[*!]?|///?!?|//!|\*(?!/))?[ \t]?|[ \t]*\*/[ \t]*$", re.MULTILINE)


def _comment_text(text: str, grammar: Grammar) -> str:
    """A doc comment's text without its marks, and without the markup that is usual in the language."""
    if grammar.directive:
        text = grammar.directive.sub("", text)
    plain = grammar.plain(_MARKS.sub("", text))
    return inspect.cleandoc("\n".join(line.rstrip() for line in plain.splitlines())).strip()


def comments_in(parsed: Parsed) -> list[LineSpan]:
    """The lines of each comment of a tree, in order."""
    query = GRAMMARS[parsed.language.name].comments
    return [parsed.span(match["comment"][0]) for match in parsed.matches(query)]


def calls_in(parsed: Parsed) -> list[tuple[str, LineSpan]]:
    """The name and the lines of each call of a tree, in the order of the names. Names are not resolved."""
    # A pattern matches a single node: as calls contain each other, a longer one, of a receiver and its method, would
    # stay open through all of the receiver.
    kinds = " ".join(f"({kind})" for kind in GRAMMARS[parsed.language.name].calls)
    calls = [(match["call"][0], _called(match["call"][0], parsed)) for match in parsed.matches(f"[{kinds}] @call")]
    named = sorted((name.start_byte, parsed.text(name), parsed.span(call)) for call, name in calls if name is not None)
    return [(text, lines) for _, text, lines in named]


def _called(node: Node, parsed: Parsed) -> Node | None:
    """The name that a call calls; None if it calls no name."""
    callee_field, rules = GRAMMARS[parsed.language.name].calls[node.type]
    callee = node.child_by_field_name(callee_field) if callee_field else node
    if callee is None or callee.type not in rules:
        return None
    name_field, kind = rules[callee.type]
    # In C++ the field of the name may also contain `template`, before the name.
    names = callee.children_by_field_name(name_field) if name_field else [callee]
    return next((child for child in names if not name_field or child.type == kind), None)


def identifiers_in(parsed: Parsed, lines: LineSpan) -> frozenset[str]:
    """The identifiers on these lines of a file, without keywords, built-in names, string literals and comments.

    Code that is interpolated into a string counts. Prefixes of a name (`#x`, `@x`, `r#x`) are removed.
    """
    grammar = GRAMMARS[parsed.language.name]
    query = "[" + " ".join(f"({kind})" for kind in grammar.identifiers) + "] @name"
    names = {
        parsed.text(node).removeprefix("r#").lstrip("#@")
        for captured in parsed.matches(query, lines)
        for node in captured["name"]
    }
    # A fixed table for each grammar, so that no score depends on the version of an interpreter.
    return frozenset(names - grammar.builtins - {"", "_"})
