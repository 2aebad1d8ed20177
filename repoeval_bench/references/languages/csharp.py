"""C#: overloads, default values and `params`, partial classes; a file sees all namespaces."""

from __future__ import annotations

from typing import ClassVar

from repoeval_bench.references.language_rules import LanguageRules, NodeKinds, parameters_of


class CSharp(LanguageRules):
    """C#. No `using` is read: a namespace does not say which files it is in."""

    nodes: ClassVar = NodeKinds(
        dotted=["member_access_expression", "member_binding_expression"],
        calls=["invocation_expression"],
        creations=["object_creation_expression"],
        casts=["as_expression", "cast_expression"],
        same=[
            "assignment_expression",
            "await_expression",
            "conditional_access_expression",
            "parenthesized_expression",
            "ref_expression",
            "unary_expression",
        ],
        items=["element_access_expression"],
        literals=["raw_string_literal", "string_literal", "true"],
        collections=["array_type"],
        classes=[
            "class_declaration",
            "enum_declaration",
            "interface_declaration",
            "record_declaration",
            "struct_declaration",
        ],
        generic=["generic_name"],
        wraps=["nullable_type", "pointer_type"],
        opened=[
            "binary_expression",
            "is_pattern_expression",
            "local_declaration_statement",
            "parameter_list",
            "parenthesized_expression",
            "using_statement",
        ],
        around=["foreach_statement"],
        untyped=["implicit_type"],
        binds={
            "variable_declarator": ("name",),
            "foreach_statement": ("left",),
            "parameter": ("name",),
            "declaration_expression": ("name",),
        },
    )
    self_names: ClassVar = frozenset({"this", "base"})
    super_names: ClassVar = frozenset({"base"})
    implicit_members = True
    overloads = True
    inner_types = True
    sees_all = True

    def may_take(self, signature: str, arguments: int) -> bool:
        """Return whether a call fits by default values or by `params`."""
        parameters = parameters_of(signature)
        open_ended = any(parameter.startswith("params ") for parameter in parameters)
        needed = sum(1 for parameter in parameters if "=" not in parameter) - open_ended
        return needed <= arguments and (open_ended or arguments <= len(parameters))
