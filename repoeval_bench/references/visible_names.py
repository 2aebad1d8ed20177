"""What names mean in the files of a repository, in the languages other than Python: by scope, imports and bases."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.references.file_definitions import IMPLICIT, FileDefinitions
from repoeval_bench.references.imports import EVERY, Import, Imports
from repoeval_bench.references.script_trees import Trees
from repoeval_bench.references.static_nodes import may_take, parameters_of
from repoeval_bench.references.static_places import StaticPlaces

if TYPE_CHECKING:
    from repoeval_bench.core.definitions import Definition as Parsed
    from repoeval_bench.references.python_modules import Reason
    from repoeval_bench.references.steps import Steps

STANDARD = {"c": ("std",), "rust": ("std", "core", "alloc")}
"""Family -> what its standard library is called where a name is looked up in it."""
_BASE = re.compile(r"(?:\w+(?:\.|::))*(\w+)")
"""A name, and of `Outer.Inner` the last."""


class VisibleNames(FileDefinitions):
    """What a file sees under a name, and what a class has under one."""

    def __init__(self, files: Iterable[SourceFile], steps: Steps) -> None:
        super().__init__(files)
        self.steps = steps
        self._imports = Imports(self._files)
        self._trees = Trees(self._files, self._imports, steps)
        self._static = StaticPlaces(self._trees, self)
        self._seen: dict[str, tuple[Sequence[str], ...]] = {}
        self._above: dict[tuple[str, str], Sequence[tuple[str, str]]] = {}

    def bare(self, path: str, lines: LineSpan, name: str) -> tuple[Sequence[tuple[str, Parsed]], Reason | None]:
        """(file, definition) of what a name alone means on some lines of a file, locals aside, or why there is none."""
        family = self.family(path) or ""
        if family in IMPLICIT and lines and (found := self._own(path, lines, name)):
            return found, None
        outside = False
        for each in self._imports.of(path, family):
            if each.name == name:
                if not each.files:
                    outside = True
                elif each.original is None:
                    return (), None  # a module
                elif found := self._given(each, name, family, 0):
                    return found, None
        if top := self._named_in(path).top.get(name):  # what is imported may be for a module in the file
            return [(path, each) for each in top], None
        if outside:
            return (), "third party"
        for files in self._visible(path, family) if family != "csharp" else (self._tops.get(name, ()),):
            if found := self._in_files(files, name, name, family, 0):
                return found, None
        return (), "unresolved"

    def _visible(self, path: str, family: str) -> Sequence[Sequence[str]]:
        """The files whose definitions are seen without naming them, nearest first."""
        if path not in self._seen:
            # Beside a file there may be files of other languages.
            reached = ([file for file in files if self.family(file) == family] for files in self._reached(path, family))
            with self.steps.apart():
                self._seen[path] = tuple(reached)
        return self._seen[path]

    @cached_property
    def _tops(self) -> Mapping[str, Sequence[str]]:
        """The files of C# by the names at their tops: each file sees all of them."""
        return self._by_names(lambda path: self._named_in(path).top)

    @cached_property
    def _wholes(self) -> Mapping[str, Sequence[str]]:
        """The files of C# by the qualified names in them."""
        return self._by_names(lambda path: self._named_in(path).whole)

    def _by_names(self, names_of: Callable[[str], Iterable[str]]) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for path in self._files:
            for name in names_of(path) if self.family(path) == "csharp" else ():
                found[name].append(path)
        return found

    def _reached(self, path: str, family: str) -> Iterator[Sequence[str]]:
        if family in ("go", "java"):
            yield self._imports.beside(path)
        seen = {path}
        reach = [path]
        # What is included or imported whole; in C also through what that includes.
        for _ in range(4 if family == "c" else 1):
            reach = [
                file
                for each in reach
                for found in self._imports.of(each, family)
                if found.original == EVERY and (each == path or family == "c")
                for file in found.files
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
        family: str,
        depth: int,
        tried: dict[tuple[str, str], int] | None = None,
    ) -> list[tuple[str, Parsed]]:
        """What files define under a name at their top, or give on from others.

        `tried`: how deep each was asked so far, as many ways may lead to one file.
        """
        found = []
        tried = {} if tried is None else tried
        self.steps.take(len(files))
        for path in files:
            if tried.get((path, original), depth + 1) <= depth:
                continue
            tried[path, original] = depth
            top = self._named_in(path).top
            if original == "default":
                found += [(path, e) for each in top.values() for e in each if self._is_default(path, e)]
                found = found or [(path, each) for each in top.get(name, ())]
            found += [(path, each) for each in top.get(original, ())]
            if found or depth > 4 or family == "c":  # in C what an include includes is seen, only farther away
                continue
            for each in self._imports.of(path, family):
                given_on = each.exported or each.original == EVERY
                if given_on and each.original is not None and each.name in (original, EVERY):
                    if each.original == EVERY:
                        found += self._in_files(each.files, original, name, family, depth + 1, tried)
                    else:
                        found += self._given(each, name, family, depth + 1, tried)
        return found

    def _given(
        self, of: Import, name: str, family: str, depth: int, tried: dict[tuple[str, str], int] | None = None
    ) -> list[tuple[str, Parsed]]:
        """What is imported by its name: in Java it may be a member, in Rust a variant, as in `use Shape::Round`."""
        original = of.original or ""
        if family == "java" and "." in original:
            held, _, own = original.rpartition(".")
            return next(filter(None, (self._members(path, held, own, family) for path in of.files)), [])
        found = self._in_files(of.files, original, name, family, depth, tried)
        if found or family != "rust":
            return found
        every = ((path, each) for path in of.files for each in self.defined(path))
        return [each for each in every if (each[1].form, each[1].name) == ("enumerator", original)]

    def _is_default(self, path: str, parsed: Parsed) -> bool:
        start = parsed.header.start
        begins = self._files[path].line_text(LineSpan(start, start + 1)).strip()
        return begins.startswith(("export default", "module.exports ="))

    @cached_property
    def _namespaces(self) -> frozenset[str]:
        """The namespaces of C++ that the files have."""
        files = (file.text for path, file in self._files.items() if self.family(path) == "c")
        return frozenset(name for text in files for name in re.findall(r"\bnamespace\s+(\w+)", text))

    def of_module(
        self, path: str, steps: Sequence[str], name: str
    ) -> tuple[Sequence[tuple[str, Parsed]], Reason | None]:
        """The same of a name of a module; nothing where the steps are not those of one."""
        if self.family(path) == "c" and self._namespaces.issuperset(steps):
            return self.bare(path, LineSpan(0, 0), name)
        if self.family(path) == "java" and (files := self._imports.java_class([*steps, name])):
            return self._in_files(files, name, name, "java", 0), None
        for each in self._imports.of(path, self.family(path) or ""):
            if [each.name] == [*steps] and (each.original is None or not each.files):
                found = self._in_files(each.files, name, name, self.family(path) or "", 0)
                return found, None if found else "third party"
        return (), None

    def types(self, path: str, steps: Sequence[str]) -> tuple[Sequence[tuple[str, Parsed]], Reason | None]:
        """The same of a type's name, whose parts these are."""
        if not steps or steps[0] in STANDARD.get(self.family(path) or "", ()):
            return (), "third party" if steps else None
        if steps[1:]:
            found, reason = self.of_module(path, steps[:-1], steps[-1])
            if not (found or reason) and self.family(path) == "rust":
                found = self._in_files(self._imports.crate(path, tuple(steps[:-1])), steps[-1], steps[-1], "rust", 0)
            if found or reason:
                return found, reason
            if not self._is_here(path, steps):
                return (), "third party"
            if self.family(path) in ("java", "csharp") and (outer := self.types(path, steps[:-1])[0]):
                found = self._of_classes(outer, self.family(path) or "", steps[-1])
                return found, None if found else "unresolved"
        return self.bare(path, LineSpan(0, 0), steps[-1])

    def _is_here(self, path: str, steps: Sequence[str]) -> bool:
        """Whether what a type's name is looked up in may be of these files: `serde_json::Error` is none of theirs.

        A package of Go has been imported. In C, C++ and C# a namespace may be made by a macro or a tool.
        """
        family = self.family(path)
        if family not in ("java", "rust"):
            return family != "go"
        outer = self.bare(path, LineSpan(0, 0), steps[-2])[0]
        if family == "java":
            return bool(outer) or any(self._imports.java_class(steps[:at]) for at in range(2, len(steps) + 1))
        known = {"crate", "self", "super", *(each.name for each in self._imports.of(path, family) if each.files)}
        module = rf"\bmod\s+{re.escape(steps[0])}\b"
        # A crate's name is written small; what is written large may be a type parameter.
        here = outer or steps[0] in known or not steps[0].islower() or self._imports.crate(path, (steps[0],))
        return bool(here or re.search(module, self._files[path].text))

    def members(self, path: str, classes: Iterable[tuple[str, Parsed]], name: str) -> Sequence[tuple[str, Parsed]]:
        """The members of that name of the first class that has one."""
        return self._of_classes(classes, self.family(path) or "", name)

    def _of_type(self, path: str, family: str, of: str, name: str) -> Sequence[tuple[str, Parsed]]:
        """The member of the class that a file calls so."""
        return self._of_classes(self.bare(path, LineSpan(0, 0), of)[0], family, name)

    def _of_classes(
        self, classes: Iterable[tuple[str, Parsed]], family: str, name: str
    ) -> Sequence[tuple[str, Parsed]]:
        found = (self._members(where, each.qualified, name, family) for where, each in classes if each.kind == "class")
        return next(filter(None, found), ())

    def fitting(self, found: Sequence[tuple[str, Parsed]], arguments: int | None) -> Sequence[tuple[str, Parsed]]:
        """Of what has one name that which a call with so many arguments can be for, where that leaves any.

        In Java and C# a class has its base's methods of that name beside its own; in C# one of its own that can be
        called so, by defaults or `params`, comes first.
        """
        at = found
        for _ in range(4):
            if not at:
                break
            path, method = at[0]
            family = self.family(path) or ""
            if family == "java":  # a field may have the name of a method
                at = [each for each in at if (each[1].kind == "method") == (arguments is not None)]
            if kept := [each for each in at if arguments in (None, len(parameters_of(each[1].signature)))]:
                return kept
            if family not in ("java", "csharp") or arguments is None:
                break
            if family == "csharp" and (kept := [each for each in at if may_take(each[1].signature, arguments)]):
                return kept
            # A part of a class of C# may have the method, and another part its base.
            of = method.qualified.rpartition(".")[0]
            parts = self._seen_from(path, family, of) if family == "csharp" else [path]
            bases = [base for part in parts for base in self._bases(part, of, family)]
            at = next(filter(None, (self._members(file, of, method.name, family) for file, of in bases)), [])
        return found

    def _own(self, path: str, lines: LineSpan, name: str, *, above: bool = False) -> list[tuple[str, Parsed]]:
        """The member of the classes around the lines, or of their bases, the innermost first.

        `above`: of the bases alone of the innermost one.
        """
        family = self.family(path) or ""
        defined = self.defined(path)
        around = [each for each in defined if each.lines.start <= lines.start < each.lines.end]
        classes = [each.qualified for each in around if each.kind == "class"]
        # A method may be outside of its class.
        classes += [each.qualified.rpartition(".")[0] for each in around if each.kind == "method"]
        for qualified in dict.fromkeys(filter(None, reversed(classes))):
            if above:
                bases = self._bases(path, qualified, family)
                return next(filter(None, (self._members(at, of, name, family) for at, of in bases)), [])
            if found := self._members(path, qualified, name, family):
                return found
        return []

    def _members(self, path: str, qualified: str, name: str, family: str) -> list[tuple[str, Parsed]]:
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
            if name == qualified.rpartition(".")[2] and family in IMPLICIT:
                continue
            wanted = f"{qualified}.{name}"
            # A class farther away may be another of its name.
            files = self._seen_from(path, family, wanted)
            self.steps.take(len(files))
            held = ((file, self._named_in(file).whole.get(wanted, ())) for file in files)
            found = next(([(file, each) for each in members] for file, members in held if members), [])
            if family == "c" and found and all(each.declaration for _, each in found):
                # A class declares in its header what is defined elsewhere.
                named = self._named.get((family, name), ())
                found += [each for each in named if each[1].qualified == wanted and each[1].kind != "variable"]
            if not found and family == "rust":  # an `impl` may be in any file
                found = [each for each in self._named.get((family, name), ()) if each[1].qualified == wanted]
                found = found if len({at for at, _ in found}) == 1 else []
            if found:
                return [each for each in found if not self._is_of_trait(*each)] or found
            if depth <= 3:
                files = self._seen_from(path, family, qualified)
                above = [(at, of, depth + 1) for file in files for at, of in self._bases(file, qualified, family)]
                ahead += reversed(above)
        return []

    def _seen_from(self, path: str, family: str, qualified: str) -> Collection[str]:
        """A file and those whose names it sees, the nearest first; of C#, where it sees all, those with this name."""
        if family == "csharp":
            return dict.fromkeys([path, *self._wholes.get(qualified, ())])
        return dict.fromkeys([path, *(each for found in self._visible(path, family) for each in found)])

    def _bases(self, file: str, qualified: str, family: str) -> Sequence[tuple[str, str]]:
        """(file, qualified name) of the classes that a class of a file names in its header behind its own name."""
        if (file, qualified) not in self._above:
            with self.steps.apart():
                self._above[file, qualified] = self._read_bases(file, qualified, family)
        return self._above[file, qualified]

    def _read_bases(self, file: str, qualified: str, family: str) -> Sequence[tuple[str, str]]:
        words = [
            word
            for each in self._named_in(file).whole.get(qualified, ())
            if each.kind == "class"
            for word in _BASE.findall(_without_arguments(each.signature.partition(each.name)[2]))
        ]
        named = [found for word in words for found in self.bare(file, LineSpan(0, 0), word)[0]]
        if family == "go":
            structs = (each for each in self._named_in(file).whole.get(qualified, ()) if each.kind == "class")
            inside = (steps for each in structs for steps in self._static.embedded(file, each))
            named = [found for steps in inside for found in self.types(file, steps)[0]]
        above = ((at, of.qualified) for at, of in named if of.kind == "class" and of.qualified != qualified)
        return tuple(dict.fromkeys(above))


def _without_arguments(text: str) -> str:
    """Without type arguments: `Order` in `List<Order>` is not a base."""
    while (shorter := re.sub(r"<[^<>]*>", "", text)) != text:
        text = shorter
    return text
