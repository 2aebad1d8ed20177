"""Resolve the names on some lines of a file to definitions, in the languages other than Python.

A name is resolved by its scope, by imports and by the inferred type of its receiver: `ScriptPlaces` infers types in
JavaScript and TypeScript, `StaticPlaces` in the other languages. A member of a receiver of unknown type is `dynamic`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import GrammarError
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.uses import CodeDefinition
from repoeval_bench.references.language_rules import NOWHERE, LanguageRules
from repoeval_bench.references.resolved_name import Reason, ResolvedName
from repoeval_bench.references.script_places import ScriptPlaces
from repoeval_bench.references.static_nodes import called_with
from repoeval_bench.references.steps import DEEPEST, Steps, TooManyStepsError
from repoeval_bench.references.tree_names import IDENTIFIERS, is_bound, is_macro, receiver_of, text_of
from repoeval_bench.references.visible_names import VisibleNames

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.core.definitions import Definition
    from repoeval_bench.core.languages import Language
    from repoeval_bench.references.static_types import Members

_LONGEST_TYPED = 2_000
"""The longest line, in characters, whose names are resolved by type. A longer line can be nested as deeply as it is
long, and tree-sitter searches for each parent from the root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Use:
    """A use of a name, with its position and its receiver ("" if it has none).

    `binds`: a name is bound here. `macro`: a macro is called here. `typed` are the definitions that types lead to in
    JavaScript and TypeScript; None if they lead to something that is no definition of the repository, such as a key of
    an object. In the other languages `is_member`: the name has a receiver, written or implied, and `members` are those
    of this name. `kind` is the kind of its syntax node. `skips_locals`: no local is meant, though one has the name.
    `arguments`: the number of arguments of its call.
    """

    name: str
    receiver: str
    line: int
    column: int
    binds: bool
    macro: bool
    typed: tuple[CodeDefinition, ...] | None
    is_member: bool
    members: Members
    kind: str
    skips_locals: bool
    arguments: int | None


def _query(language: Language) -> str:
    return "[" + " ".join(f"({kind})" for kind in IDENTIFIERS[language.name]) + "] @name"


class ByName(VisibleNames):
    """The names in the files of a repository that are in one of the families."""

    def __init__(self, files: Iterable[SourceFile], steps: Steps) -> None:
        super().__init__(files, steps)
        self._types = ScriptPlaces(self._trees)
        self._locals: dict[tuple[str, LineSpan], frozenset[str] | None] = {}

    def names_in(self, path: str, lines: LineSpan) -> list[ResolvedName] | None:
        """Return every name on these lines in order; None if the file's grammar is not installed."""
        self._static.begin()
        self._trees.begin()
        uses = self._uses(path, lines)
        if uses is None:
            return None
        uses_here, local = uses
        return [self._resolve(path, lines, use, local) for use in uses_here]

    def _uses(self, path: str, lines: LineSpan) -> tuple[list[_Use], frozenset[str]] | None:
        """Return (uses of names on the lines, names that are local there); None without the file's grammar."""
        language = self._language[path]
        around = [
            definition.lines
            for definition in self.defined(path)
            if definition.kind in ("function", "method") and definition.lines.overlaps(lines)
        ]
        span = LineSpan(min(part.start for part in (lines, *around)), max(part.end for part in (lines, *around)))
        query = _query(language)
        uses: list[_Use] = []
        local = {inner.name for inner in self.defined(path) if lines.contains(inner.lines) and lines != inner.lines}
        file = self._files[path]
        try:
            parsed = self._trees.of(path)
            local |= self._bound_on(path, span)
            for match in parsed.matches(query, lines):
                (node,) = match["name"]
                span = parsed.span(node)
                if span.start in lines:
                    line = file.chars_of(span)
                    column = parsed.chars(node).start - line.start
                    uses.append(self._use(path, lines, node, (span.start, column), typed=len(line) <= _LONGEST_TYPED))
        except GrammarError:
            return None
        return uses, frozenset(local)

    def _bound_on(self, path: str, lines: LineSpan) -> frozenset[str]:
        """Return the names that are bound on some lines, cached: many tasks are in one function."""
        if (path, lines) not in self._locals:
            parsed = self._trees.of(path)
            local: frozenset[str] | None = None
            if not parsed.is_deeper(DEEPEST, lines):
                names = (match["name"][0] for match in parsed.matches(_query(self._language[path]), lines))
                local = frozenset(parsed.text(name) for name in names if not receiver_of(name) and is_bound(name))
            self._locals[path, lines] = local
        bound = self._locals[path, lines]
        if bound is None:
            raise TooManyStepsError
        return bound

    def _use(self, path: str, lines: LineSpan, node: Node, position: tuple[int, int], *, typed: bool) -> _Use:
        receiver = text_of(receiver_of(node))
        scripted = self.rules(path).scripted
        types = self._typed(path, lines, node) if typed and scripted else ()
        is_member, members = self._static.named(path, node) if typed and not scripted else (bool(receiver), ())
        binds = not receiver and is_bound(node)
        line, column = position
        return _Use(
            name=text_of(node),
            receiver=receiver,
            line=line,
            column=column,
            binds=binds,
            macro=is_macro(node),
            typed=types,
            is_member=is_member,
            members=members,
            kind=node.type,
            skips_locals=not scripted and self._skips_locals(node, self.rules(path)),
            arguments=None if scripted else called_with(node),
        )

    def _skips_locals(self, node: Node, rules: LanguageRules) -> bool:
        """Return whether a name means no local: it names a type, or it is called and no local of that name can be."""
        if rules.calls_no_local and called_with(node) is not None:
            return True
        called = node.parent is not None and node.parent.child_by_field_name("function") == node
        if not called:
            return node.type in rules.never_local
        return self._static.bindings.of(node, text_of(node)) is None

    def _typed(self, path: str, lines: LineSpan, node: Node) -> tuple[CodeDefinition, ...] | None:
        """Return the definition outside the lines that types lead to; empty if unknown, or if it may be several.

        None if nothing that types lead to is a definition outside the lines.
        """
        bindings = {
            (file, self._trees.of(file).span(binding).start, text_of(binding))
            for file, binding in self._types.named(path, node)
        }
        parsed = ((file, self._parsed_at(file, line, name)) for file, line, name in sorted(bindings))
        outside = [
            (file, definition)
            for file, definition in parsed
            if definition and (file != path or not lines.contains(definition.lines))
        ]
        matches = self._best(outside)
        return matches if len(matches) == 1 else () if matches or not bindings else None

    def _resolve(self, path: str, lines: LineSpan, use: _Use, local: frozenset[str]) -> ResolvedName:
        rules = self.rules(path)
        matches: Sequence[tuple[str, Definition]] = ()
        reason: Reason | None = None
        if use.macro:  # a macro is visible in its whole crate, and only a call with `!` means one
            matches = [located for located in self.of_name(path, use.name) if located[1].form == "macro"]
            matches, reason = (matches, None) if len(matches) == 1 else ((), "unresolved" if matches else "builtin")
        elif use.is_member or use.receiver:
            matches, reason = self._looked_up(path, lines, use, local)
        elif use.binds or (use.name in local and not use.skips_locals):
            return ResolvedName(name=use.name, line=use.line, column=use.column, definitions=use.typed or ())
        else:
            matches, reason = self.bare(path, lines, use.name)
            matches = [located for located in matches if located[1].form not in rules.only_called]
            matches = self.fitting(matches, use.arguments) if rules.overloads else matches
        best = self._best(
            [located for located in matches if located[0] != path or not lines.contains(located[1].lines)]
        )
        if not best and reason in ("dynamic", "unresolved"):
            best = use.typed or ()
            # A member of `this` that no class declares was assigned to it, and is no member of another class.
            known = use.typed is None or use.receiver in rules.open_objects
            reason = None if known else reason
        if use.kind == "namespace_identifier" and not (best and best[0].kind == "class"):
            return ResolvedName(name=use.name, line=use.line, column=use.column)
        reason = None if best else reason
        return ResolvedName(name=use.name, line=use.line, column=use.column, definitions=best, reason=reason)

    def _looked_up(
        self, path: str, lines: LineSpan, use: _Use, local: frozenset[str]
    ) -> tuple[Sequence[tuple[str, Definition]], Reason | None]:
        """Return the definitions of a name in its receiver, or the reason why there are none."""
        rules = self.rules(path)
        if use.is_member and (use.members or use.members is None):
            return use.members or (), None if use.members else "third party"
        if use.receiver in rules.self_names:
            bases_only = use.receiver in rules.super_names
            matches = () if use.typed and bases_only else self._own(path, lines, use.name, bases_only=bases_only)
            return matches, None if matches else "unresolved"
        plain = use.receiver.replace("::", ".").split(".")
        if plain[0] in rules.standard:
            return (), "builtin"
        if self.of_namespaces(path, plain):
            return self.of_type(path, plain[-1], use.name) or self.bare(path, lines, use.name)[0], None
        head = re.split(r"\W+", use.receiver)[0]
        if head in local or not all(map(str.isidentifier, plain)):
            return (), "dynamic"
        return self._of_receiver(path, plain, use.name)

    def _of_receiver(
        self, path: str, parts: Sequence[str], name: str
    ) -> tuple[Sequence[tuple[str, Definition]], Reason | None]:
        for import_ in self.imports.of(path):
            if import_.name == parts[0] and len(parts) == 1:
                if not import_.files:
                    return (), "third party"
                if import_.original is None:
                    matches = self.in_files(path, import_.files, name)
                    return matches, None if matches else "unresolved"
        if (special := self.rules(path).looked_up(self, path, parts, name)) is not None:
            return special
        if members := self.of_type(path, parts[-1], name):
            return members, None
        _, reason = self.bare(path, NOWHERE, parts[-1])
        rules = self.rules(path)
        # Neither a local nor defined here, it is from outside. Scripts have globals, C++ has parameters of templates,
        # and Rust has crates and patterns.
        outside = not (rules.scripted or rules.namespaces or rules.one_definition or self.of_name(path, parts[0]))
        return (), "third party" if outside or reason == "third party" else "dynamic"
