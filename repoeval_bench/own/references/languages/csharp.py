"""C#: overloads, partial classes; a file sees its own namespaces and those that it uses, in all files."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from repoeval_bench.core.spans import LineSpan
from repoeval_bench.own.references.language_rules import NOWHERE, Answer, Import, Imports, LanguageRules, Located, Names

if TYPE_CHECKING:
    from tree_sitter import Node

_USING = re.compile(r"^[ \t\ufeff]*(global\s+)?using\s+(?:global::)?([\w.]+)\s*;", re.MULTILINE)
_ALIAS = re.compile(r"^[ \t\ufeff]*(?:global\s+)?using\s+(\w+)\s*=\s*(?:global::)?([^;]+);", re.MULTILINE)
_OPENED = re.compile(r"^[ \t\ufeff]*(?:global\s+)?using\s+static\s+(?:global::)?([\w.]+)\s*;", re.MULTILINE)

_TYPES = ("generic_name", "nullable_type", "array_type", "pointer_type", "ref_type")
_LISTS_OF_TYPES = ("type_argument_list", "base_list")


class CSharp(LanguageRules):
    """C#: a namespace does not say which files it is in."""

    def imports(self, files: Imports, path: str, text: str) -> Iterator[Import]:
        """Read the other names of types."""
        yield from (Import(name, original.strip(), (path,)) for name, original in _ALIAS.findall(text))

    def imported_member(self, names: Names, imported: Import) -> list[Located] | None:
        """Return the type that another name is for."""
        return _named(names, imported.files[0], imported.original or "")

    def opened(self, names: Names, path: str) -> Sequence[Located]:
        """Return the classes of `using static A.B.C`."""
        opened = _OPENED.findall(names.imports.files[path].text)
        return [cls for name in opened for cls in _named(names, path, name)]

    def spaces(self, names: Names, path: str, lines: LineSpan, name: str) -> Iterator[Collection[tuple[str, ...]]]:
        """Yield the file's own namespaces, the innermost first, then those that it uses."""
        around = _around(names, path, lines)
        yield from ((space,) for space in around)
        files = names.imports.files
        used = [using for _, using in _USING.findall(files[path].text)]
        everywhere = names.imports.once(
            "c#: used everywhere",
            lambda: [using for file in files.values() for is_global, using in _USING.findall(file.text) if is_global],
        )
        yield {(*space, *using.split(".")) for space in around for using in (*used, *everywhere)}

    def of_module(self, names: Names, path: str, lines: LineSpan, parts: Sequence[str], name: str) -> Answer | None:
        """Return the class of that name in the namespace `parts`."""
        spaces = {(*space, *parts) for space in _around(names, path, lines)}
        named = names.free(path, NOWHERE, name)[0]
        matches = [located for located in named if tuple(names.namespaces(located[0], located[1].lines)) in spaces]
        return (matches, None) if matches else None

    def space_of(self, node: Node) -> str:
        """Return the space of a name: any but for the name of a type, which may be that of a local."""
        inner, outer = node, node.parent
        while outer is not None and outer.type in _TYPES:
            inner, outer = outer, outer.parent
        typed = outer is not None and inner in (outer.child_by_field_name("type"), outer.child_by_field_name("returns"))
        return "type" if typed or (outer is not None and outer.type in _LISTS_OF_TYPES) else "any"


def _named(names: Names, path: str, full_name: str) -> list[Located]:
    """Return the classes with a full name."""
    *space, name = full_name.split(".")
    named = (located for located in names.of_name(path, name) if located[1].kind == "class")
    return [one for one in named if one[1].qualified == name and names.namespaces(one[0], one[1].lines) == space]


def _around(names: Names, path: str, lines: LineSpan) -> list[tuple[str, ...]]:
    """Return the namespaces around some lines, the innermost first; the outermost has no name."""
    around = names.namespaces(path, lines)
    return [tuple(around[:end]) for end in range(len(around), -1, -1)]
