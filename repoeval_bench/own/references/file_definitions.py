"""The definitions of files in the languages other than Python, by line and by name."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from repoeval_bench.core.definitions import Definition, definitions
from repoeval_bench.core.errors import GrammarError
from repoeval_bench.core.languages import Language, language_of
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.uses import LIMIT, CodeDefinition
from repoeval_bench.own.references.language_rules import LanguageRules, Located
from repoeval_bench.own.references.languages import RULES

_NO_RULES = LanguageRules()


class NamedIn(NamedTuple):
    """The definitions of a file: those at its top level by name, and all of them by qualified name."""

    top: dict[str, list[Definition]]
    whole: dict[str, list[Definition]]


class FileDefinitions:
    """The definitions of a repository's files that are in a language of `languages` other than Python."""

    def __init__(self, files: Iterable[SourceFile]) -> None:
        self._files: dict[str, SourceFile] = {}
        self._language: dict[str, Language] = {}
        self._rules: dict[str, LanguageRules] = {}
        self._others: dict[str, SourceFile] = {}
        for file in files:
            language = language_of(file.path, file.text)
            if language is not None and language.family in RULES:
                self._files[file.path], self._language[file.path] = file, language
                self._rules[file.path] = RULES[language.family]
            elif language is None:
                self._others[file.path] = file
        self._defined: dict[str, tuple[Definition, ...]] = {}
        self._names: dict[str, NamedIn] = {}

    def knows(self, path: str) -> bool:
        """Return whether a file is in one of the languages."""
        return path in self._files

    def rules(self, path: str) -> LanguageRules:
        """Return the rules of a file's language; the default rules for a file that is none of these."""
        return self._rules.get(path, _NO_RULES)

    def defined(self, path: str) -> tuple[Definition, ...]:
        """The definitions of a file; none if its grammar is not installed."""
        if path not in self._defined:
            try:
                self._defined[path] = definitions(self._files[path], self._language[path])
            except GrammarError:
                self._defined[path] = ()
        return self._defined[path]

    def definition(self, path: str, parsed: Definition) -> CodeDefinition:
        """Return a definition with its gold lines: at most `LIMIT` lines of its header that are not blank.

        They begin at the name's line; if there is room, also before it, where doc comments and decorators are.
        """
        file = self._files[path]
        lines = LineSpan(parsed.lines.start, max(parsed.header.end, parsed.named + 1))
        filled = [line for line in lines if file.line_text(LineSpan(line, line + 1)).strip()]
        if filled:
            start = min(bisect_left(filled, parsed.named), max(0, len(filled) - LIMIT))
            lines = LineSpan(filled[start], filled[start : start + LIMIT][-1] + 1)
        around = self.defined(path)[parsed.parent] if parsed.parent is not None else None
        member = around is not None and around.kind == "class"
        return CodeDefinition(
            file.name, lines, parsed.qualified, "attribute" if parsed.kind == "variable" and member else parsed.kind
        )

    def around(self, path: str, lines: LineSpan) -> frozenset[CodeDefinition]:
        """The functions and methods that these lines are in."""
        inside = (definition for definition in self.defined(path) if definition.kind in ("function", "method"))
        return frozenset(
            self.definition(path, definition)
            for definition in inside
            if definition.header.start <= lines.start < definition.lines.end and definition.lines.end >= lines.end
        )

    def of_name(self, path: str, name: str) -> Sequence[Located]:
        """Return (file, definition) of all definitions of a name in the language family of a file."""
        return self._named.get((self.rules(path), name), ())

    @cached_property
    def _named(self) -> Mapping[tuple[LanguageRules, str], Sequence[Located]]:
        by_name: dict[tuple[LanguageRules, str], list[Located]] = defaultdict(list)
        for path in self._files:
            for definition in self.defined(path):
                by_name[self.rules(path), definition.name].append((path, definition))
        return by_name

    def defined_at(self, path: str, line: int, name: str, target_span: LineSpan | None = None) -> CodeDefinition | None:
        """Return the definition of this name whose header is on a line (0-based); none inside the target."""
        parsed = self._parsed_at(path, line, name)
        definition = self.definition(path, parsed) if parsed else None
        return None if definition and target_span and target_span.contains(definition.lines) else definition

    def _parsed_at(self, path: str, line: int, name: str) -> Definition | None:
        defined = self.defined(path) if path in self._files else ()
        headed = [definition for definition in defined if definition.name == name and line in definition.header]
        return min(headed, key=lambda definition: len(definition.lines), default=None)

    def _best(self, matches: Sequence[Located]) -> tuple[CodeDefinition, ...]:
        real = [located for located in matches if not located[1].declaration] or matches
        # In Rust a type is defined once, and may have any number of `impl` blocks.
        real = [located for located in real if located[1].form != "impl"] or real
        by_name: dict[tuple[str, str], list[Located]] = defaultdict(list)
        for path, parsed in real:
            by_name[path, parsed.qualified].append((path, parsed))
        best = (
            self.rules(path).best(same_name, self._of_traits(same_name)) for (path, _), same_name in by_name.items()
        )
        return tuple(self.definition(*located) for located in best if located)

    def _of_traits(self, matches: Sequence[Located]) -> frozenset[int]:
        """Return the indexes of the definitions that are in an `impl` of a trait."""
        return frozenset(index for index, located in enumerate(matches) if self._is_of_trait(*located))

    def _is_of_trait(self, path: str, parsed: Definition) -> bool:
        around = self.defined(path)[parsed.parent] if parsed.parent is not None else None
        return around is not None and around.form == "impl" and " for " in around.signature

    def _named_in(self, path: str) -> NamedIn:
        if path not in self._names:
            named = NamedIn(defaultdict(list), defaultdict(list))
            defined, rules = self.defined(path), self.rules(path)
            for definition in defined:
                named.whole[definition.qualified].append(definition)
                parent = defined[definition.parent] if definition.parent is not None else None
                if parent is not None and parent.form == "enum" and rules.hoists_enumerators(parent.signature):
                    outer = parent.qualified.rpartition(".")[0]
                    same_name = named.whole[f"{outer}.{definition.name}"] if outer else named.top[definition.name]
                    same_name.append(definition)
                if self._is_top(path, definition):
                    named.top[definition.name].append(definition)
            self._names[path] = named
        return self._names[path]

    def _is_top(self, path: str, parsed: Definition) -> bool:
        """Return whether code can name a definition without a receiver: outside of classes, or as an inner class."""
        if parsed.parent is None:
            return parsed.kind != "method" and "." not in parsed.qualified
        around = self.defined(path)[parsed.parent]
        return parsed.kind == "class" and around.kind == "class" and self.rules(path).implicit_members
