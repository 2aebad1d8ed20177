"""C and C++: includes, namespaces, what a header declares and a source defines."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from repoeval_bench.references.imports import EVERY, Import, Imports
from repoeval_bench.references.language_rules import NOWHERE, LanguageRules, Located, Names, NodeKinds

if TYPE_CHECKING:
    from repoeval_bench.references.resolved_name import Reason

_INCLUDE = re.compile(r"^\s*#\s*include\s*[\"<](?P<path>[^\">\n]+)[\">]", re.MULTILINE)


class C(LanguageRules):
    """C and C++."""

    nodes: ClassVar = NodeKinds(
        dotted=["field_expression", "qualified_identifier"],
        calls=["call_expression"],
        creations=["new_expression"],
        casts=["cast_expression", "compound_literal_expression"],
        same=["assignment_expression", "parenthesized_expression", "pointer_expression", "unary_expression"],
        items=["subscript_expression"],
        literals=["raw_string_literal", "string_literal", "true"],
        collections=["variadic_parameter_declaration"],
        classes=["class_specifier", "struct_specifier"],
        generic=["template_function", "template_type"],
        wraps=["type_descriptor"],
        opened=[
            "abstract_function_declarator",
            "binary_expression",
            "condition_clause",
            "function_declarator",
            "parameter_list",
            "parenthesized_expression",
            "pointer_declarator",
            "reference_declarator",
        ],
        around=["for_range_loop"],
        untyped=["placeholder_type_specifier"],
        declarators=["array_declarator", "init_declarator", "pointer_declarator", "reference_declarator"],
        aliases=["alias_declaration", "type_definition"],
        binds={
            "parameter_declaration": ("declarator",),
            "init_declarator": ("declarator",),
            "declaration": ("declarator",),
            "for_range_loop": ("declarator",),
        },
    )
    self_names: ClassVar = frozenset({"this"})
    standard: ClassVar = ("std",)
    pointers: ClassVar = frozenset({"unique_ptr", "shared_ptr", "weak_ptr", "observer_ptr", "reference_wrapper"})
    never_local: ClassVar = frozenset({"type_identifier"})
    implicit_members = True
    namespaces = True
    include_depth = 4
    re_exports = False  # `include_depth` covers what an included file includes
    pointer_items = True
    initializes_own = True
    hoists_enumerators = True

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
            ends = (".c", ".cc", ".cpp", ".cxx")
            sources = [file for stem in stems for end in ends for file in _source(files, stem, end)]
            if paths:
                yield Import(EVERY, EVERY, (*paths, *sources))

    def of_module(
        self, names: Names, path: str, parts: Sequence[str], name: str
    ) -> tuple[Sequence[Located], Reason | None] | None:
        """Return the definitions of a name in a namespace, which are those of the name alone."""
        return names.bare(path, NOWHERE, name) if names.of_namespaces(path, parts) else None

    def members(self, names: Names, path: str, qualified: str, matches: list[Located]) -> list[Located]:
        """Return the members; those that a header only declares with their definitions in other files."""
        if not matches or not all(definition.declaration for _, definition in matches):
            return matches
        named = names.of_name(path, qualified.rpartition(".")[2])
        return matches + [
            located for located in named if located[1].qualified == qualified and located[1].kind != "variable"
        ]


def _source(files: Imports, stem: str, end: str) -> Sequence[str]:
    """Return the source file of a header: the one beside it, else the first of its name."""
    beside = stem + end
    if beside in files.files:
        return [beside]
    return files.tails[posixpath.basename(beside)][:1]
