"""Rust: `use` and module paths, `impl` in any file, macros; smart pointers have the members of their target."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from repoeval_bench.core.spans import LineSpan
from repoeval_bench.own.references.language_rules import NOWHERE, Answer, Import, Imports, LanguageRules, Located, Names
from repoeval_bench.own.references.tree_names import text_of

if TYPE_CHECKING:
    from tree_sitter import Node


_USE = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+(?P<tree>[^;]+);", re.MULTILINE)
_TYPE = re.compile(r"\b(?:enum|struct|trait)\s+(\w+)")
_MODULE = re.compile(r"\bmod\s+(\w+)\s*\{")
_USE_PART = re.compile(r"([^{},]*)([{},]|$)")

_PATTERNS = ("let_declaration", "let_condition", "for_expression", "match_arm", "closure_parameters", "parameter")


class Rust(LanguageRules):
    """Rust."""

    def refers(self, node: Node, name: Node) -> bool:
        """Return whether a name in a pattern is a constant or a variant, which begin with a capital."""
        return not name.type.startswith("type") and node.type in _PATTERNS and text_of(name)[:1].isupper()

    def imports(self, files: Imports, path: str, text: str) -> Iterator[Import]:
        """Read `use` declarations, those of other crates of the repository too."""
        types = frozenset(_TYPE.findall(text))
        for match in _USE.finditer(text):
            exported = match[0].lstrip().startswith("pub")
            line = text.count("\n", 0, match.start("tree"))
            inside = files.namespaces(path, LineSpan(line, line + 1))
            for parts, name in _use_tree(re.sub(r"\s+", " ", match["tree"])):
                if parts[0] in types:
                    parts = ("self", *parts)  # noqa: PLW2901
                parts = _from_file(parts, inside)  # noqa: PLW2901
                if parts[-1] == "self" and parts[1:]:  # `a::b::{self}` is `a::b`
                    parts, name = parts[:-1], name if name != "self" else parts[-2]  # noqa: PLW2901
                # The file of the modules that the path begins with, and how many these are.
                reached = ((_module(files, path, parts[:end]), end) for end in range(len(parts), 0, -1))
                module, end = next((one for one in reached if one[0]), ((), 0))
                original = "::".join(parts[end:] if module else parts[-1:]) or None  # none of a module
                within = _inside(files, parts[:end], module)
                yield Import(name, original, module, exported, within=within, line=line)

    def imported_member(self, names: Names, imported: Import) -> list[Located] | None:
        """Return what an import names in a type or in a module that the file only passes on."""
        *parts, name = (imported.original or "").split("::")
        if not parts or not imported.files:
            return None
        file = imported.files[0]
        if (targets := self.of_module(names, file, NOWHERE, parts, name)) is not None:
            return [*targets[0]]
        return [*names.members(file, names.types(file, NOWHERE, parts)[0], name)]

    def opened(self, names: Names, path: str) -> Sequence[Located]:
        """Return the enumerations of `use Shape::*`."""
        every = (one for one in names.imports.of(path) if one.files and (one.original or "").endswith("::*"))
        parts = ((one.files[0], (one.original or "").split("::")[:-1]) for one in every)
        return [located for file, named in parts for located in names.types(file, NOWHERE, named)[0][:1]]

    def spaces(self, names: Names, path: str, lines: LineSpan, name: str) -> Iterator[Collection[tuple[str, ...]]]:
        """Yield the modules around some lines in their file, the innermost first: items there hide others."""
        around = names.namespaces(path, lines)
        yield from ((tuple(around[:end]),) for end in range(len(around), -1, -1))

    def qualifier(self, path: str, receiver: Node) -> str:
        """Return the path of a receiver from the crate on, for one that begins with `self` or `super`."""
        text, after = text_of(receiver), receiver.next_sibling
        before = receiver.prev_sibling
        # The arguments of a macro are a flat row of tokens.
        while receiver.parent is not None and receiver.parent.type == "token_tree" and before and before.type == "::":
            start = before.prev_sibling
            text, before = f"{text_of(start)}::{text}", start.prev_sibling if start is not None else None
        first, *rest = text.split("::")
        if first not in ("self", "super") or after is None or after.type != "::":
            return text
        around = receiver.parent
        inner: list[str] = []
        while around is not None:
            if around.type == "mod_item":
                inner.insert(0, text_of(around.child_by_field_name("name")))
            around = around.parent
        here = [*filter(None, _own(path).removeprefix(_root(path)).split("/")), *inner]
        for part in (first, *rest):
            if part not in ("self", "super"):
                break
            here = here[:-1] if part == "super" else here
        return "::".join(("crate", *here, *(part for part in rest if part not in ("self", "super"))))

    def of_module(self, names: Names, path: str, lines: LineSpan, parts: Sequence[str], name: str) -> Answer | None:
        """Return the definitions of a name in the module at a path that begins at the crate, or at a known module."""
        start, inside, tried = path, tuple(parts), set[tuple[str, str]]()
        while (start, inside[0]) not in tried:
            tried.add((start, inside[0]))
            passed = (
                one for one in names.imports.of(start) if one.name == inside[0] and (one.exported or start == path)
            )
            if (imported := next(passed, None)) is None:
                break
            if not imported.files:
                return None
            first = ("self", *imported.within) if imported.original is None else imported.original.split("::")
            start, inside = imported.files[0], (*first, *inside[1:])
        files = _module(names.imports, start, inside)
        matches = names.in_files(path, files, name, _inside(names.imports, inside, files))
        return (matches, "unknown" if files and not matches else None) if matches or files else None

    def members(self, names: Names, path: str, qualified: str, matches: list[Located]) -> list[Located]:
        """Return the members in the files that `path` sees, else those of an `impl`, which may be in any file."""
        owner, _, name = qualified.rpartition(".")
        if not matches:
            named = [located for located in names.of_name(path, name) if located[1].qualified == qualified]
            matches = [located for located in named if _is_of(names, path, owner, located)]
        types = names.types(path, NOWHERE, owner.split("."))[0]
        if types and all(one.form == "impl" for _, one in types):
            # A trait for several types may have more of a type from outside.
            matches = [located for located in matches if not _is_for_one(names, owner, located)]
        return matches if len({file for file, _ in matches}) == 1 else []

    def sure(self, matches: Sequence[Located]) -> Sequence[Located]:
        """Return nothing if a name may mean several items of a kind: methods of several `impl`, or by conditions."""
        kinds = [(one.kind, one.form == "macro") for _, one in matches if one.form != "impl"]
        return matches if len(kinds) == len({*kinds}) else ()


def _is_of(names: Names, path: str, owner: str, member: Located) -> bool:
    """Return whether the type with a member in an `impl` is the one that a file defines, and no other of its name."""
    types = names.types(member[0], member[1].lines, owner.split("."))[0]
    return all(file == path for file, one in types if one.form != "impl")


def _is_for_one(names: Names, owner: str, member: Located) -> bool:
    """Return whether a member is in an `impl` of a trait with type arguments, such as `From<T>`."""
    path, method = member
    blocks = names.of_name(path, owner.rpartition(".")[2])
    around = (one.signature for file, one in blocks if file == path and one.lines.contains(method.lines))
    return any(re.search(r"\w<.* for ", signature.removeprefix("impl")) for signature in around)


def _own(path: str) -> str:
    """Return the path of a file's own module, which is the folder of the modules in it."""
    return path.removesuffix(".rs").removesuffix("/mod").removesuffix("/lib").removesuffix("/main")


def _root(path: str) -> str:
    """Return the folder of the crate's outermost module."""
    return path[: path.rfind("src/") + 3] if "src/" in f"/{path}" else posixpath.dirname(path)


def _module(files: Imports, path: str, parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the file of a module path, whose last modules may be inside that file."""
    own = _own(path)
    first = parts[0] if parts else ""
    if any(f"{own}/{first}{end}" in files.files for end in (".rs", "/mod.rs")):  # a module of this file
        parts, first = ("self", *parts), "self"
    here = {"crate": _root(path), "self": own, "super": posixpath.dirname(own)}.get(first, _crates(files).get(first))
    if here is None and first in _declared_inside(files, path):
        here, parts = own, ("self", *parts)
    if here is None:
        return ()
    rest = list(parts[1:])
    while rest and rest[0] == "super":
        here, rest = posixpath.dirname(here), rest[1:]
    for end in range(len(rest), -1, -1):
        stem = "/".join([*filter(None, [here]), *rest[:end]])
        tries = (f"{stem}.rs", f"{stem}/mod.rs", *((f"{stem}/lib.rs", f"{stem}/main.rs") if not end else ()))
        if source := next((file for file in tries if file in files.files), None):
            return (source,) if _declared_inside(files, source).issuperset(rest[end:]) else ()
    return ()


def _from_file(parts: tuple[str, ...], inside: Sequence[str]) -> tuple[str, ...]:
    """Return a path that begins at a module inside a file as one that begins at that file."""
    here, rest = list(inside), list(parts)
    if not here or rest[0] not in ("self", "super"):
        return parts
    while rest and rest[0] in ("self", "super") and here:
        if rest.pop(0) == "super":
            here.pop()
    return (*(() if rest[:1] == ["super"] else ("self",)), *here, *rest)


def _inside(files: Imports, parts: tuple[str, ...], reached: tuple[str, ...]) -> tuple[str, ...]:
    """Return the last parts of a path that are modules inside the file that it leads to."""
    for index in range(len(parts)) if reached else ():
        if parts[index] in _declared_inside(files, reached[0]):
            return parts[index:]
    return ()


def _declared_inside(files: Imports, path: str) -> frozenset[str]:
    """Return the modules that a file has inside."""
    return files.once(("rust: inside", path), lambda: frozenset(_MODULE.findall(files.files[path].text)))


def _crates(files: Imports) -> Mapping[str, str]:
    """Return crate -> its source folder; a crate has the name of its own folder, with underscores."""

    def read() -> Mapping[str, str]:
        roots = [posixpath.dirname(path) for path in files.tails["lib.rs"] if path.count("/") > 1]
        return {posixpath.basename(posixpath.dirname(root)).replace("-", "_"): root for root in roots}

    return files.once("rust: crates", read)


def _use_tree(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield (path, name) of each name that a Rust use tree binds; in one pass, as trees nest without limit."""
    before = ""  # the sign before
    opened: list[tuple[str, ...]] = [()]  # the paths of the braces that are open
    for part, sign in _USE_PART.findall(text) if text.count("{") == text.count("}") else ():
        path, _, alias = part.strip().partition(" as ")
        parts = (*opened[-1], *filter(None, (step.strip() for step in path.split("::"))))
        if sign == "}" and len(opened) == 1:  # prose that begins with "use"
            return
        if sign == "{":
            opened.append(parts)
        elif part.strip() and parts and before != "}":
            yield parts, alias.strip() or parts[-1]
        if sign == "}":
            opened.pop()
        before = sign
