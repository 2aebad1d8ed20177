"""What a file imports, in the languages other than Python: read off its text by pattern, and led to files by path.

Macros, build systems and path aliases are not read. A module that no file of the repository answers to is outside.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from repoeval_bench.core.source import SourceFile

EVERY = "*"
"""In place of a name: all that a module has."""

_JS_FROM = re.compile(
    r"\b(?P<word>import|export)\s+(?:type\s+)?(?P<what>[\w$*\s{},]+?)\s*from\s*[\"'](?P<module>[^\"']+)[\"']"
)
_JS_REQUIRE = re.compile(
    r"\b(?:const|let|var)\s+(?P<what>\{[^}]*\}|[\w$]+)\s*=\s*(?:await\s+)?(?:require|import)\(\s*"
    r"[\"'](?P<module>[^\"']+)[\"']\s*\)(?:\s*\.\s*(?P<member>[\w$]+)\b)?"
)
_JS_GIVEN = re.compile(r"^module\.exports\s*=(?!=)(?!\s*\{)", re.MULTILINE)
"""A module that gives one thing, and no object of names."""
_JS_ENDINGS = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts")
"""What a declaration file beside a script says is defined in the script."""
_GO = re.compile(r"^\s*(?:import\s+)?(?P<alias>[\w.]+\s+)?\"(?P<module>[^\"\n]+)\"\s*(?://.*)?$", re.MULTILINE)
_GO_BLOCK = re.compile(r"^import\s*(?:\((?P<many>[^)]*)\)|(?P<one>[^(\n]+))", re.MULTILINE)
_JAVA = re.compile(r"^\s*import\s+(?:static\s+)?(?P<path>[\w.]+?)(?P<every>\.\*)?\s*;", re.MULTILINE)
_PACKAGE = re.compile(r"^\s*package\s+([\w.]+)\s*;", re.MULTILINE)
"""Of Java; in Go no semicolon follows."""
_GO_PACKAGE = re.compile(r"^package\s+(\w+)", re.MULTILINE)
_RUST = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+(?P<tree>[^;]+);", re.MULTILINE)
_C = re.compile(r"^\s*#\s*include\s*[\"<](?P<path>[^\">\n]+)[\">]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Import:
    """`name` is bound to `original` of the files; to the files themselves where that is None. No file: outside.

    `exported`: others see it as a name of this file too. `name` may be `EVERY`.
    """

    name: str
    original: str | None
    files: tuple[str, ...]
    exported: bool = False


class Imports:
    """The imports of each file of a repository, read on first use."""

    def __init__(self, files: Mapping[str, SourceFile]) -> None:
        self._files = files
        self._known: dict[str, tuple[Import, ...]] = {}
        self._folders: dict[str, list[str]] = defaultdict(list)
        self._tails: dict[str, list[str]] = defaultdict(list)
        for path in sorted(files):
            self._folders[posixpath.dirname(path)].append(path)
            self._tails[posixpath.basename(path)].append(path)
        # A crate has the name of its folder, with underscores.
        roots = [posixpath.dirname(path) for path in self._tails["lib.rs"] if path.count("/") > 1]
        self._crates = {posixpath.basename(posixpath.dirname(each)).replace("-", "_"): each for each in roots}

    def of(self, path: str, family: str) -> tuple[Import, ...]:
        """What a file imports."""
        if path not in self._known:
            read = {
                "javascript": self._javascript,
                "go": self._go,
                "java": self._java,
                "rust": self._rust,
                "c": self._c,
            }
            # Of C# no `using` is read: a namespace does not say which files it is in.
            self._known[path] = tuple(read[family](path, self._files[path].text)) if family in read else ()
        return self._known[path]

    def java_class(self, steps: Sequence[str]) -> tuple[str, ...]:
        """The files of a class of Java whose packages are named, as in `a.b.C`."""
        tail = f"/{'/'.join(steps)}.java"
        return tuple(each for each in self._tails.get(f"{steps[-1]}.java", ()) if f"/{each}".endswith(tail))

    def beside(self, path: str) -> list[str]:
        """The files of the same folder; in Java of the same package, which has a folder in each tree of sources."""
        folder = posixpath.dirname(path)
        package = _PACKAGE.search(self._files[path].text)
        inside = package[1].replace(".", "/") if package else ""
        if not inside or not f"/{folder}".endswith(f"/{inside}"):
            return self._folders[folder]
        others = (each for each in self._folders if each != folder and f"/{each}".endswith(f"/{inside}"))
        return [file for each in (folder, *others) for file in self._folders[each]]

    def _javascript(self, path: str, text: str) -> Iterator[Import]:
        for found in (*_JS_FROM.finditer(text), *_JS_REQUIRE.finditer(text)):
            files = self._script(path, found["module"])
            exported = found.groupdict().get("word") == "export"
            what = found["what"].strip()
            braces = re.search(r"\{([^}]*)\}", what)
            for each in braces[1].split(",") if braces else ():
                words = re.findall(r"[\w$]+", re.sub(r"^\s*type\s+", "", each))
                if words:
                    yield Import(words[-1], words[0], files, exported)
            rest = re.sub(r"\{[^}]*\}", "", what)
            for each in filter(None, (part.strip() for part in rest.split(","))):
                if each.startswith("*"):
                    name = each.rpartition(" ")[2]
                    yield Import(name, EVERY if name == "*" else None, files, exported)
                elif "word" in found.groupdict():
                    yield Import(each, "default", files, exported)
                else:
                    # A required module is an object of its names, or the one thing that it gives.
                    one = any(_JS_GIVEN.search(self._files[file].text) for file in files)
                    yield Import(each, found["member"] or ("default" if one else None), files)

    def _script(self, path: str, module: str) -> tuple[str, ...]:
        if not module.startswith(".") and "/" not in module:
            return ()
        # Without dots it may be a path from the outermost folder, as a tsconfig.json with `baseUrl` has it.
        stem = posixpath.normpath(posixpath.join(posixpath.dirname(path) if module.startswith(".") else "", module))
        bare = re.sub(r"\.[cm]?jsx?$", "", stem)
        tries = [stem, *(each + end for each in (stem, bare) for end in _JS_ENDINGS)]
        tries += [f"{stem}/index{end}" for end in _JS_ENDINGS]
        return next(((each,) for each in tries if each in self._files), ())

    def _go(self, path: str, text: str) -> Iterator[Import]:
        for block in _GO_BLOCK.finditer(text):
            for found in _GO.finditer(block["many"] or block["one"]):
                steps = found["module"].split("/")
                folders = ("/".join(steps[at:]) for at in range(len(steps)))
                folder = next((each for each in folders if each in self._folders), None)
                own = re.sub(r"^v\d+$", steps[-2] if steps[1:] else "", steps[-1])
                own = re.sub(r"\.v\d+$", "", own)  # gopkg.in/yaml.v3
                # A package does not import itself: from the outermost folder its name is that of another.
                beside = "/" not in path and not path.endswith("_test.go")
                if folder is None and "." in steps[0] and own == self._outermost and not beside:
                    folder = ""
                files = tuple(each for each in self._folders.get(folder or "", ()) if not each.endswith("_test.go"))
                yield Import((found["alias"] or "").strip() or own, None, files if folder is not None else ())

    @cached_property
    def _outermost(self) -> str:
        """The package of Go in the outermost folder, which others import by the name of the whole."""
        files = (each for each in self._folders.get("", ()) if each.endswith(".go") and not each.endswith("_test.go"))
        found = (_GO_PACKAGE.search(self._files[each].text) for each in files)
        return next((each[1] for each in found if each), "")

    def _java(self, path: str, text: str) -> Iterator[Import]:  # noqa: ARG002 - all readers are called alike
        for found in _JAVA.finditer(text):
            steps = found["path"].split(".")
            if found["every"]:
                tail = "/".join(steps)
                inside = [
                    each for folder, held in self._folders.items() if f"/{folder}".endswith(f"/{tail}") for each in held
                ]
                yield Import(EVERY, EVERY, tuple(inside))
                continue
            # `a.b.C`, or a member or inner class `a.b.C.d`, which has its name in the file's class.
            at, files = len(steps), tuple[str, ...]()
            for at in range(len(steps), max(0, len(steps) - 3), -1):
                if files := self.java_class(steps[:at]):
                    break
            yield Import(steps[-1], ".".join(steps[at - 1 :]) if files else steps[-1], files)

    def _rust(self, path: str, text: str) -> Iterator[Import]:
        for found in _RUST.finditer(text):
            exported = found[0].lstrip().startswith("pub")
            for steps, name in _use_tree(re.sub(r"\s+", " ", found["tree"]).strip(), ()):
                if re.search(rf"\b(?:enum|struct|trait)\s+{re.escape(steps[0])}\b", text):  # of this file
                    steps = ("self", *steps)  # noqa: PLW2901
                of, original = self.crate(path, steps[:-1]), steps[-1]
                if original == "self":
                    yield Import(name if name != "self" else steps[-2], None, self.crate(path, steps[:-1]), exported)
                elif original == EVERY:
                    yield Import(EVERY, EVERY, of, exported)
                else:
                    module = self.crate(path, steps)
                    yield Import(name, None if module and module != of else original, module or of, exported)

    def crate(self, path: str, steps: tuple[str, ...]) -> tuple[str, ...]:
        """The file of a module path, or of the nearest module around what it names."""
        folder = posixpath.dirname(path)
        own = path.removesuffix(".rs").removesuffix("/mod").removesuffix("/lib").removesuffix("/main")
        root = path[: path.rfind("src/") + 3] if "src/" in f"/{path}" else folder
        first = steps[0] if steps else ""
        if any(f"{own}/{first}{end}" in self._files for end in (".rs", "/mod.rs")):  # a module of this file
            steps, first = ("self", *steps), "self"
        here = {"crate": root, "self": own, "super": posixpath.dirname(own)}.get(first, self._crates.get(first))
        if here is None:
            return ()
        rest = list(steps[1:])
        while rest and rest[0] == "super":
            here, rest = posixpath.dirname(here), rest[1:]
        for end in range(len(rest), -1, -1):
            stem = "/".join([*filter(None, [here]), *rest[:end]])
            tries = (f"{stem}.rs", f"{stem}/mod.rs", *((f"{stem}/lib.rs", f"{stem}/main.rs") if not end else ()))
            if files := tuple(each for each in tries if each in self._files):
                return files[:1]
        return ()

    def _c(self, path: str, text: str) -> Iterator[Import]:
        for found in _C.finditer(text):
            included = found["path"]
            near = posixpath.normpath(posixpath.join(posixpath.dirname(path), included))
            name = posixpath.basename(included)
            files = [near] if near in self._files else []
            files = files or [each for each in self._tails[name] if f"/{each}".endswith(f"/{included}")][:1]
            # What a header declares is defined in the source of its name.
            stems = {each.rpartition(".")[0] for each in files}
            ends = (".c", ".cc", ".cpp", ".cxx")
            sources = [each for stem in stems for end in ends for each in self._sources(stem, end)]
            if files:
                yield Import(EVERY, EVERY, (*files, *sources))

    def _sources(self, stem: str, end: str) -> Iterable[str]:
        beside = stem + end
        if beside in self._files:
            return [beside]
        return self._tails[posixpath.basename(beside)][:1]


def _use_tree(text: str, before: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """(path, name) of each name that a Rust use tree binds."""
    text = text.strip()
    if "{" in text:
        head, _, inside = text.partition("{")
        steps = (*before, *filter(None, (step.strip() for step in head.split("::"))))
        depth, start = 0, 0
        inside = inside.rpartition("}")[0] + ","
        for at, char in enumerate(inside):
            depth += (char == "{") - (char == "}")
            if char == "," and not depth:
                if inside[start:at].strip():
                    yield from _use_tree(inside[start:at], steps)
                start = at + 1
        return
    path, _, alias = text.partition(" as ")
    steps = (*before, *filter(None, (step.strip() for step in path.split("::"))))
    if steps:
        yield steps, alias.strip() or steps[-1]
