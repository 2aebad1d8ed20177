"""Java: packages are folders, imports name classes; a class has overloads and inner classes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from repoeval_bench.core.grammars.grammar import child
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.own.references.language_rules import (
    EVERY,
    NOWHERE,
    Answer,
    Import,
    Imports,
    LanguageRules,
    Located,
    Names,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_IMPORT = re.compile(r"^\s*import\s+(?:static\s+)?(?P<path>[\w.]+?)(?P<every>\.\*)?\s*;", re.MULTILINE)
_OPENED = re.compile(r"^\s*import\s+static\s+([\w.]+)\.\*\s*;", re.MULTILINE)
_JUMPS = ("return_statement", "throw_statement", "continue_statement", "break_statement")
_PACKAGE = re.compile(r"^\s*package\s+([\w.]+)\s*;", re.MULTILINE)


class Java(LanguageRules):
    """Java."""

    def space_of(self, node: Node) -> str:
        """Return the space of a name: a method may have the name of a local."""
        call = node.parent
        is_method = call is not None and call.type == "method_invocation" and child(call, "name") == node
        return "method" if is_method else super().space_of(node)

    def opens(self, scope: Node) -> bool:
        """Return whether the code after an `if` has the variables of its patterns: its body ends by a jump."""
        body = child(scope, "consequence")
        last = body.named_children[-1] if body is not None and body.type == "block" and body.named_children else body
        return last is not None and last.type in _JUMPS

    def imports(self, files: Imports, path: str, text: str) -> Iterator[Import]:
        """Read imports of classes, of members and of whole packages."""
        for match in _IMPORT.finditer(text):
            parts = match["path"].split(".")
            if match["every"]:
                tail = "/".join(parts)
                inside = [
                    file
                    for folder, files_in in files.folders.items()
                    if f"/{folder}".endswith(f"/{tail}")
                    for file in files_in
                ]
                yield Import(EVERY, EVERY, tuple(inside))
                continue
            # `a.b.C`, or a member or an inner class of it: `a.b.C.d`.
            ends = range(len(parts), max(0, len(parts) - 3), -1)
            end, paths = next(((end, paths) for end in ends if (paths := _class(files, parts[:end]))), (len(parts), ()))
            yield Import(parts[-1], ".".join(parts[end - 1 :]), paths)

    def beside(self, files: Imports, path: str) -> Sequence[str]:
        """Return the files of the package, which may have a folder in each source tree."""
        folder = posixpath.dirname(path)
        package = _PACKAGE.search(files.files[path].text)
        inside = package[1].replace(".", "/") if package else ""
        if not inside or not f"/{folder}".endswith(f"/{inside}"):
            return files.folders[folder]
        others = (other for other in files.folders if other != folder and f"/{other}".endswith(f"/{inside}"))
        return [file for near in (folder, *others) for file in files.folders[near]]

    def imported_member(self, names: Names, imported: Import) -> list[Located] | None:
        """Return the member or inner class that an import names."""
        owner, dot, own = (imported.original or "").rpartition(".")
        if not dot:
            return None
        classes = ((path, names.types(path, NOWHERE, owner.split("."))[0]) for path in imported.files)
        return next(filter(None, ([*names.members(path, name, own)] for path, name in classes)), [])

    def opened(self, names: Names, path: str) -> Sequence[Located]:
        """Return the classes of `import static a.b.C.*`."""
        classes = [name.split(".") for name in _OPENED.findall(names.imports.files[path].text)]
        return [cls for parts in classes for cls in names.in_files(path, _class(names.imports, parts), parts[-1])]

    def of_module(self, names: Names, path: str, lines: LineSpan, parts: Sequence[str], name: str) -> Answer | None:
        """Return the class of that name in the package `parts`."""
        files = _class(names.imports, [*parts, name])
        return (names.in_files(path, files, name), None) if files else None


def _class(files: Imports, parts: Sequence[str]) -> tuple[str, ...]:
    """Return the files of a class with a qualified name such as `a.b.C`."""
    tail = f"/{'/'.join(parts)}.java"
    return tuple(path for path in files.tails.get(f"{parts[-1]}.java", ()) if f"/{path}".endswith(tail))
