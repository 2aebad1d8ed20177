"""C#: overloads, default values and `params`, partial classes; a file sees all namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.own.references.language_rules import LanguageRules

if TYPE_CHECKING:
    from tree_sitter import Node


_TYPES = ("generic_name", "nullable_type", "array_type", "pointer_type", "ref_type")
_LISTS_OF_TYPES = ("type_argument_list", "base_list")


class CSharp(LanguageRules):
    """C#. No `using` is read: a namespace does not say which files it is in."""

    def space_of(self, node: Node) -> str:
        """Return the space of a name: any but for the name of a type, which may be that of a local."""
        inner, outer = node, node.parent
        while outer is not None and outer.type in _TYPES:
            inner, outer = outer, outer.parent
        typed = outer is not None and inner in (outer.child_by_field_name("type"), outer.child_by_field_name("returns"))
        return "type" if typed or (outer is not None and outer.type in _LISTS_OF_TYPES) else "any"
