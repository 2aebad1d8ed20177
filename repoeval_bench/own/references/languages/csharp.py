"""C#: overloads, default values and `params`, partial classes; a file sees all namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from repoeval_bench.own.references.binding_forms import binding_forms
from repoeval_bench.own.references.language_rules import LanguageRules, NodeKinds, parameters_of

if TYPE_CHECKING:
    from tree_sitter import Node


_TYPES = ("generic_name", "nullable_type", "array_type", "pointer_type", "ref_type")
_LISTS_OF_TYPES = ("type_argument_list", "base_list")


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
        untyped=["implicit_type"],
    )
    forms: ClassVar = binding_forms(
        names="identifier implicit_parameter",
        binds="""
            variable_declarator name around start
            tuple_pattern|parenthesized_variable_designation name around start
            declaration_expression|declaration_pattern|var_pattern|recursive_pattern|list_pattern name around start
            parameter|parameter_list|bracketed_parameter_list|catch_declaration name around start
            lambda_expression parameters inside start
            foreach_statement left inside right
            from_clause name around end
            join_clause <in around start
            let_clause <= around end
            join_into_clause >into around end
            query_expression >into inside start
            invocation_expression arguments around start if:is_expression
            accessor_declaration =value inside start if:set
            accessor_declaration =value inside start if:init
            accessor_declaration =value inside start if:add
            accessor_declaration =value inside start if:remove
            local_function_statement name around start
            method_declaration|property_declaration|event_declaration name around start
            enum_member_declaration|indexer_declaration name around start
            class_declaration|struct_declaration|record_declaration name around start both
            interface_declaration|enum_declaration|delegate_declaration name around start both
            constructor_declaration|destructor_declaration name around start method
            type_parameter name around start type
            argument|attribute_argument|tuple_element name label start
            subpattern <: label start
            anonymous_object_creation_expression|with_initializer <= label start
            labeled_statement <: label start
            goto_statement ! label start
        """,
        scopes="""
            block method_declaration constructor_declaration destructor_declaration operator_declaration
            conversion_operator_declaration indexer_declaration local_function_statement lambda_expression
            anonymous_method_expression for_statement foreach_statement using_statement fixed_statement
            catch_clause switch_body switch_expression_arm while_statement query_expression accessor_declaration
            class_declaration struct_declaration record_declaration interface_declaration delegate_declaration
            tuple_type property_declaration
        """,
        outer="compilation_unit declaration_list enum_member_declaration_list",
        within="parameter_list|parenthesized_pattern",
        refers="""
            alias_qualified_name.name alias_qualified_name.alias attribute.name member_access_expression.name
            member_binding_expression.name qualified_name.name using_directive.name namespace_declaration.name
            file_scoped_namespace_declaration.name
        """,
    )
    self_names: ClassVar = frozenset({"this", "base"})
    super_names: ClassVar = frozenset({"base"})
    implicit_members = True
    overloads = True
    inner_types = True
    sees_all = True

    def space_of(self, node: Node) -> str:
        """Return the space of a name: any but for the name of a type, which may be that of a local."""
        inner, outer = node, node.parent
        while outer is not None and outer.type in _TYPES:
            inner, outer = outer, outer.parent
        typed = outer is not None and inner in (
            outer.child_by_field_name("type"),
            outer.child_by_field_name("returns"),
        )
        return "type" if typed or (outer is not None and outer.type in _LISTS_OF_TYPES) else "any"

    def may_take(self, signature: str, arguments: int) -> bool:
        """Return whether a call fits by default values or by `params`."""
        parameters = parameters_of(signature)
        open_ended = any(parameter.startswith("params ") for parameter in parameters)
        needed = sum(1 for parameter in parameters if "=" not in parameter) - open_ended
        return needed <= arguments and (open_ended or arguments <= len(parameters))
