"""The definitions of files in the languages other than Python, each under its names."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from repoeval_bench.core.definitions import Definition as Parsed
from repoeval_bench.core.definitions import definitions
from repoeval_bench.core.errors import GrammarError
from repoeval_bench.core.languages import Language, language_of
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.uses import LIMIT, Definition

IMPLICIT = frozenset({"java", "csharp", "c"})
"""Families in which members are named without their object."""


class NamedIn(NamedTuple):
    """What a file defines, by name at its top, and all of it by qualified name."""

    top: dict[str, list[Parsed]]
    whole: dict[str, list[Parsed]]


class FileDefinitions:
    """The definitions of the files of a repository that are in one of the families."""

    def __init__(self, files: Iterable[SourceFile]) -> None:
        self._files: dict[str, SourceFile] = {}
        self._language: dict[str, Language] = {}
        for file in files:
            language = language_of(file.path, file.text)
            if language is not None and language.name != "python":
                self._files[file.path], self._language[file.path] = file, language
        self._defined: dict[str, tuple[Parsed, ...]] = {}
        self._names: dict[str, NamedIn] = {}

    def family(self, path: str) -> str | None:
        """The family of a file; None where it has none."""
        language = self._language.get(path)
        return language.family if language else None

    def defined(self, path: str) -> tuple[Parsed, ...]:
        """The definitions of a file; none where its grammar is not installed."""
        if path not in self._defined:
            try:
                self._defined[path] = definitions(self._files[path], self._language[path])
            except GrammarError:
                self._defined[path] = ()
        return self._defined[path]

    def definition(self, path: str, parsed: Parsed) -> Definition:
        """A definition with its gold lines: of its header those from the name on, then the nearest ones before them.

        Before the name are doc comment, decorators, and what else the header begins with.
        """
        file = self._files[path]
        lines = LineSpan(parsed.lines.start, max(parsed.header.end, parsed.named + 1))
        filled = [line for line in lines if file.line_text(LineSpan(line, line + 1)).strip()]
        if filled:
            start = min(bisect_left(filled, parsed.named), max(0, len(filled) - LIMIT))
            lines = LineSpan(filled[start], filled[start : start + LIMIT][-1] + 1)
        around = self.defined(path)[parsed.parent] if parsed.parent is not None else None
        member = around is not None and around.kind == "class"
        return Definition(
            file.name, lines, parsed.qualified, "attribute" if parsed.kind == "variable" and member else parsed.kind
        )

    def around(self, path: str, lines: LineSpan) -> frozenset[Definition]:
        """The functions and methods that these lines are in."""
        inside = (each for each in self.defined(path) if each.kind in ("function", "method"))
        return frozenset(
            self.definition(path, each)
            for each in inside
            if each.header.start <= lines.start < each.lines.end and each.lines.end >= lines.end
        )

    def named(self, name: str, family: str) -> Sequence[Definition]:
        """All definitions of a family whose own name this is, declarations only where nothing else defines it.

        None of them where some may be any of several.
        """
        found = self._named.get((family, name), ())
        known = {(path, each.qualified) for path, each in found if each.kind == "method"}
        best = self._best(found)
        return () if len(known) > len(best) and family == "rust" else best

    @cached_property
    def _named(self) -> Mapping[tuple[str, str], Sequence[tuple[str, Parsed]]]:
        found: dict[tuple[str, str], list[tuple[str, Parsed]]] = defaultdict(list)
        for path in self._files:
            for each in self.defined(path):
                found[self._language[path].family, each.name].append((path, each))
        return found

    def at(self, path: str, line: int, name: str) -> Definition | None:
        """The definition of this name whose header is on a line (0-based)."""
        parsed = self._parsed_at(path, line, name)
        return self.definition(path, parsed) if parsed else None

    def _parsed_at(self, path: str, line: int, name: str) -> Parsed | None:
        defined = self.defined(path) if path in self._files else ()
        held = [each for each in defined if each.name == name and line in each.header]
        return min(held, key=lambda each: len(each.lines), default=None)

    def _best(self, found: Sequence[tuple[str, Parsed]]) -> tuple[Definition, ...]:
        real = [each for each in found if not each[1].declaration] or found
        # In Rust a type is defined once, and may have any number of `impl`.
        real = [each for each in real if each[1].form != "impl"] or real
        by_name: dict[tuple[str, str], list[tuple[str, Parsed]]] = defaultdict(list)
        for path, parsed in real:
            by_name[path, parsed.qualified].append((path, parsed))
        best = (self._one_of(each) if path.endswith(".rs") else each[0] for (path, _), each in by_name.items())
        return tuple(self.definition(*each) for each in best if each)

    def _one_of(self, found: Sequence[tuple[str, Parsed]]) -> tuple[str, Parsed] | None:
        """Of methods of Rust with one name that of the type's own `impl`; None where it may be any of several."""
        own = [each for each in found if not self._is_of_trait(*each)]
        if len(own or found) > 1 and found[0][1].kind == "method":
            return None
        return (own or found)[0]

    def _is_of_trait(self, path: str, parsed: Parsed) -> bool:
        around = self.defined(path)[parsed.parent] if parsed.parent is not None else None
        return around is not None and around.form == "impl" and " for " in around.signature

    def _named_in(self, path: str) -> NamedIn:
        if path not in self._names:
            found = NamedIn(defaultdict(list), defaultdict(list))
            defined = self.defined(path)
            for each in defined:
                found.whole[each.qualified].append(each)
                if self.family(path) == "c" and each.parent is not None and defined[each.parent].form == "enum":
                    # What an enumeration lists is named without it, too.
                    outer = defined[each.parent].qualified.rpartition(".")[0]
                    held = found.whole[f"{outer}.{each.name}"] if outer else found.top[each.name]
                    held.append(each)
                if self._is_top(path, each, self.family(path) or ""):
                    found.top[each.name].append(each)
            self._names[path] = found
        return self._names[path]

    def _is_top(self, path: str, parsed: Parsed, family: str) -> bool:
        """Whether a definition is named without an object: not in a class, but a class in a class in Java and C#."""
        if parsed.parent is None:
            return parsed.kind != "method" and "." not in parsed.qualified
        around = self.defined(path)[parsed.parent]
        return parsed.kind == "class" and around.kind == "class" and family in IMPLICIT
