"""C and C++: includes, namespaces, what a header declares and a source defines."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from repoeval_bench.core.grammars.grammar import child
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.own.references.language_rules import (
    CALLED,
    EVERY,
    NOWHERE,
    Answer,
    Import,
    Imports,
    LanguageRules,
    Located,
    Names,
    are_overloads,
)
from repoeval_bench.own.references.tree_names import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.core.definitions import Definition

_INCLUDE = re.compile(r"^\s*#\s*include\s*[\"<](?P<path>[^\">\n]+)[\">]", re.MULTILINE)

_SOURCES = (".c", ".cc", ".cpp", ".cxx")
_NAMESPACE = re.compile(r"\b(inline\s+)?namespace\s+((?:\w+\s*::\s*)*\w+)")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define\b(?:[^\n\\]|\\\n|\\.)*", re.MULTILINE)
_USING = re.compile(r"\busing\s+(namespace\s+)?((?:\w+\s*::\s*)*\w+)\s*;")
_ALIAS = re.compile(r"\bnamespace\s+(\w+)\s*=\s*(?:::)?([\w:\s]+);")


class C(LanguageRules):
    """C and C++."""

    def space_of(self, node: Node) -> str:
        """Return the space of a name: in `struct a` and `a::b` it means no value."""
        if node.type == "namespace_identifier":
            return "type"
        tagged = node.parent is not None and node.parent.type.endswith("_specifier")
        return "type" if tagged and node.type == "type_identifier" else "any"

    def qualifier(self, path: str, receiver: Node) -> str:
        """Return a receiver with the scopes before it: `a::B` of `c` in `a::B::c`."""
        parts, holder = [text_of(receiver)], receiver.parent
        while holder is not None and holder.parent is not None and holder.parent.type == "qualified_identifier":
            holder = holder.parent
            parts.insert(0, text_of(holder.child_by_field_name("scope")))
        return "::".join(filter(None, parts)) if receiver.type == "namespace_identifier" else parts[-1]

    def refers(self, node: Node, name: Node) -> bool:
        """Return whether a declaration in a function is of something outside of it."""
        if node.type == "pointer_expression":  # the grammar reads `int (&a)[2] = b;` as an assignment
            return not _is_array_reference(node)
        if node.type != "declaration":
            return False
        if any(part.type == "storage_class_specifier" and part.text == b"extern" for part in node.children):
            return True
        parameters = child(name.parent, "parameters")
        if parameters is None:
            return False
        # `T a(b);` declares a variable if `b` is a value; with the name of a parameter, or a built-in type, a function.
        inside = parameters.named_children
        return not inside or any(
            (typed := child(part, "type")) is None
            or typed.type != "type_identifier"
            or child(part, "declarator") is not None
            for part in inside
        )

    def imports(self, files: Imports, path: str, text: str) -> Iterator[Import]:
        """Read the includes, each header with the source file of its name."""
        for match in _INCLUDE.finditer(text):
            included = match["path"]
            near = posixpath.normpath(posixpath.join(posixpath.dirname(path), included))
            name = posixpath.basename(included)
            paths = [near] if near in files.files else []
            paths = paths or [known for known in files.tails[name] if f"/{known}".endswith(f"/{included}")][:1]
            # The source file of its name defines what a header declares.
            stems = {source.rpartition(".")[0] for source in paths}
            sources = [file for stem in stems for end in _SOURCES for file in _source(files, stem, end)]
            if paths:
                yield Import(EVERY, EVERY, (*paths, *sources))

    def spaces(self, names: Names, path: str, lines: LineSpan, name: str) -> Iterator[Collection[tuple[str, ...]]]:
        """Yield the namespaces that the name is declared to be of, those around it, and those that the file uses."""
        around = names.namespaces(path, lines)
        outer = [tuple(around[:end]) for end in range(len(around), -1, -1)]
        text = names.imports.files[path].text
        used = names.imports.once(("c: using", path), lambda: _USING.findall(text))
        declared = [re.findall(r"\w+", scoped) for directive, scoped in used if not directive]
        directives = [re.findall(r"\w+", scoped) for directive, scoped in used if directive]
        yield {(*space, *parts[:-1]) for parts in declared if parts[-1] == name for space in outer}
        yield from ((space,) for space in outer[:-1])
        yield {(), *((*space, *parts) for parts in directives for space in outer)}

    def is_seen(self, names: Names, path: str, parsed: Definition) -> bool:
        """Return whether a header can declare what a file defines: in a source file no type, macro or static name."""
        if path.endswith(_SOURCES):
            text = names.imports.files[path].line_text(LineSpan(parsed.lines.start, parsed.named + 1))
            return parsed.kind != "class" and parsed.form != "macro" and re.search(r"\bstatic\b", text) is None
        return True

    def of_module(self, names: Names, path: str, lines: LineSpan, parts: Sequence[str], name: str) -> Answer | None:
        """Return the definitions of a name in a namespace."""
        text = names.imports.files[path].text
        aliases = names.imports.once(("c: aliases", path), lambda: dict(_ALIAS.findall(text)))
        parts = [*re.findall(r"\w+", aliases.get(parts[0], parts[0])), *parts[1:]]
        if not self._namespaces(names.imports)[0].issuperset(parts):
            return None
        matches, reason = names.free(path, NOWHERE, name)
        space = self.plain_space(names.imports, parts)
        return [one for one in matches if not space or _is_in(names, one, space)], reason or "unknown"

    def plain_space(self, files: Imports, around: list[str]) -> list[str]:
        """Return the names of namespaces without those that code leaves out or a macro says."""
        unsaid = self._namespaces(files)[1] if around else ()
        return [part for part in around if part not in unsaid]

    def _namespaces(self, files: Imports) -> tuple[set[str], set[str]]:
        """Return the namespaces of a repository, and those of them that code leaves out or a macro says."""

        def read() -> tuple[set[str], set[str]]:
            known, unsaid = set[str](), set[str]()
            for text in (file.text for path, file in files.files.items() if files.rules_of(path) is self):
                for inline, name in _NAMESPACE.findall(text):
                    parts = re.findall(r"\w+", name)
                    known.update(parts)
                    unsaid.update(parts[-1:] if inline else ())
                for macro in _MACRO.findall(text) if "namespace" in text else ():
                    unsaid.update(part for _, name in _NAMESPACE.findall(macro) for part in re.findall(r"\w+", name))
            return known, unsaid

        return files.once("c: namespaces", read)

    def sure(self, matches: Sequence[Located]) -> Sequence[Located]:
        """Return declarations alone if conditions choose one of several types, or functions or macros of files."""
        real = [located for located in matches if not located[1].declaration]
        classes = [one for _, one in real if one.kind == "class" and one.body is not None]
        others = [located for located in real if located[1].kind != "class"]
        pairs = ((one, other) for index, one in enumerate(others) for other in others[:index])
        if len(classes) > 1 or any(_are_alternatives(one, other) for one, other in pairs):
            return [located for located in matches if located[1].declaration]
        return matches

    def members(self, names: Names, path: str, qualified: str, matches: list[Located]) -> list[Located]:
        """Return the definitions; those that a header only declares with the one that another file has."""
        name = qualified.rpartition(".")[2]
        if name == qualified:  # what a template is for some types is not named without these
            matches = [located for located in matches if not re.search(rf"\b{name}\s*<", located[1].signature)]
        if (not matches and name != qualified) or any(not one.declaration for _, one in matches):
            return matches
        defined = [
            (file, one)
            for file, one in names.of_name(path, name)
            if one.qualified == qualified and not one.declaration and self.is_seen(names, file, one)
            if one.kind in CALLED or (matches and name == qualified)
        ]
        if matches and defined:
            space = names.namespaces(matches[0][0], matches[0][1].lines)
            defined = [located for located in defined if names.namespaces(located[0], located[1].lines) == space]
            if len({file for file, _ in defined}) > 1:  # a copy may be beside the one that includes the header
                headers = {posixpath.basename(file) for file, _ in matches}
                texts = {file: names.imports.files[file].text for file, _ in defined}
                defined = [one for one in defined if any(header in texts[one[0]] for header in headers)]
        elif defined:  # a macro before its name may hide a declaration from the grammar
            declared = re.compile(rf"\b{re.escape(name)}\s*\(")
            included = (file for import_ in names.imports.of(path) for file in import_.files)
            defined = defined if any(declared.search(names.imports.files[file].text) for file in included) else []
        return matches + (defined if len({file for file, _ in defined}) == 1 else [])


def _is_in(names: Names, located: Located, space: list[str]) -> bool:
    """Return whether a definition is in a namespace; the tree of a file with an error may lack its namespaces."""
    path, parsed = located
    if names.namespaces(path, parsed.lines)[-len(space) :] == space:
        return True
    opened = rf"\bnamespace\s+(?:\w+\s*::\s*)*{space[-1]}\b"
    return names.hides_namespaces(path) and re.search(opened, names.imports.files[path].text) is not None


def _are_alternatives(one: Located, other: Located) -> bool:
    """Return whether two definitions of a name stand apart, and are no overloads of each other."""
    # The branches of one `#if` stand beside each other: a reader takes them for one definition.
    together = one[0] == other[0] and one[1].parent == other[1].parent
    signatures = [re.search(r"\)\s*const\b", located[1].signature) is None for located in (one, other)]
    return not together and signatures[0] == signatures[1] and not are_overloads(one[1], other[1])


def _is_array_reference(node: Node) -> bool:
    """Return whether `&a` is in `T (&a)[2] = b`."""
    for kind in ("argument_list", "call_expression", "subscript_expression", "assignment_expression"):
        above = node.parent
        if above is None or above.type != kind:
            return False
        inner, node = node, above
    return node.child_by_field_name("left") == inner


def _source(files: Imports, stem: str, end: str) -> Sequence[str]:
    """Return the source file of a header: the one beside it, else the only one of its name."""
    beside = stem + end
    if beside in files.files:
        return [beside]
    named = files.tails.get(posixpath.basename(beside), ())
    return named if len(named) == 1 else ()
