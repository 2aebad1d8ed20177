"""Rust: `use` and module paths, `impl` in any file, macros; smart pointers have the members of their target."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from repoeval_bench.references.imports import EVERY, Import, Imports
from repoeval_bench.references.language_rules import NOWHERE, LanguageRules, Located, Names, NodeKinds

if TYPE_CHECKING:
    from repoeval_bench.references.resolved_name import Reason

_USE = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+(?P<tree>[^;]+);", re.MULTILINE)
_USE_PART = re.compile(r"([^{},]*)([{},]|$)")


class Rust(LanguageRules):
    """Rust."""

    nodes: ClassVar = NodeKinds(
        dotted=["field_expression", "scoped_identifier", "scoped_type_identifier"],
        calls=["call_expression"],
        creations=["struct_expression"],
        casts=["type_cast_expression"],
        same=[
            "assignment_expression",
            "await_expression",
            "generic_function",
            "parenthesized_expression",
            "reference_expression",
            "unary_expression",
        ],
        items=["index_expression"],
        literals=["raw_string_literal", "string_literal", "true"],
        collections=["array_type"],
        classes=["impl_item", "trait_item"],
        generic=["generic_type"],
        wraps=["abstract_type", "bounded_type", "bracketed_type", "dynamic_type", "pointer_type", "reference_type"],
        opened=["binary_expression", "closure_parameters", "let_chain", "parameters", "parenthesized_expression"],
        around=["for_expression", "match_arm"],
        patterns=["captured_pattern", "match_pattern", "mut_pattern", "ref_pattern", "reference_pattern"],
        aliases=["type_item"],
        binds={"let_declaration": ("pattern",), "for_expression": ("pattern",), "parameter": ("pattern",)},
    )
    self_names: ClassVar = frozenset({"self", "Self", "super"})
    standard: ClassVar = ("std", "core", "alloc")
    pointers: ClassVar = frozenset(
        {"Box", "Rc", "Arc", "Ref", "RefMut", "Cow", "Pin", "MutexGuard", "RwLockReadGuard", "RwLockWriteGuard"}
    )
    only_called: ClassVar = frozenset({"macro"})
    one_definition = True

    def imports(self, files: Imports, path: str, text: str) -> Iterator[Import]:
        """Read `use` declarations, those of other crates of the repository too."""
        for match in _USE.finditer(text):
            exported = match[0].lstrip().startswith("pub")
            for parts, name in _use_tree(re.sub(r"\s+", " ", match["tree"])):
                if re.search(rf"\b(?:enum|struct|trait)\s+{re.escape(parts[0])}\b", text):  # a type of this file
                    parts = ("self", *parts)  # noqa: PLW2901
                outer, original = _module(files, path, parts[:-1]), parts[-1]
                if original == "self":
                    yield Import(name if name != "self" else parts[-2], None, outer, exported)
                elif original == EVERY:
                    yield Import(EVERY, EVERY, outer, exported)
                else:
                    module = _module(files, path, parts)
                    yield Import(name, None if module and module != outer else original, module or outer, exported)

    def imported_otherwise(self, names: Names, imported: Import) -> list[Located]:
        """Return the variant that is imported, as in `use Shape::Round`."""
        definitions = ((path, definition) for path in imported.files for definition in names.defined(path))
        return [
            located
            for located in definitions
            if (located[1].form, located[1].name) == ("enumerator", imported.original or "")
        ]

    def in_path(self, names: Names, path: str, parts: Sequence[str]) -> Sequence[Located]:
        """Return the type that a path through modules names."""
        return names.in_files(path, _module(names.imports, path, tuple(parts[:-1])), parts[-1])

    def is_here(self, names: Names, path: str, parts: Sequence[str]) -> bool:
        """Return whether a path begins in these files: `serde_json::Error` does not."""
        outer = names.bare(path, NOWHERE, parts[-2])[0]
        known = {"crate", "self", "super", *(import_.name for import_ in names.imports.of(path) if import_.files)}
        module = rf"\bmod\s+{re.escape(parts[0])}\b"
        # A crate's name is lower case; any other may be a type parameter.
        here = outer or parts[0] in known or not parts[0].islower() or _module(names.imports, path, (parts[0],))
        return bool(here or re.search(module, names.text(path)))

    def looked_up(
        self, names: Names, path: str, parts: Sequence[str], name: str
    ) -> tuple[Sequence[Located], Reason | None] | None:
        """Return the members of that name of the type at a path."""
        if not parts[1:]:
            return None
        classes, reason = names.types(path, parts)
        members = names.members(path, classes, name)
        return members, None if members else reason or "dynamic"

    def members(self, names: Names, path: str, qualified: str, matches: list[Located]) -> list[Located]:
        """Return the members in the files that `path` sees, else those of an `impl`, which may be in any file."""
        if matches:
            return matches
        candidates = [
            located
            for located in names.of_name(path, qualified.rpartition(".")[2])
            if located[1].qualified == qualified
        ]
        return candidates if len({index for index, _ in candidates}) == 1 else []

    def best(self, matches: Sequence[Located], of_trait: Collection[int]) -> Located | None:
        """Return the method of the type's own `impl`; None if the name may mean any of several."""
        own = [located for index, located in enumerate(matches) if index not in of_trait]
        if len(own or matches) > 1 and matches[0][1].kind == "method":
            return None
        return (own or matches)[0]


def _module(files: Imports, path: str, parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the file of a module path, or of the nearest module around the item that it names."""
    folder = posixpath.dirname(path)
    own = path.removesuffix(".rs").removesuffix("/mod").removesuffix("/lib").removesuffix("/main")
    root = path[: path.rfind("src/") + 3] if "src/" in f"/{path}" else folder
    first = parts[0] if parts else ""
    if any(f"{own}/{first}{end}" in files.files for end in (".rs", "/mod.rs")):  # a module of this file
        parts, first = ("self", *parts), "self"
    here = {"crate": root, "self": own, "super": posixpath.dirname(own)}.get(first, _crates(files).get(first))
    if here is None:
        return ()
    rest = list(parts[1:])
    while rest and rest[0] == "super":
        here, rest = posixpath.dirname(here), rest[1:]
    for end in range(len(rest), -1, -1):
        stem = "/".join([*filter(None, [here]), *rest[:end]])
        tries = (f"{stem}.rs", f"{stem}/mod.rs", *((f"{stem}/lib.rs", f"{stem}/main.rs") if not end else ()))
        if sources := tuple(file for file in tries if file in files.files):
            return sources[:1]
    return ()


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
