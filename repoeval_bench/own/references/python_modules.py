"""The Python files of a repository as modules: which file an import means, and what a name in it denotes.

Imports and re-exports are followed to the end; a cycle of them leads to nothing.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.core.source import SourceFile
from repoeval_bench.own.references.python_nodes import inside
from repoeval_bench.own.references.python_scopes import Imported, Module, Scope, read_module
from repoeval_bench.own.references.tree_names import text_of

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Package:
    """A module or package of the repository, by its path without `.py` or `/__init__.py`."""

    path: str


@dataclass(frozen=True, slots=True)
class Outside:
    """Something that is from outside the repository, or not known."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name bound in a scope: its sites are the scope's `names` and, in a class, `members`."""

    scope: Scope
    name: str


Target = Name | Package | Outside

_GONE_OR_NEW = """
aifc annotationlib asynchat asyncore audioop cgi cgitb chunk compression crypt distutils imghdr imp lib2to3 mailcap
msilib nis nntplib ossaudiodev pipes smtpd sndhdr spwd sunau telnetlib uu xdrlib
"""
_STANDARD = sys.stdlib_module_names | frozenset(_GONE_OR_NEW.split())
"""Modules of the standard library of any Python from 3.11 to 3.14, whichever runs this."""

_TESTS = frozenset({"test", "tests"})
_ASIDE = re.compile(r"#.*|(?<=__all__):[^=]*")
_LITERAL = re.compile(r"""["'](\w+)["']""")
_NO_LITERAL = re.compile(r"""(?<!["'\w])(?!__all__\b|append\b|extend\b)[^\W\d]\w*(?!["'\w])""")
_Tried = dict[tuple[Package, str], Target | None]
"""(module, name) -> what it denotes; None while it is being looked up, or if there is no such name."""


def is_python(path: str) -> bool:
    """Return whether a file is Python, by its name."""
    return path.endswith((".py", ".pyi"))


class Modules:
    """The modules of one repository, read from its files on first use."""

    def __init__(self, files: Iterable[SourceFile]) -> None:
        self._files = {file.path: file for file in files if is_python(file.path)}
        self._modules: dict[str, Module | None] = {}
        self._listed: dict[Module, tuple[frozenset[str], bool]] = {}
        self._by_package: dict[str, str] = {}
        for path in sorted(self._files, key=lambda path: (path.endswith(".py"), path)):
            self._by_package[_package(path)] = path
        self._folders = {
            package[:index] for package in self._by_package for index, char in enumerate(package) if char == "/"
        }
        self._by_tail: Mapping[str, list[str]] = defaultdict(list)
        for package in (*self._by_package, *self._folders):
            self._by_tail[package.rpartition("/")[2]].append(package)

    def of_file(self, path: str) -> Module | None:
        """The module of a file; None if it is not Python, or cannot be read."""
        if path not in self._modules:
            file = self._files.get(path)
            self._modules[path] = read_module(file) if file else None
        return self._modules[path]

    def module(self, package: Package) -> Module | None:
        """The file of a module, or of a package's `__init__`; None for a folder without one."""
        path = self._by_package.get(package.path)
        return self.of_file(path) if path else None

    def lookup(self, name: str, scope: Scope) -> tuple[Target, ...]:
        """Return what a name denotes in a scope, by Python's rules: several targets if several imports bind it."""
        around: Scope | None = scope
        while around is not None:
            # A class's names are not seen from its methods.
            if (around is scope or around.kind != "class") and (targets := self._in_scope(name, around, {})):
                return targets
            around = around.parent
        return (Outside(),)

    def _in_scope(self, name: str, scope: Scope, tried: _Tried) -> tuple[Target, ...]:
        sites = scope.names.get(name, ())
        targets = [self._follow(site.imported, scope, tried) for site in sites if site.imported]
        if any(not site.imported for site in sites):
            targets.append(Name(scope, name))
        inside = [result for result in dict.fromkeys(targets) if not isinstance(result, Outside)]
        if targets:
            return tuple(inside or targets[:1])
        for star in reversed(scope.stars):
            target = self._follow(star, scope, tried)
            if isinstance(target, Package) and self._exports_name(target, name):
                exported = self.attribute(target, name, tried)
                if exported is not None:
                    return (exported,)
        return ()

    def _exports_name(self, package: Package, name: str) -> bool:
        """Return whether a star import of a module or folder may import a name."""
        module = self.module(package)
        if module is not None and module not in self._listed:
            self._listed[module] = _listed(module.parsed.root)
        names, is_complete = self._listed[module] if module is not None else (frozenset(), False)
        return name in names or (not is_complete and not name.startswith("_"))

    def attribute(self, package: Package, name: str, tried: _Tried | None = None) -> Target | None:
        """Return what an attribute of a module denotes: a name bound in it, or a module in its folder; else None."""
        tried = {} if tried is None else tried
        if (package, name) not in tried:  # many imports may lead to one module
            tried[package, name] = None
            module, inner = self.module(package), Package(f"{package.path}/{name}".lstrip("/"))
            targets = self._in_scope(name, module.top, tried) if module is not None else ()
            # `from . import name` in the package itself names the module.
            if targets and not (isinstance(targets[0], Outside) and self._exists(inner)):
                tried[package, name] = targets[0]
            elif self._exists(inner):
                tried[package, name] = inner
        return tried[package, name]

    def _follow(self, imported: Imported, scope: Scope, tried: _Tried) -> Target:
        package = self.find(imported.module, imported.level, scope.module.file.path)
        if isinstance(package, Outside) or imported.name in (None, "*"):
            return package
        return self.attribute(package, imported.name or "", tried) or Outside()

    def find(self, module: str, level: int, importer: str) -> Package | Outside:
        """The module that an import statement names, seen from the file `importer`."""
        folders = importer.split("/")[:-1]
        parts = module.split(".") if module else []
        if level:
            if level - 1 > len(folders):
                return Outside()
            package = Package("/".join([*folders[: len(folders) - level + 1], *parts]))
            return package if self._exists(package) or not package.path else Outside()
        packages = (Package("/".join([*root, *parts])) for root in self._roots(parts[0], folders))
        return next(filter(self._exists, packages), Outside())

    def _roots(self, first: str, folders: list[str]) -> list[list[str]]:
        """The folders that contain a module or package of this name and may be on Python's path, the likeliest first.

        First come the top, `src` and `lib`. Then come the importer's own folder and those around it, the nearest
        first. Any other folder comes last. Packages are left out, and tests where the importer is none.
        """
        holding = [package.split("/")[:-1] for package in self._by_tail.get(first, ())]
        if first in _STANDARD:
            holding = [root for root in holding if root in ([], ["src"])]

        def rank(root: list[str]) -> tuple[int, int, list[str]]:
            if root in ([], ["src"], ["lib"]):
                return (0, len(root), root)
            around = folders[: len(root)] == root
            return (1 if around else 2, -len(root) if around else len(root), root)

        modules = self._by_package
        outer = (root for root in holding if not (root and modules.get("/".join(root), "").endswith("__init__.py")))
        if _TESTS.isdisjoint(folders):
            outer = (root for root in outer if _TESTS.isdisjoint(root))
        return sorted(outer, key=rank)

    def _exists(self, package: Package) -> bool:
        return package.path in self._by_package or package.path in self._folders


def _package(path: str) -> str:
    stem = path.removesuffix("i").removesuffix(".py")
    return stem.removesuffix("/__init__") if stem != "__init__" else ""


def _listed(root: Node) -> tuple[frozenset[str], bool]:
    """Return the names that `__all__` lists, and whether it lists no others: nothing but literals is about it."""
    texts = [_ASIDE.sub("", text) for text in map(text_of, inside(root)) if "__all__" in text]
    names = frozenset(name for text in texts for name in _LITERAL.findall(text))
    return names, bool(texts) and not any(map(_NO_LITERAL.search, texts))
