"""Meanings of names in a repository's files, in languages other than Python: by scope, imports and bases."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.references.file_definitions import FileDefinitions
from repoeval_bench.references.imports import EVERY, Import, Imports
from repoeval_bench.references.language_rules import NOWHERE, LanguageRules, parameters_of
from repoeval_bench.references.script_trees import Trees
from repoeval_bench.references.static_places import StaticPlaces

if TYPE_CHECKING:
    from repoeval_bench.core.definitions import Definition
    from repoeval_bench.references.resolved_name import Reason
    from repoeval_bench.references.steps import Steps

_BASE = re.compile(r"(?:\w+(?:\.|::))*(\w+)")
"""A name, and of `Outer.Inner` the last."""


class VisibleNames(FileDefinitions):
    """Definitions that a file sees under a name, and that a class has under one."""

    def __init__(self, files: Iterable[SourceFile], steps: Steps) -> None:
        super().__init__(files)
        self.steps = steps
        self.imports = Imports(self._files, lambda path: self.rules(path).imports)
        self._trees = Trees(self._files, self.imports, steps)
        self._static = StaticPlaces(self._trees, self)
        self._seen: dict[str, tuple[Sequence[str], ...]] = {}
        self._above: dict[tuple[str, str], Sequence[tuple[str, str]]] = {}

    def bare(self, path: str, lines: LineSpan, name: str) -> tuple[Sequence[tuple[str, Definition]], Reason | None]:
        """(file, definition) of what a name alone means on some lines of a file, locals aside, or why there is none."""
        rules = self.rules(path)
        if rules.implicit_members and lines and (matches := self._own(path, lines, name)):
            return matches, None
        outside = False
        for import_ in self.imports.of(path):
            if import_.name == name:
                if not import_.files:
                    outside = True
                elif import_.original is None:
                    return (), None  # a module
                elif matches := self._given(import_, name, rules, 0):
                    return matches, None
        if top := self._named_in(path).top.get(name):  # what is imported may be for a module in the file
            return [(path, definition) for definition in top], None
        if outside:
            return (), "third party"
        for files in (self._tops.get((rules, name), ()),) if rules.sees_all else self._visible(path):
            if matches := self._in_files(files, name, name, rules, 0):
                return matches, None
        return (), "unresolved"

    def _visible(self, path: str) -> Sequence[Sequence[str]]:
        """The files whose definitions are seen without naming them, nearest first."""
        if path not in self._seen:
            # Beside a file there may be files of other languages.
            rules = self.rules(path)
            reached = ([file for file in files if self.rules(file) is rules] for files in self._reached(path, rules))
            with self.steps.apart():
                self._seen[path] = tuple(reached)
        return self._seen[path]

    @cached_property
    def _tops(self) -> Mapping[tuple[LanguageRules, str], Sequence[str]]:
        """The files by the names at their tops, where each file sees all of its language."""
        return self._by_names(lambda path: self._named_in(path).top)

    @cached_property
    def _wholes(self) -> Mapping[tuple[LanguageRules, str], Sequence[str]]:
        """The same by the qualified names in them."""
        return self._by_names(lambda path: self._named_in(path).whole)

    def _by_names(self, names_of: Callable[[str], Iterable[str]]) -> Mapping[tuple[LanguageRules, str], Sequence[str]]:
        by_names: dict[tuple[LanguageRules, str], list[str]] = defaultdict(list)
        for path in self._files:
            rules = self.rules(path)
            for name in names_of(path) if rules.sees_all else ():
                by_names[rules, name].append(path)
        return by_names

    def _reached(self, path: str, rules: LanguageRules) -> Iterator[Sequence[str]]:
        yield rules.beside(self.imports, path)
        seen = {path}
        reach = [path]
        # What is included or imported whole; in C also through what that includes.
        for _ in range(rules.include_depth):
            reach = [
                file
                for reached in reach
                for import_ in self.imports.of(reached)
                if import_.original == EVERY
                for file in import_.files
                if file not in seen
            ]
            seen.update(reach)
            if not reach:
                return
            yield reach

    def _in_files(
        self,
        files: Sequence[str],
        original: str,
        name: str,
        rules: LanguageRules,
        depth: int,
        tried: dict[tuple[str, str], int] | None = None,
    ) -> list[tuple[str, Definition]]:
        """Return what files define under a name at their top, or give on from others.

        `tried`: how deep each was searched so far, as many ways may lead to one file.
        """
        matches = []
        tried = {} if tried is None else tried
        self.steps.take(len(files))
        for path in files:
            if tried.get((path, original), depth + 1) <= depth:
                continue
            tried[path, original] = depth
            top = self._named_in(path).top
            if original == "default":
                matches += [(path, e) for definitions in top.values() for e in definitions if self._is_default(path, e)]
                matches = matches or [(path, definition) for definition in top.get(name, ())]
            matches += [(path, original_definition) for original_definition in top.get(original, ())]
            if matches or depth > 4 or not rules.gives_on or self.rules(path) is not rules:
                continue
            for import_ in self.imports.of(path):
                given_on = import_.exported or import_.original == EVERY
                if given_on and import_.original is not None and import_.name in (original, EVERY):
                    if import_.original == EVERY:
                        matches += self._in_files(import_.files, original, name, rules, depth + 1, tried)
                    else:
                        matches += self._given(import_, name, rules, depth + 1, tried)
        return matches

    def _given(
        self, of: Import, name: str, rules: LanguageRules, depth: int, tried: dict[tuple[str, str], int] | None = None
    ) -> list[tuple[str, Definition]]:
        """Return what is imported by its name: in Java it may be a member, in Rust a variant (`use Shape::Round`)."""
        given = rules.given(self, of)
        if given is not None:
            return given
        matches = self._in_files(of.files, of.original or "", name, rules, depth, tried)
        return matches or rules.given_last(self, of)

    def in_files(self, path: str, files: Sequence[str], name: str) -> list[tuple[str, Definition]]:
        """Return what files define under a name at their top, or give on from others, as the file `path` sees it."""
        return self._in_files(files, name, name, self.rules(path), 0)

    def _is_default(self, path: str, parsed: Definition) -> bool:
        start = parsed.header.start
        begins = self._files[path].line_text(LineSpan(start, start + 1)).strip()
        return begins.startswith(("export default", "module.exports ="))

    def of_namespaces(self, path: str, steps: Sequence[str]) -> bool:
        """Return whether all steps are namespaces of the files of a file's family."""
        rules = self.rules(path)
        if not rules.namespaces:
            return False

        def read() -> frozenset[str]:
            texts = (file.text for path, file in self._files.items() if self.rules(path) is rules)
            return frozenset(name for text in texts for name in re.findall(r"\bnamespace\s+(\w+)", text))

        return self.imports.once(("namespaces", rules), read).issuperset(steps)

    def of_module(
        self, path: str, steps: Sequence[str], name: str
    ) -> tuple[Sequence[tuple[str, Definition]], Reason | None]:
        """The same of a name of a module; nothing where the steps are not those of one."""
        rules = self.rules(path)
        if (special := rules.of_module(self, path, steps, name)) is not None:
            return special
        for import_ in self.imports.of(path):
            if [import_.name] == [*steps] and (import_.original is None or not import_.files):
                matches = self.in_files(path, import_.files, name)
                return matches, None if matches else "third party"
        return (), None

    def types(self, path: str, steps: Sequence[str]) -> tuple[Sequence[tuple[str, Definition]], Reason | None]:
        """The same of a type's name, whose parts these are."""
        rules = self.rules(path)
        if not steps or steps[0] in rules.standard:
            return (), "third party" if steps else None
        if steps[1:]:
            matches, reason = self.of_module(path, steps[:-1], steps[-1])
            if not (matches or reason):
                matches = rules.in_path(self, path, steps)
            if matches or reason:
                return matches, reason
            if not rules.is_here(self, path, steps):
                return (), "third party"
            if rules.inner_types and (outer := self.types(path, steps[:-1])[0]):
                matches = self.members(path, outer, steps[-1])
                return matches, None if matches else "unresolved"
        return self.bare(path, NOWHERE, steps[-1])

    def members(
        self, path: str, classes: Iterable[tuple[str, Definition]], name: str
    ) -> Sequence[tuple[str, Definition]]:
        """The members of that name of the first class that has one."""
        rules = self.rules(path)
        matches = (self._members(where, cls.qualified, name, rules) for where, cls in classes if cls.kind == "class")
        return next(filter(None, matches), ())

    def of_type(self, path: str, type_name: str, name: str) -> Sequence[tuple[str, Definition]]:
        """Return the member of the class that a file calls so."""
        return self.members(path, self.bare(path, NOWHERE, type_name)[0], name)

    def members_of(self, path: str, qualified: str, name: str) -> list[tuple[str, Definition]]:
        """Return the members of that name of a class as a file sees it, or of its bases."""
        return self._members(path, qualified, name, self.rules(path))

    def fitting(
        self, matches: Sequence[tuple[str, Definition]], arguments: int | None
    ) -> Sequence[tuple[str, Definition]]:
        """Of the definitions of one name those that fit a call's number of arguments, if any do.

        In Java and C# a class has its base's methods of that name beside its own. In C# one of its own that can be
        called so, by defaults or `params`, comes first.
        """
        candidates = matches
        for _ in range(4):
            if not candidates:
                break
            path, method = candidates[0]
            rules = self.rules(path)
            candidates = [located for located in candidates if rules.is_fit(located[1], arguments)]
            if fitting := [
                located for located in candidates if arguments in (None, len(parameters_of(located[1].signature)))
            ]:
                return fitting
            if not rules.overloads or arguments is None:
                break
            if fitting := [located for located in candidates if rules.may_take(located[1].signature, arguments)]:
                return fitting
            # A part of a class of C# may have the method, and another part its base.
            of = method.qualified.rpartition(".")[0]
            parts = self._seen_from(path, rules, of) if rules.sees_all else [path]
            bases = [base for part in parts for base in self._bases(part, of)]
            candidates = next(filter(None, (self._members(file, of, method.name, rules) for file, of in bases)), [])
        return matches

    def _own(self, path: str, lines: LineSpan, name: str, *, above: bool = False) -> list[tuple[str, Definition]]:
        """The member of the classes around the lines, or of their bases, the innermost first.

        `above`: of the bases alone of the innermost one.
        """
        rules, defined = self.rules(path), self.defined(path)
        around = [definition for definition in defined if definition.lines.start <= lines.start < definition.lines.end]
        classes = [definition.qualified for definition in around if definition.kind == "class"]
        # A method may be outside of its class.
        classes += [definition.qualified.rpartition(".")[0] for definition in around if definition.kind == "method"]
        for qualified in dict.fromkeys(filter(None, reversed(classes))):
            if above:
                bases = self._bases(path, qualified)
                return next(filter(None, (self._members(base_file, of, name, rules) for base_file, of in bases)), [])
            if matches := self._members(path, qualified, name, rules):
                return matches
        return []

    def _members(self, path: str, qualified: str, name: str, rules: LanguageRules) -> list[tuple[str, Definition]]:
        """The members of this name of a class as a file sees it; else of its bases, up to four above it.

        A constructor is none: its name is that of the class.
        """
        tried: dict[tuple[str, str], int] = {}
        ahead = [(path, qualified, 0)]
        while ahead:
            path, qualified, depth = ahead.pop()
            if tried.get((path, qualified), depth + 1) <= depth:  # bases of bases lead to the same again and again
                continue
            tried[path, qualified] = depth
            if name == qualified.rpartition(".")[2] and rules.implicit_members:
                continue
            full_name = f"{qualified}.{name}"
            # A class farther away may be another of its name.
            files = self._seen_from(path, rules, full_name)
            self.steps.take(len(files))
            in_files = ((file, self._named_in(file).whole.get(full_name, ())) for file in files)
            matches = next(([(file, member) for member in members] for file, members in in_files if members), [])
            if matches := rules.members(self, path, full_name, matches):
                return [located for located in matches if not self._is_of_trait(*located)] or matches
            if depth <= 3:
                files = self._seen_from(path, rules, qualified)
                above = [(base_file, of, depth + 1) for file in files for base_file, of in self._bases(file, qualified)]
                ahead += reversed(above)
        return []

    def _seen_from(self, path: str, rules: LanguageRules, qualified: str) -> Collection[str]:
        """A file and those whose names it sees, the nearest first; where it sees all, those with this name."""
        if rules.sees_all:
            return dict.fromkeys([path, *self._wholes.get((rules, qualified), ())])
        return dict.fromkeys([path, *(located for paths in self._visible(path) for located in paths)])

    def _bases(self, file: str, qualified: str) -> Sequence[tuple[str, str]]:
        """(file, qualified name) of the classes that a class of a file names in its header behind its own name."""
        if (file, qualified) not in self._above:
            with self.steps.apart():
                self._above[file, qualified] = self._read_bases(file, qualified)
        return self._above[file, qualified]

    def _read_bases(self, file: str, qualified: str) -> Sequence[tuple[str, str]]:
        words = [
            word
            for definition in self._named_in(file).whole.get(qualified, ())
            if definition.kind == "class"
            for word in _BASE.findall(_without_arguments(definition.signature.partition(definition.name)[2]))
        ]
        named = [base for word in words for base in self.bare(file, NOWHERE, word)[0]]
        if self.rules(file).embeds:
            structs = (
                definition for definition in self._named_in(file).whole.get(qualified, ()) if definition.kind == "class"
            )
            inside = (steps for struct in structs for steps in self._static.embedded(file, struct))
            named = [base for steps in inside for base in self.types(file, steps)[0]]
        above = ((file, of.qualified) for file, of in named if of.kind == "class" and of.qualified != qualified)
        return tuple(dict.fromkeys(above))


def _without_arguments(text: str) -> str:
    """Without type arguments: `Order` in `List<Order>` is not a base."""
    while (shorter := re.sub(r"<[^<>]*>", "", text)) != text:
        text = shorter
    return text
