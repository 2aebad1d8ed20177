"""JavaScript and TypeScript: ES modules and CommonJS; `script_types` infers the types."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from repoeval_bench.core.grammars.javascript import is_required
from repoeval_bench.core.languages import MODULE_FILES
from repoeval_bench.own.references.language_rules import EVERY, Import, Imports, LanguageRules

if TYPE_CHECKING:
    from tree_sitter import Node

_JS_FROM = re.compile(
    r"\b(?P<word>import|export)\s+(?:type\s+)?(?P<what>[\w$*\s{},]+?)\s*from\s*[\"'](?P<module>[^\"']+)[\"']"
)
_JS_REQUIRE = re.compile(
    r"(?:\b(?:const|let|var|import)\s+|,\s*)(?P<what>\{[^}]*\}|[\w$]+)\s*=\s*(?:await\s+)?(?:require|import)\(\s*"
    r"[\"'](?P<module>[^\"']+)[\"']\s*\)(?:\s*\.\s*(?P<member>[\w$]+)\b)?"
)
_ASIDE = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
"""Comments and last commas of a tsconfig.json, aside from its strings."""
_EXPORTS_ONE = re.compile(r"^(?:module\.exports|export)\s*=(?!=)(?!\s*\{)", re.MULTILINE)
"""A module that exports one value, and no object of names."""
_JS_ENDINGS = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts")
"""Endings that an import may omit: a script comes before the declaration file beside it."""


class JavaScript(LanguageRules):
    """JavaScript, TypeScript and TSX."""

    def refers(self, node: Node, name: Node) -> bool:
        """Return whether a variable is an import by `require`."""
        declarator: Node | None = name
        while declarator is not None and declarator != node and declarator.type != "variable_declarator":
            declarator = declarator.parent
        return declarator is not None and is_required(declarator.child_by_field_name("value"))

    def imports(self, files: Imports, path: str, text: str) -> Iterator[Import]:
        """Read `import`, `export … from` and `require`."""
        for match in (*_JS_FROM.finditer(text), *_JS_REQUIRE.finditer(text)):
            modules = _module(files, path, match["module"])
            exported = match.groupdict().get("word") == "export"
            what = match["what"].strip()
            braces = re.search(r"\{([^}]*)\}", what)
            for named in braces[1].split(",") if braces else ():
                words = re.findall(r"[\w$]+", re.sub(r"^\s*type\s+", "", named))
                if words:
                    yield Import(words[-1], words[0], modules, exported)
            rest = re.sub(r"\{[^}]*\}", "", what)
            for clause in filter(None, (part.strip() for part in rest.split(","))):
                if clause.startswith("*"):
                    name = clause.rpartition(" ")[2]
                    yield Import(name, EVERY if name == "*" else None, modules, exported)
                elif "word" in match.groupdict():
                    yield Import(clause, "default", modules, exported)
                else:
                    # A required module is an object of its names, or the one value that it exports.
                    is_value = any(_EXPORTS_ONE.search(files.files[file].text) for file in modules)
                    yield Import(clause, match["member"] or ("default" if is_value else None), modules)


def _module(files: Imports, path: str, module: str) -> tuple[str, ...]:
    folder = posixpath.dirname(path)
    if module.startswith("."):
        return _file(files, posixpath.join(folder, module))
    for root, pattern, targets in files.once("scripts: aliases", lambda: [*_aliases(files)]):
        before, star, after = pattern.partition("*")
        inside = not root or f"{folder}/".startswith(f"{root}/")
        if inside and (module.startswith(before) and module.endswith(after) if star else module == pattern):
            middle = module[len(before) : len(module) - len(after)]
            if named := next(filter(None, (_file(files, target.replace("*", middle)) for target in targets)), ()):
                return named
    # Otherwise it is a package, if it does not begin with the outermost folder that the file is in.
    return _file(files, module) if path.startswith(f"{module.partition('/')[0]}/") else ()


def _file(files: Imports, stem: str) -> tuple[str, ...]:
    stem = posixpath.normpath(stem)
    bare = re.sub(r"\.[cm]?jsx?$", "", stem)
    tries = [stem, *(start + end for start in (stem, bare) for end in _JS_ENDINGS)]
    tries += [f"{stem}/index{end}" for end in _JS_ENDINGS]
    return next(((file,) for file in tries if file in files.files), ())


def _aliases(files: Imports) -> Iterator[tuple[str, str, list[str]]]:
    """Yield (folder in which it holds, pattern, targets) of each name that a file of settings gives to modules."""
    for path in sorted(files.others, key=lambda path: path.count("/"), reverse=True):
        folder, name = posixpath.split(path)
        if name not in MODULE_FILES:
            continue
        try:
            read = json.loads(_ASIDE.sub(lambda match: match[1] or "", files.others[path].text))
        except ValueError:  # go.mod too
            continue
        if name != "package.json":
            options = read.get("compilerOptions", {})
            base = posixpath.join(folder, options.get("baseUrl", ""))
            for pattern, targets in options.get("paths", {}).items():
                yield folder, pattern, [posixpath.join(base, target) for target in targets]
            if "baseUrl" in options:
                yield folder, "*", [posixpath.join(base, "*")]
        else:
            for pattern, target in read.get("imports", {}).items():
                yield folder, pattern, [posixpath.join(folder, target)] if isinstance(target, str) else []
            if own := read.get("name"):
                entries = (read.get("source"), read.get("main"), "src/index", "index")
                yield "", own, [posixpath.join(folder, entry) for entry in entries if entry]
                yield "", f"{own}/*", [f"{folder}/*", f"{folder}/src/*"]
