"""JavaScript and TypeScript: ES modules and CommonJS; `script_types` infers the types."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from repoeval_bench.core.grammars.javascript import is_required
from repoeval_bench.own.references.binding_forms import binding_forms
from repoeval_bench.own.references.imports import EVERY, Import, Imports
from repoeval_bench.own.references.language_rules import LanguageRules

if TYPE_CHECKING:
    from tree_sitter import Node

_JS_FROM = re.compile(
    r"\b(?P<word>import|export)\s+(?:type\s+)?(?P<what>[\w$*\s{},]+?)\s*from\s*[\"'](?P<module>[^\"']+)[\"']"
)
_JS_REQUIRE = re.compile(
    r"\b(?:const|let|var)\s+(?P<what>\{[^}]*\}|[\w$]+)\s*=\s*(?:await\s+)?(?:require|import)\(\s*"
    r"[\"'](?P<module>[^\"']+)[\"']\s*\)(?:\s*\.\s*(?P<member>[\w$]+)\b)?"
)
_EXPORTS_ONE = re.compile(r"^module\.exports\s*=(?!=)(?!\s*\{)", re.MULTILINE)
"""A module that exports one value, and no object of names."""
_JS_ENDINGS = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts")
"""Endings that an import may omit: a script comes before the declaration file beside it."""


class JavaScript(LanguageRules):
    """JavaScript, TypeScript and TSX."""

    forms: ClassVar = binding_forms(
        names="identifier shorthand_property_identifier_pattern type_identifier",
        binds="""
            variable_declaration ! function start
            lexical_declaration|using_declaration ! around start
            function_declaration|generator_function_declaration|function_signature name around start
            function_expression|generator_function name inside start
            class_declaration|abstract_class_declaration|enum_declaration name around start both
            class name inside start both
            interface_declaration|type_alias_declaration name around start type
            internal_module|module name around start
            type_parameter|mapped_type_clause name around start type
            infer_type ! around start type
            index_signature name inside start
            formal_parameters ! around start
            arrow_function parameter inside start
            catch_clause parameter inside start
            for_in_statement left inside start if:let
            for_in_statement left inside start if:const
            for_in_statement left inside start if:using
            for_in_statement left function start if:var
            pair key label start
            method_definition|method_signature|abstract_method_signature|property_signature name label start
            public_field_definition|enum_assignment|enum_body|required_parameter|optional_parameter name label start
            field_definition property label start
        """,
        scopes="""
            statement_block switch_body for_statement class_declaration abstract_class_declaration class
            interface_declaration type_alias_declaration conditional_type index_signature
            call_signature construct_signature constructor_type
        """,
        functions="""
            function_declaration function_expression function_signature generator_function
            generator_function_declaration arrow_function method_definition method_signature
            abstract_method_signature function_type class_static_block program
        """,
        outer="program",
        within="""
            variable_declarator name
            required_parameter|optional_parameter pattern
            pair_pattern value
            object_assignment_pattern|assignment_pattern left
            infer_type !constraint
        """,
        refers="""
            import_specifier.name import_specifier.alias export_specifier.name export_specifier.alias
            jsx_opening_element.name jsx_closing_element.name jsx_self_closing_element.name generic_type.name
            nested_type_identifier.name type_predicate.name
        """,
    )
    self_names: ClassVar = frozenset({"this", "self", "super"})
    super_names: ClassVar = frozenset({"super"})
    open_objects: ClassVar = frozenset({"this"})
    scripted = True
    types_apart = True

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
    if not module.startswith(".") and "/" not in module:
        return ()
    # Without dots it may be a path from the outermost folder, as a tsconfig.json with `baseUrl` has it.
    stem = posixpath.normpath(posixpath.join(posixpath.dirname(path) if module.startswith(".") else "", module))
    bare = re.sub(r"\.[cm]?jsx?$", "", stem)
    tries = [stem, *(start + end for start in (stem, bare) for end in _JS_ENDINGS)]
    tries += [f"{stem}/index{end}" for end in _JS_ENDINGS]
    return next(((file,) for file in tries if file in files.files), ())
