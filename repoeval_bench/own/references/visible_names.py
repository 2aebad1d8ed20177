"""Definitions in languages other than Python, by line and by name, and those that names mean: by imports and bases."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from repoeval_bench.core.definitions import Definition, definitions
from repoeval_bench.core.grammars.javascript import unwrapped
from repoeval_bench.core.languages import Language, language_of
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.uses import LIMIT, CodeDefinition
from repoeval_bench.own.references.language_rules import (
    CALLED,
    EVERY,
    NOWHERE,
    Answer,
    Import,
    Imports,
    LanguageRules,
    Located,
    are_overloads,
    may_take,
)
from repoeval_bench.own.references.languages import RULES
from repoeval_bench.own.references.script_trees import Trees, name_of
from repoeval_bench.own.references.static_types import StaticTypes
from repoeval_bench.own.references.tree_names import text_of

_NO_RULES = LanguageRules()
_BASE = re.compile(r"(?:\w+(?:\.|::))*(\w+)")
"""A name; of `Outer.Inner`, the last part."""

_SCOPED = re.compile(r"\benum\s+(?:class|struct)\b")
_Space = tuple[str, ...] | None
"""The names of the namespaces around a class; None for any."""

_Tried = set[tuple[str, str]]
"""(file, name) of the searches so far: many imports or bases may lead to one file, also in circles."""


class NamedIn(NamedTuple):
    """The definitions of a file: those at its top level by name, and all of them by qualified name."""

    top: dict[str, list[Definition]]
    whole: dict[str, list[Definition]]


class VisibleNames:
    """The definitions of a name that a file sees, and those that a class has, in languages other than Python."""

    def __init__(self, files: Iterable[SourceFile]) -> None:
        self._files: dict[str, SourceFile] = {}
        self._language: dict[str, Language] = {}
        self._rules: dict[str, LanguageRules] = {}
        others: dict[str, SourceFile] = {}
        for file in files:
            language = language_of(file.path, file.text)
            if language is not None and language.family in RULES:
                self._files[file.path], self._language[file.path] = file, language
                self._rules[file.path] = RULES[language.family]
            elif language is None:
                others[file.path] = file
        self._names: dict[str, NamedIn] = {}
        self.imports = Imports(self._files, others, self.rules, self._around)
        self._trees = Trees(self._files, self.imports, self.rules)
        self._static = StaticTypes(self._trees, self)
        self._above: dict[tuple[str, str, _Space], Sequence[tuple[str, str, _Space]]] = {}

    def _around(self, path: str, lines: LineSpan) -> Sequence[str]:
        return self._trees.namespaces(path, lines)

    def knows(self, path: str) -> bool:
        """Return whether a file is in one of the languages."""
        return path in self._files

    def rules(self, path: str) -> LanguageRules:
        """Return the rules of a file's language; the default rules for a file that is none of these."""
        return self._rules.get(path, _NO_RULES)

    def defined(self, path: str) -> tuple[Definition, ...]:
        """The definitions of a file."""
        return self.imports.once(("defined", path), lambda: definitions(self._files[path], self._language[path]))

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
        around = self._holder(path, parsed)
        member = around is not None and around.kind == "class"
        return CodeDefinition(
            file.name, lines, parsed.qualified, "attribute" if parsed.kind == "variable" and member else parsed.kind
        )

    def around(self, path: str, lines: LineSpan) -> frozenset[CodeDefinition]:
        """The functions and methods that these lines are in, with their declarations."""
        inside = (
            one
            for one in self.defined(path)
            if one.kind in CALLED and one.header.start <= lines.start < one.lines.end and one.lines.end >= lines.end
        )
        return frozenset(
            self.definition(*located)
            for one in inside
            for located in ((path, one), *self.of_name(path, one.name))
            if located[1] is one
            or ((located[1].declaration or one.declaration) and located[1].qualified == one.qualified)
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
        matches = self.rules(matches[0][0]).sure(matches) if matches else ()
        real = [located for located in matches if not located[1].declaration] or matches
        called = [located for located in matches if located[1].kind in CALLED and self.rules(located[0]).overloads]
        if any(
            are_overloads(one, other)
            # Outside of a class, a declaration and a definition are one.
            for index, (_, one) in enumerate(called)
            for _, other in called[:index]
            if one.declaration == other.declaration or None not in (one.parent, other.parent)
        ):
            real = [located for located in real if located[1].kind not in CALLED]
        # In Rust a type is defined once, and may have any number of `impl` blocks.
        real = [located for located in real if located[1].form != "impl"]
        first: dict[tuple[str, str], Located] = {}
        for path, parsed in real:
            first.setdefault((path, parsed.qualified), (path, parsed))
        return tuple(self.definition(*located) for located in first.values())

    def _is_of_trait(self, path: str, parsed: Definition) -> bool:
        around = self._holder(path, parsed)
        return around is not None and around.form == "impl" and " for " in around.signature

    def _holder(self, path: str, parsed: Definition) -> Definition | None:
        return self.defined(path)[parsed.parent] if parsed.parent is not None else None

    def _named_in(self, path: str) -> NamedIn:
        if path not in self._names:
            named = NamedIn(defaultdict(list), defaultdict(list))
            rules = self.rules(path)
            for definition in self.defined(path):
                if definition.broken and definition.kind == "variable":
                    continue
                named.whole[definition.qualified].append(definition)
                parent = self._holder(path, definition)
                enumeration = parent.signature if parent is not None and parent.form == "enum" else ""
                # In C code can name an enumerator without its enumeration, unless that is an `enum class`.
                if parent and enumeration and rules.namespaces and not _SCOPED.search(enumeration):
                    outer = parent.qualified.rpartition(".")[0]
                    same_name = named.whole[f"{outer}.{definition.name}"] if outer else named.top[definition.name]
                    same_name.append(definition)
                # Code can name it without a receiver: outside of classes, or as an inner class.
                if definition.form == "macro":
                    is_top = True
                elif parent is None:
                    is_top = definition.kind != "method" and "." not in definition.qualified
                else:
                    is_top = definition.kind == "class" and self._language[path].name in rules.flat
                if is_top:
                    named.top[definition.name].append(definition)
            self._names[path] = named
        return self._names[path]

    def bare(self, path: str, lines: LineSpan, name: str) -> Answer:
        """Return the definitions of a name without a receiver on some lines, locals aside, or the reason for none."""
        rules = self.rules(path)
        own = self._own(path, lines, name) if rules.implicit_members and lines else ()
        matches, reason = (own, None) if own else self.free(path, lines, name)
        if reason == "unknown":
            classes = self.imports.once(("opened", path), lambda: rules.opened(self, path))
            opened = [members for cls in classes if (members := self.members(path, [cls], name))]
            return (opened[0], None) if len(opened) == 1 else (matches, reason)
        return matches, reason

    def free(self, path: str, lines: LineSpan, name: str, *, is_type: bool = False) -> Answer:
        """Return the same for a name that is no member of a class around; in all namespaces if there are no lines.

        `is_type`: it names a type or a variant, and a function of that name does not hide these.
        """
        if self.rules(path).scripted or any(import_.line is not None for import_ in self.imports.of(path)):
            return self._free(path, lines, name, is_type=is_type)
        # No import holds on some lines alone.
        key = "free", path, name, tuple(self._trees.namespaces(path, lines)) if lines else None, is_type
        return self.imports.once(key, lambda: self._free(path, lines, name, is_type=is_type))

    def _free(self, path: str, lines: LineSpan, name: str, *, is_type: bool) -> Answer:
        rules = self.rules(path)
        outside = False
        for level in self._imports_on(path, lines, name):
            named = [one for one in level if one.name == name and not (one.exported and rules.scripted)]
            if any(one.original is None and one.files for one in named):
                return (), None  # a module
            outside = outside or any(not one.files for one in named)
            imported = dict.fromkeys(located for one in named if one.files for located in self._imported(path, one))
            if any(one.files for one in named):
                sure = rules.sure([*imported]) if not outside else ()
                return sure, None if sure else "unknown"
        top = [(path, definition) for definition in self._named_in(path).top.get(name, ())]
        top = _types(top) if is_type else top
        spaces = [*rules.spaces(self, path, lines, name)] if lines else []
        if outside or not spaces:  # the import may be for a module inside the file
            seen = self._nearest([top], spaces) if spaces else top
            if seen or outside:
                return seen, None if seen else "outside"
        if rules.sees_all:
            visible: Sequence[Sequence[str]] = ([*dict.fromkeys(file for file, _ in self.of_name(path, name))],)
        else:
            visible = self._visible(path)
        # In Rust a file may have an `impl` of a type that another one defines.
        own = [located for located in top if located[1].form != "impl"]
        after = [top] if len(own) < len(top) else []
        groups: Iterable[Sequence[Located]] = chain(
            [own], (self.in_files(path, files, name, None) for files in visible), after
        )
        groups = map(_types, groups) if is_type else groups
        every = [*groups] if spaces else []
        seen = self._nearest(every, spaces) if spaces else next(filter(None, groups), [])
        if rules.namespaces:
            if any(one.form == "macro" and file != path for file, one in seen):  # a build chooses one that is included
                seen = [*chain.from_iterable(every)]
            seen = rules.members(self, path, name, [*seen])
        seen = rules.sure(seen) if lines else seen
        return seen, None if seen else "unknown"

    def _imports_on(self, path: str, lines: LineSpan, name: str) -> Sequence[Sequence[Import]]:
        """Return the imports that hold on some lines, those of a function first; without lines, all of the file.

        A module inside the file has those of the modules around it, if none of its own definitions has the name.
        """
        imports = self.imports.of(path)
        if not lines or all(import_.line is None for import_ in imports):
            return [imports]
        here = self._trees.namespaces(path, lines)
        functions = [one.lines for one in self.defined(path) if one.kind in CALLED]
        levels: dict[int, list[Import]] = defaultdict(list)
        for import_ in imports:
            line = LineSpan(import_.line or 0, (import_.line or 0) + 1)
            around = [span for span in functions if span.contains(line)]
            if around and lines.start in around[-1]:
                levels[len(here) + 1].append(import_)
            elif not around and (place := self._trees.namespaces(path, line)) == here[: len(place)]:
                levels[len(place)].append(import_)
        own = any(self._trees.namespaces(path, one.lines) == here for one in self._named_in(path).top.get(name, ()))
        return [levels[depth] for depth in sorted(levels, reverse=True) if depth >= len(here) or not own]

    def _nearest(
        self, groups: Sequence[Sequence[Located]], spaces: Sequence[Collection[tuple[str, ...]]]
    ) -> Sequence[Located]:
        """Return the definitions in the nearest namespace, in the nearest files; else those of a single namespace.

        In C++ the arguments of a call may lead to their namespace, and macros may open one.
        """
        inside = [[(one, tuple(self.namespaces(one[0], one[1].lines))) for one in group] for group in groups]
        for space in spaces:
            for group in inside:
                if matches := [one for one, own in group if own in space]:
                    return matches
        first: Sequence[Located] = next(filter(None, groups), [])
        alone = len({own for group in inside for _, own in group}) == 1
        return first if alone and self.rules(first[0][0]).namespaces else []

    def _space(self, path: str, lines: LineSpan) -> _Space:
        return None if self.hides_namespaces(path) else tuple(self.namespaces(path, lines))

    def hides_namespaces(self, path: str) -> bool:
        """Return whether a syntax error may hide namespaces of a file."""
        return bool(self.rules(path).nodes.get("spaces")) and self._trees.of(path).root.has_error

    def namespaces(self, path: str, lines: LineSpan) -> list[str]:
        """Return the names of the namespaces around some lines of a file, the outermost first."""
        return self.rules(path).plain_space(self.imports, self._trees.namespaces(path, lines))

    def _visible(self, path: str) -> Sequence[Sequence[str]]:
        """The files whose definitions a file sees without naming the file, in groups, the nearest first."""
        # Files of other languages may be beside it.
        rules = self.rules(path)
        reached = ([file for file in files if self.rules(file) is rules] for files in self._reached(path, rules))
        return self.imports.once(("visible", path), lambda: tuple(reached))

    def _reached(self, path: str, rules: LanguageRules) -> Iterator[Sequence[str]]:
        yield rules.beside(self.imports, path)
        seen = {path}
        reach = [path]
        # Files of which all names are included or imported; in C also the files that these include.
        for _ in range(rules.include_depth if not rules.scripted else 0):
            reach = [
                file
                for reached in reach
                for import_ in self.imports.of(reached)
                if import_.original == EVERY
                for file in import_.files
                if file not in seen
            ]
            seen.update(reach)
            yield reach

    def in_files(
        self,
        path: str,
        files: Sequence[str],
        name: str,
        within: tuple[str, ...] | None = (),
        *,
        tried: _Tried | None = None,
    ) -> list[Located]:
        """Return the definitions of a name at the top level of files as `path` sees them, re-exports included.

        `within` is the module inside the files; () for none, None for any.
        """
        rules = self.rules(path)
        matches: list[Located] = []
        tried = set() if tried is None else tried
        for file in files:
            if (file, name) in tried:
                continue
            tried.add((file, name))
            if rules.scripted:
                matches += self._exported(file, name)
                continue
            named = self._named_in(file).top.get(name, ())
            inside = [one for one in named if within is None or tuple(self.namespaces(file, one.lines)) == within]
            matches += [(file, one) for one in inside if rules.is_seen(self, file, one)]
            if matches or not rules.re_exports or self.rules(file) is not rules:
                continue
            for import_ in self.imports.of(file):
                exported = import_.exported or import_.original == EVERY
                if exported and import_.original is not None and import_.name in (name, EVERY):
                    if import_.original == EVERY:
                        matches += self.in_files(path, import_.files, name, import_.within, tried=tried)
                    else:
                        matches += self._imported(path, import_, tried)
        return matches

    def _exported(self, path: str, name: str) -> Iterator[Located]:
        """Yield the definitions of what a module of a script exports under a name."""
        for file, node in self._trees.exported(path, self._trees.of(path).root, name):
            if node.parent is None:  # a module
                continue
            named = [name_of(node), name_of(unwrapped(node) or node)]
            line_of = self._trees.of(file).span
            tried = [(line_of(place).start, text_of(place)) for place in named]
            parsed = (self._parsed_at(file, line, own) for line, own in (*tried, (tried[-1][0], "default")))
            yield from ((file, definition) for definition in [next(filter(None, parsed), None)] if definition)

    def _imported(self, path: str, import_: Import, tried: _Tried | None = None) -> list[Located]:
        """Return the definitions of an import: in Java it may be a member, in Rust a variant (`use Shape::Round`)."""
        members = self.rules(path).imported_member(self, import_)
        if members is not None:
            return members
        return self.in_files(path, import_.files, import_.original or "", import_.within, tried=tried)

    def of_module(self, path: str, lines: LineSpan, parts: Sequence[str], name: str) -> Answer:
        """Return the definitions of a name in the module that `parts` name; nothing if they name no module."""
        rules = self.rules(path)
        if (special := rules.of_module(self, path, lines, parts, name)) is not None:
            return special
        for import_ in self.imports.of(path):
            if [import_.name] == [*parts] and (import_.original is None or not import_.files):
                matches = self.in_files(path, import_.files, name)
                return matches, None if matches else "unknown" if import_.files else "outside"
        return (), None

    def types(self, path: str, lines: LineSpan, parts: Sequence[str]) -> Answer:
        """Return the types that a qualified name with these `parts` means on some lines, or the reason for none."""
        rules = self.rules(path)
        if not parts or parts[0] in rules.standard:
            return (), "outside" if parts else None
        if parts[1:]:
            matches, reason = self.of_module(path, lines, parts[:-1], parts[-1])
            if matches or reason:
                return matches, reason
            outer = self.types(path, lines, parts[:-1])[0]
            matches = self._own(path, lines, parts[-1]) if parts[0] in rules.self_names else ()
            matches = matches or self.members(path, outer, parts[-1])
            return matches, None if matches else "unknown"
        own = self._own(path, lines, parts[-1]) if rules.implicit_members and lines else []
        own = [located for located in own if located[1].kind == "class"]
        return (own, None) if own else self.free(path, lines, parts[-1], is_type=True)

    def members(self, path: str, classes: Iterable[Located], name: str) -> Sequence[Located]:
        """The members of that name of the first class that has one."""
        rules = self.rules(path)
        matches = (
            self._members(file, cls.qualified, name, rules, self._space(file, cls.lines))
            for file, cls in classes
            if cls.kind == "class"
        )
        return next(filter(None, matches), ())

    def fitting(self, matches: Sequence[Located], arguments: int | None) -> Sequence[Located]:
        """Return the definitions of one name that fit a call's number of arguments; all of them if none fits.

        A class also has the methods of that name of its bases.
        """
        if not matches:
            return matches
        rules = self.rules(matches[0][0])
        if rules.calls_apart:
            matches = [one for one in matches if (one[1].kind in CALLED) == (arguments is not None)] or matches
        candidates = matches
        for _ in range(4 if rules.overloads and arguments is not None else 0):
            if taking := [located for located in candidates if may_take(located[1], arguments)]:
                # In C++ only the declaration has the default values.
                declared = [one for _, one in taking if one.declaration]
                return [
                    located
                    for located in candidates
                    if located in taking or any(not are_overloads(one, located[1]) for one in declared)
                ]
            if not candidates:
                break
            # One part of a partial class of C# may have the method, and another part the base.
            path, method = candidates[0]
            owner = method.qualified.rpartition(".")[0]
            parts = self._seen_from(path, rules, owner) if rules.sees_all else [path]
            space = self._space(path, method.lines)
            bases = [base for part in parts for base in self._bases(part, owner, space)]
            members = (self._members(file, base, method.name, rules, within) for file, base, within in bases)
            candidates = next(filter(None, members), [])
        return matches

    def _own(self, path: str, lines: LineSpan, name: str, *, bases_only: bool = False) -> list[Located]:
        """The members of that name of the innermost class around the lines that has one, bases included.

        `bases_only`: those of the bases of the innermost class.
        """
        rules, line = self.rules(path), lines.start
        space = self._space(path, LineSpan(line, line + 1))
        for qualified in self.imports.once(("classes", path, line), lambda: self._classes_around(path, line)):
            if bases_only:
                bases = self._bases(path, qualified, space)
                members = (self._members(file, base, name, rules, within) for file, base, within in bases)
                return next(filter(None, members), [])
            if matches := self._members(path, qualified, name, rules, space):
                return matches
        return []

    def _classes_around(self, path: str, line: int) -> Sequence[str]:
        """Return the classes around a line, the innermost first."""
        around = [one for one in self.defined(path) if line in one.lines]
        classes = [one.qualified for one in around if one.kind == "class"]
        # A method may be defined outside of its class.
        classes += [one.qualified.rpartition(".")[0] for one in around if one.kind == "method"]
        return [*dict.fromkeys(filter(None, reversed(classes)))]

    def _members(
        self, path: str, qualified: str, name: str, rules: LanguageRules, space: _Space = None
    ) -> list[Located]:
        """The members of this name of a class that a file sees; else those of its bases.

        `space` is the namespace of the class; None for any. A constructor is no member if it has the name of the class.
        """
        tried: _Tried = set()
        stack = [(path, qualified, space)]
        while stack:
            # In Go the members of what a struct embeds hide those that are embedded more deeply.
            path, qualified, space = stack.pop(0 if rules.embeds else -1)
            if (path, qualified) in tried:
                continue
            tried.add((path, qualified))
            if name == qualified.rpartition(".")[2] and rules.implicit_members:
                continue
            full_name = f"{qualified}.{name}"
            # A class in a farther file may be another one of that name.
            files = self._seen_from(path, rules, full_name)
            in_files = (self._within(file, full_name, space) for file in files)
            # A package of Go may have the method in several files, each for another system.
            matches = [*chain.from_iterable(in_files)] if rules.embeds else next(filter(None, in_files), [])
            if matches := rules.members(self, path, full_name, matches):
                return [located for located in matches if not self._is_of_trait(*located)] or matches
            seen = self._seen_from(path, rules, qualified)
            above = [base for file in seen for base in self._bases(file, qualified, space)]
            stack += above if rules.embeds else reversed(above)
        return []

    def _within(self, path: str, qualified: str, space: _Space) -> list[Located]:
        """Return the definitions of a qualified name in a file that are in a namespace; None for any."""
        named = self._named_in(path).whole.get(qualified, ())
        if space is not None:
            named = [one for one in named if self._space(path, one.lines) in (None, space)]
        return [(path, one) for one in named]

    def _seen_from(self, path: str, rules: LanguageRules, qualified: str) -> Collection[str]:
        """A file and those whose names it sees, the nearest first; if it sees all files, those with this name."""
        if rules.sees_all:
            named = self.of_name(path, qualified.rpartition(".")[2])
            return dict.fromkeys([path, *(file for file, one in named if one.qualified == qualified)])
        return dict.fromkeys([path, *chain.from_iterable(self._visible(path))])

    def _bases(self, file: str, qualified: str, space: _Space) -> Sequence[tuple[str, str, _Space]]:
        """Return (file, qualified name, namespace) of the classes that a class names in its header."""
        key = file, qualified, space
        if key not in self._above:
            self._above[key] = ()  # a base may be looked up in the class that names it
            self._above[key] = self._read_bases(*key)
        return self._above[key]

    def _read_bases(self, file: str, qualified: str, space: _Space) -> Sequence[tuple[str, str, _Space]]:
        classes = [cls for _, cls in self._within(file, qualified, space) if cls.kind == "class"]
        if self.rules(file).embeds:
            embedded = (parts for struct in classes for parts in self._static.embedded(file, struct))
            named = [base for parts in embedded for base in self.types(file, NOWHERE, parts)[0]]
        else:
            words = ((cls, word) for cls in classes for word in _BASE.findall(_header(cls)))
            named = [
                base for cls, word in words for base in self.types(file, LineSpan(cls.named, cls.named + 1), (word,))[0]
            ]
        above = (
            (other, base.qualified, self._space(other, base.lines))
            for other, base in named
            if base.kind == "class" and base.qualified != qualified
        )
        return tuple(dict.fromkeys(above))


def _types(matches: Iterable[Located]) -> list[Located]:
    """Return the types and variants among definitions."""
    return [located for located in matches if located[1].kind == "class" or located[1].form == "enumerator"]


def _header(parsed: Definition) -> str:
    """Return what follows the name of a class, without type arguments: `Order` in `List<Order>` is not a base."""
    # In C# the bounds of type parameters are last. In Rust the trait of an `impl` is first.
    before, named, after = parsed.signature.partition(" for " if parsed.form == "impl" else parsed.name)
    text = before * bool(named) if parsed.form == "impl" else after.split(" where ")[0]
    while (shorter := re.sub(r"<[^<>]*>", "", text)) != text:
        text = shorter
    return text
