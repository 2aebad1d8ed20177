"""Go: packages are folders; a type has the members of what it embeds."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from repoeval_bench.core.grammars.grammar import child
from repoeval_bench.own.references.language_rules import EVERY, Import, Imports, LanguageRules, Located, Names

if TYPE_CHECKING:
    from tree_sitter import Node

_IMPORT = re.compile(r"^\s*(?:import\s+)?(?P<alias>[\w.]+\s+)?\"(?P<module>[^\"\n]+)\"\s*(?://.*)?$", re.MULTILINE)
_IMPORT_BLOCK = re.compile(r"^import\s*(?:\((?P<many>[^)]*)\)|(?P<one>[^(\n]+))", re.MULTILINE)
_MODULE = re.compile(r"^module\s+\"?([^\s\"]+)", re.MULTILINE)
_OUTER = re.compile(r"^package\s+\w+_test\b", re.MULTILINE)
_REPLACED = re.compile(r"^\s*(?:replace\s+)?(\S+)(?:\s+v\S+)?\s+=>\s+(\.\.?/\S*)", re.MULTILINE)


class Go(LanguageRules):
    """Go."""

    def refers(self, node: Node, name: Node) -> bool:
        """Return whether type arguments name types: those of a method's receiver bind the names."""
        while node.parent is not None and node.parent.type in ("pointer_type", "parenthesized_type"):
            node = node.parent
        holder = node.parent.parent if node.parent is not None else None
        is_receiver = holder is not None and child(holder.parent, "receiver") == holder
        is_type = node.type in ("generic_type", "pointer_type", "parenthesized_type")
        return name.type == "type_identifier" and is_type and not is_receiver

    def imports(self, files: Imports, path: str, text: str) -> Iterator[Import]:
        """Read the packages that are imported, each a folder."""
        modules = _modules(files)
        in_module = any(not folder or path.startswith(f"{folder}/") for _, folder in modules)
        for block in _IMPORT_BLOCK.finditer(text):
            for match in _IMPORT.finditer(block["many"] or block["one"]):
                parts = match["module"].split("/")
                own = re.sub(r"^v\d+$", parts[-2] if parts[1:] else "", parts[-1])
                own = re.sub(r"\.v\d+$", "", own)  # gopkg.in/yaml.v3
                here = match["module"]
                ends = ("/".join(parts[index:]) for index in range(len(parts)))
                # Without a go.mod an import ends in the path of its folder.
                known = next((end for end in ends if end in files.folders), None)
                folder = _of_module(modules, here) if in_module else known
                package = tuple(file for file in files.folders.get(folder or "", ()) if not file.endswith("_test.go"))
                alias = (match["alias"] or "").strip()
                name, original = (EVERY, EVERY) if alias == "." else (alias or own, None)
                yield Import(name, original, package if folder is not None else ())

    def beside(self, files: Imports, path: str) -> Sequence[str]:
        """Return the files of the package: those of the folder with its name, as tests may be in another package."""
        beside = files.folders[posixpath.dirname(path)]
        return [file for file in beside if _is_outer(files, file) == _is_outer(files, path)]

    def sure(self, matches: Sequence[Located]) -> Sequence[Located]:
        """Return nothing if several files define a name: each is for another system."""
        return matches if len(matches) == 1 else ()

    def members(self, names: Names, path: str, qualified: str, matches: list[Located]) -> list[Located]:
        """Return the method or field of that name, if one file of the package has it."""
        return [*self.sure(matches)]


def _is_outer(files: Imports, path: str) -> bool:
    """Return whether a file of tests is in a package of its own beside the one that it tests."""
    return path.endswith("_test.go") and _OUTER.search(files.files[path].text) is not None


def _modules(files: Imports) -> Sequence[tuple[str, str]]:
    """Return (module, folder) of each go.mod, and of each local folder that one replaces a module by, longest first."""

    def read() -> Sequence[tuple[str, str]]:
        modules = []
        for path, file in files.others.items():
            folder, _, name = path.rpartition("/")
            if name == "go.mod" and (module := _MODULE.search(file.text)):
                modules.append((module[1], folder))
                replaced = _REPLACED.findall(file.text)
                modules += [(old, posixpath.normpath(posixpath.join(folder, new)).lstrip(".")) for old, new in replaced]
        return sorted(modules, key=lambda pair: len(pair[0]), reverse=True)

    return files.once("go: modules", read)


def _of_module(modules: Sequence[tuple[str, str]], imported: str) -> str | None:
    """Return the folder of a package by the module that it is in; None if it is in none of these."""
    for module, folder in modules:
        if imported == module or imported.startswith(f"{module}/"):
            return posixpath.join(folder, imported[len(module) + 1 :]).rstrip("/")
    return None
