"""Resolve the names on some lines of a file to definitions, in the languages other than Python.

A name is resolved by its scope, by imports and by the inferred type of its receiver: `ScriptTypes` infers types in
JavaScript and TypeScript, `StaticTypes` in the other languages. A member of a receiver of unknown type is `dynamic`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.uses import CodeDefinition
from repoeval_bench.own.references.script_trees import is_parameter
from repoeval_bench.own.references.script_types import ScriptTypes
from repoeval_bench.own.references.static_nodes import called_with
from repoeval_bench.own.references.tree_names import (
    IDENTIFIERS,
    ResolvedName,
    first_leaf,
    is_macro,
    receiver_of,
    text_of,
)
from repoeval_bench.own.references.visible_names import VisibleNames

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.own.references.language_rules import Answer, Located
    from repoeval_bench.own.references.tree_names import Reason


class ByName(VisibleNames):
    """The names in the files of a repository that are in one of the families."""

    def __init__(self, files: Iterable[SourceFile]) -> None:
        super().__init__(files)
        self._types = ScriptTypes(self._trees)

    def names_in(self, path: str, lines: LineSpan) -> list[ResolvedName]:
        """Return every name on these lines in order."""
        self._static.begin()
        self._trees.begin()
        file = self._files[path]
        names: list[ResolvedName] = []
        parsed = self._trees.of(path)
        kinds = " ".join(f"({kind})" for kind in IDENTIFIERS[self._language[path].name])
        for match in parsed.matches(f"[{kinds}] @name", lines):
            (node,) = match["name"]
            span = parsed.span(node)
            if span.start not in lines:  # tree-sitter also returns nodes that reach into the lines
                continue
            column = parsed.chars(node).start - file.chars_of(span).start
            definitions = self._resolve(path, lines, node)
            names.append(ResolvedName(line=span.start, column=column, definitions=definitions))
        return names

    def _named_at(self, path: str, name: Node) -> list[Located]:
        """Return the definitions whose name is at a node of a file."""
        text, line = text_of(name), self._trees.of(path).span(name).start
        named = [one for file, one in self.of_name(path, text) if file == path and line in one.lines]
        nodes = ((one, self._static.nodes(path, one)[1]) for one in named)
        # In C++ the node of a name may have scopes before it.
        return [(path, one) for one, node in nodes if node and node.start_byte <= name.start_byte < node.end_byte]

    def _typed(self, path: str, lines: LineSpan, node: Node) -> tuple[CodeDefinition, ...]:
        """Return the definition outside the lines that types lead to; none if that is not known, or may be several."""
        bindings = {
            (file, self._trees.of(file).span(binding).start, text_of(binding))
            for file, binding in self._types.named(path, node)
            if not is_parameter(binding)
        }
        parsed = ((file, self._parsed_at(file, line, name)) for file, line, name in sorted(bindings))
        outside = [
            (file, definition)
            for file, definition in parsed
            if definition and (file != path or not lines.contains(definition.lines))
        ]
        matches = self._best(outside)
        return matches if len(matches) == 1 else ()

    def _resolve(self, path: str, lines: LineSpan, node: Node) -> tuple[CodeDefinition, ...]:
        """Return the definitions of a name."""
        rules, holder, name = self.rules(path), receiver_of(node), text_of(node)
        here = self._static.at(path, node)
        receiver = rules.qualifier(path, holder) if holder is not None else ""
        types = self._typed(path, lines, node) if rules.scripted else ()
        # In the other languages: whether the name has a receiver, written or implied, and the members of this name.
        is_member, members = self._static.named(path, node) if not rules.scripted else (bool(receiver), ())
        first = re.split(r"\W+", receiver)[0] if receiver else name
        bound, binds = self._trees.scopes.at(rules, first_leaf(holder) if holder is not None else node, first)
        binds = binds and not receiver
        # A function in a function is a definition; a class in a macro or a function may have members that are none.
        nested = [located for one in bound for located in self._named_at(path, one.name)] if not receiver else []
        is_local = bool(bound) and not (bound[-1].outer and (receiver or nested))
        matches: Sequence[Located] = ()
        reason: Reason | None = None
        if is_macro(node):  # a macro is visible in its whole crate, and only a call with `!` means one
            matches = [located for located in self.of_name(path, name) if located[1].form == "macro"]
            matches = matches if len(matches) == 1 else ()
        elif is_member and (members or members is None):
            matches, reason = members or (), None if members else "outside"
        elif receiver in rules.self_names and not (types and receiver in rules.super_names):
            matches = self._own(path, lines, name, bases_only=receiver in rules.super_names)
            reason = None if matches else "unknown"
        elif is_member or receiver:
            matches, reason = self._looked_up(path, here, receiver, name, is_local=is_local)
        elif binds or is_local or (nested and all(lines.contains(inner.lines) for _, inner in nested)):
            # A key is a name of its object's type; a plain name is bound here, or a local function.
            if not binds and not rules.scripted:
                return self._best([located for located in nested if not lines.contains(located[1].lines)])
            return () if binds and node.type == "identifier" else types
        else:
            inherited = self._static.inherited(path, node)
            is_type = rules.space_of(node) == "type" and not rules.scripted
            looked_up = self.types(path, here, (name,)) if is_type else self.bare(path, here, name)
            matches, reason = (inherited, None) if inherited else looked_up
            matches = [located for located in matches if not is_type or located[1].kind == "class"]
            matches = [located for located in matches if located[1].form not in rules.only_called]
            called = called_with(node)
            if called is not None and self._language[path].name in rules.flat:  # in C a call creates no object
                matches = [located for located in matches if located[1].kind != "class"]
            matches = self.fitting(matches, called)
            if rules.scripted and rules.space_of(node) == "value":  # an interface may have the name of a value
                matches = [located for located in matches if located[1].form not in ("interface", "type")] or matches
        matches = self._static.exact(path, node, matches)
        best = self._best(
            [located for located in matches if located[0] != path or not lines.contains(located[1].lines)]
        )
        if not best and reason == "unknown":
            best = types
        return () if node.type == "namespace_identifier" and best and best[0].kind != "class" else best

    def _looked_up(self, path: str, lines: LineSpan, receiver: str, name: str, *, is_local: bool) -> Answer:
        """Return the definitions of a name in its receiver of unknown type, or the reason why there are none."""
        plain = receiver.replace("::", ".").split(".")
        if plain[0] in self.rules(path).standard:
            return (), "outside"
        if is_local or not all(map(str.isidentifier, plain)):
            return (), "unknown"
        matches, reason = self.of_module(path, lines, plain, name)
        if matches or reason:
            return matches, reason
        classes, reason = self.types(path, lines, plain)
        if members := self.members(path, classes, name):
            return members, None
        return (), "outside" if reason == "outside" else "unknown"
