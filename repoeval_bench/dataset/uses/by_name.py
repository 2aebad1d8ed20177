"""The names on some lines in the languages other than Python: led to definitions by name, scope and imports.

Types are looked at in JavaScript and TypeScript alone. What is called on a value of unknown type is `dynamic`, and its
name alone may tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import GrammarError
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.uses import KINDS, Definition, Kind
from repoeval_bench.dataset.uses.file_definitions import IMPLICIT, FileDefinitions
from repoeval_bench.dataset.uses.imports import EVERY, Imports
from repoeval_bench.dataset.uses.python_names import Found
from repoeval_bench.dataset.uses.script_places import ScriptPlaces
from repoeval_bench.dataset.uses.script_trees import Trees
from repoeval_bench.dataset.uses.static_types import Members, StaticTypes
from repoeval_bench.dataset.uses.tree_names import IDENTIFIERS, is_bound, is_macro, receiver_of, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.core.definitions import Definition as Parsed
    from repoeval_bench.dataset.uses.python_modules import Reason

_OWN = frozenset({"this", "self", "Self", "super", "base", "cls"})
_TYPED = 2_000
"""Characters of a line up to which its names are looked at by type: a longer one can be nested as deeply as it is long,
and each step up a tree begins at its root."""
_ABOVE = frozenset({"super", "base"})
_CAN_BE: Mapping[tuple[str, bool], frozenset[Kind]] = {
    ("javascript", True): frozenset({"method", "attribute", "function"}),  # a function can be one of a module
    ("javascript", False): frozenset({"function", "class", "variable"}),
    ("java", False): frozenset({"class", "attribute"}),  # an enumerator has no object in a `case`
}
"""(family, whether a name is looked up in something) -> the kinds that it can be of by its name alone."""
_STANDARD = {"c": ("std",), "rust": ("std", "core", "alloc")}
"""Family -> what its standard library is called where a name is looked up in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Use:
    """A name with what it is looked up in ("" where nothing), its place, and whether it is bound or a macro right here.

    `typed` is what it means by its type in JavaScript and TypeScript; None where that is no definition of the
    repository, such as a key of an object. In the other languages `members` are what it is of what it is looked up in,
    if `inside`.
    """

    name: str
    receiver: str
    line: int
    column: int
    binds: bool
    macro: bool
    typed: tuple[Definition, ...] | None
    inside: bool
    members: Members


class ByName(FileDefinitions):
    """The names in the files of a repository that are in one of the families."""

    def __init__(self, files: Iterable[SourceFile]) -> None:
        super().__init__(files)
        self._imports = Imports(self._files)
        self._trees = Trees(self._files, self._imports)
        self._types = ScriptPlaces(self._trees)
        self._static = StaticTypes(self._trees, self)
        self._seen: dict[str, tuple[Sequence[str], ...]] = {}
        self._above: dict[tuple[str, str], Sequence[tuple[str, str]]] = {}

    def names_in(self, path: str, lines: LineSpan) -> list[Found] | None:
        """Every name on these lines in order; None where the file's grammar is not installed."""
        uses = self._uses(path, lines)
        if uses is None:
            return None
        here, local = uses
        return [self._resolve(path, lines, use, local) for use in here]

    def _uses(self, path: str, lines: LineSpan) -> tuple[list[_Use], frozenset[str]] | None:
        """(the names on the lines, the names that the functions around them bind)."""
        language = self._language[path]
        around = [
            each.lines
            for each in self.defined(path)
            if each.kind in ("function", "method") and each.lines.overlaps(lines)
        ]
        wanted = LineSpan(min([lines.start, *(e.start for e in around)]), max([lines.end, *(e.end for e in around)]))
        query = "[" + " ".join(f"({kind})" for kind in IDENTIFIERS[language.name]) + "] @name"
        found: list[_Use] = []
        local = {each.name for each in self.defined(path) if lines.contains(each.lines) and lines != each.lines}
        file = self._files[path]
        try:
            parsed = self._trees.of(path)
            for match in parsed.matches(query, wanted):
                (node,) = match["name"]
                at = parsed.span(node)
                if not receiver_of(node) and is_bound(node):
                    local.add(parsed.text(node))
                if at.start in lines:
                    line = file.chars_of(at)
                    column = parsed.chars(node).start - line.start
                    found.append(self._use(path, lines, node, (at.start, column), typed=len(line) <= _TYPED))
        except GrammarError:
            return None
        return found, frozenset(local)

    def _use(self, path: str, lines: LineSpan, node: Node, place: tuple[int, int], *, typed: bool) -> _Use:
        receiver = text_of(receiver_of(node))
        scripted = self.family(path) == "javascript"
        types = self._typed(path, lines, node) if typed and scripted else ()
        inside, members = self._static.named(path, node) if typed and not scripted else (bool(receiver), ())
        binds = not receiver and is_bound(node)
        line, column = place
        return _Use(
            name=text_of(node),
            receiver=receiver,
            line=line,
            column=column,
            binds=binds,
            macro=is_macro(node),
            typed=types,
            inside=inside,
            members=members,
        )

    def _typed(self, path: str, lines: LineSpan, node: Node) -> tuple[Definition, ...] | None:
        """What a name means by its type, other than what is defined on the lines; none where it may be several.

        None where all that it may mean is no definition, or is on the lines.
        """
        places = {
            (where, self._trees.of(where).span(each).start, text_of(each))
            for where, each in self._types.named(path, node)
        }
        parsed = ((where, self._parsed_at(where, line, name)) for where, line, name in sorted(places))
        kept = [(where, each) for where, each in parsed if each and (where != path or not lines.contains(each.lines))]
        found = self._best(kept)
        return found if len(found) == 1 else () if found or not places else None

    def _resolve(self, path: str, lines: LineSpan, use: _Use, local: frozenset[str]) -> Found:
        family = self.family(path) or ""
        found: Sequence[tuple[str, Parsed]] = ()
        reason: Reason | None = None
        if use.macro:  # a crate's macros are seen in all of it, and only where one is called
            found = [each for each in self._named.get((family, use.name), ()) if each[1].form == "macro"]
            found, reason = (found, None) if len(found) == 1 else ((), "unresolved" if found else "builtin")
        elif use.receiver in _OWN:
            above = use.receiver in _ABOVE and family != "rust"
            found = () if use.typed and above else self._own(path, lines, use.name, above=above)
            reason = None if found else "unresolved"
        elif use.inside and (use.members or use.members is None):
            found, reason = use.members or (), None if use.members else "third party"
        elif use.inside and not use.receiver:
            reason = "dynamic"
        elif use.receiver:
            head = re.split(r"\W+", use.receiver)[0]
            plain = use.receiver.replace("::", ".").split(".")
            if plain[0] in _STANDARD.get(family, ()):
                reason = "builtin"
            elif head in local or not all(map(str.isidentifier, plain)):
                reason = "dynamic"
            else:
                found, reason = self._of_receiver(path, family, plain, use.name)
        elif use.binds or use.name in local:
            return Found(name=use.name, line=use.line, column=use.column, definitions=use.typed or ())
        else:
            found, reason = self._bare(path, lines, family, use.name)
            found = [each for each in found if family != "rust" or each[1].form != "macro"]
        kept = self._best([each for each in found if each[0] != path or not lines.contains(each[1].lines)])
        if not kept and reason in ("dynamic", "unresolved"):
            kept = use.typed or ()
            # What a class of JavaScript does not declare is set on `this`, and is not a member of another class.
            known = use.typed is None or (use.receiver == "this" and family == "javascript")
            reason = None if known else reason
        kinds = _CAN_BE.get((family, bool(use.receiver)), KINDS)
        return Found(
            name=use.name,
            line=use.line,
            column=use.column,
            definitions=kept,
            reason=None if kept else reason,
            kinds=kinds,
        )

    def _bare(
        self, path: str, lines: LineSpan, family: str, name: str
    ) -> tuple[Sequence[tuple[str, Parsed]], Reason | None]:
        if family in IMPLICIT and lines and (found := self._own(path, lines, name)):
            return found, None
        outside = False
        for each in self._imports.of(path, family):
            if each.name == name:
                if not each.files:
                    outside = True
                elif each.original is None:
                    return (), None  # a module
                elif found := self._in_files(each.files, each.original, name, family, 0):
                    return found, None
        if outside:
            return (), "third party"
        if top := self._named_in(path).top.get(name):
            return [(path, each) for each in top], None
        for files in self._visible(path, family):
            if found := self._in_files(files, name, name, family, 0):
                return found, None
        return (), "unresolved"

    def _visible(self, path: str, family: str) -> Sequence[Sequence[str]]:
        """The files whose definitions are seen without naming them, nearest first."""
        if path not in self._seen:
            # Beside a file, or in its repository, there may be files of other languages.
            reached = ([file for file in files if self.family(file) == family] for files in self._reached(path, family))
            self._seen[path] = tuple(reached)
        return self._seen[path]

    def _reached(self, path: str, family: str) -> Iterator[Sequence[str]]:
        if family in ("go", "java"):
            yield self._imports.beside(path)
        if family == "csharp":
            yield list(self._files)
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
        self, files: Sequence[str], original: str, name: str, family: str, depth: int
    ) -> list[tuple[str, Parsed]]:
        """What files define under a name at their top, or give on from others."""
        found = []
        for path in files:
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
                    inner = original if each.original == EVERY else each.original
                    found += self._in_files(each.files, inner, name, family, depth + 1)
        return found

    def _is_default(self, path: str, parsed: Parsed) -> bool:
        start = parsed.header.start
        begins = self._files[path].line_text(LineSpan(start, start + 1)).strip()
        return begins.startswith(("export default", "module.exports ="))

    def _of_receiver(
        self, path: str, family: str, steps: Sequence[str], name: str
    ) -> tuple[Sequence[tuple[str, Parsed]], Reason | None]:
        for each in self._imports.of(path, family):
            if each.name == steps[0] and len(steps) == 1:
                if not each.files:
                    return (), "third party"
                if each.original is None:
                    found = self._in_files(each.files, name, name, family, 0)
                    return found, None if found else "unresolved"
        if members := self._of_type(path, family, steps[-1], name):
            return members, None
        _, reason = self._bare(path, LineSpan(0, 0), family, steps[-1])
        return (), reason if reason == "third party" else "dynamic"

    def _of_type(self, path: str, family: str, of: str, name: str) -> Sequence[tuple[str, Parsed]]:
        """The member of the class that a file calls so."""
        return self._of_classes(self._bare(path, LineSpan(0, 0), family, of)[0], family, name)

    def _of_classes(
        self, classes: Iterable[tuple[str, Parsed]], family: str, name: str
    ) -> Sequence[tuple[str, Parsed]]:
        found = (self._members(where, each.qualified, name, family) for where, each in classes if each.kind == "class")
        return next(filter(None, found), ())

    def bare(self, path: str, lines: LineSpan, name: str) -> tuple[Sequence[tuple[str, Parsed]], Reason | None]:
        """(file, definition) of what a name alone means on some lines of a file, locals aside, or why there is none."""
        return self._bare(path, lines, self.family(path) or "", name)

    def of_module(
        self, path: str, steps: Sequence[str], name: str
    ) -> tuple[Sequence[tuple[str, Parsed]], Reason | None]:
        """The same of a name of a module; nothing where the steps are not those of one."""
        for each in self._imports.of(path, self.family(path) or ""):
            if [each.name] == [*steps] and (each.original is None or not each.files):
                found = self._in_files(each.files, name, name, self.family(path) or "", 0)
                return found, None if found else "third party"
        return (), None

    def types(self, path: str, steps: Sequence[str]) -> tuple[Sequence[tuple[str, Parsed]], Reason | None]:
        """The same of a type's name, whose parts these are."""
        if not steps or steps[0] in _STANDARD.get(self.family(path) or "", ()):
            return (), "third party" if steps else None
        if steps[1:]:
            found, reason = self.of_module(path, steps[:-1], steps[-1])
            if found or reason:
                return found, reason
        return self.bare(path, LineSpan(0, 0), steps[-1])

    def members(self, path: str, classes: Iterable[tuple[str, Parsed]], name: str) -> Sequence[tuple[str, Parsed]]:
        """The members of that name of the first class that has one."""
        return self._of_classes(classes, self.family(path) or "", name)

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
        tried = set()
        ahead = [(path, qualified, 0)]
        while ahead:
            if (step := ahead.pop()) in tried:  # bases of bases lead to the same again and again
                continue
            tried.add(step)
            path, qualified, depth = step
            if name == qualified.rpartition(".")[2] and family in IMPLICIT:
                continue
            wanted = f"{qualified}.{name}"
            files = dict.fromkeys([path, *(each for found in self._visible(path, family) for each in found)])
            # A class farther away may be another of its name.
            held = ((file, self._named_in(file).whole.get(wanted, ())) for file in files)
            found = next(([(file, each) for each in members] for file, members in held if members), [])
            if family == "c" and found and all(each.declaration for _, each in found):
                # A class declares in its header what is defined elsewhere.
                named = self._named.get((family, name), ())
                found += [each for each in named if each[1].qualified == wanted and each[1].kind != "variable"]
            if found:
                return found
            if depth <= 3:
                above = [(at, of, depth + 1) for file in files for at, of in self._bases(file, qualified, family)]
                ahead += reversed(above)
        return []

    def _bases(self, file: str, qualified: str, family: str) -> Sequence[tuple[str, str]]:
        """(file, qualified name) of the classes that a class of a file names in its header behind its own name."""
        if (file, qualified) not in self._above:
            words = [
                word
                for each in self._named_in(file).whole.get(qualified, ())
                if each.kind == "class"
                for word in re.findall(r"\w+", each.signature.partition(each.name)[2])
            ]
            named = [found for word in words for found in self._bare(file, LineSpan(0, 0), family, word)[0]]
            if family == "go":
                structs = (each for each in self._named_in(file).whole.get(qualified, ()) if each.kind == "class")
                inside = (steps for each in structs for steps in self._static.embedded(file, each))
                named = [found for steps in inside for found in self.types(file, steps)[0]]
            above = ((at, of.qualified) for at, of in named if of.kind == "class" and of.qualified != qualified)
            self._above[file, qualified] = tuple(dict.fromkeys(above))
        return self._above[file, qualified]
