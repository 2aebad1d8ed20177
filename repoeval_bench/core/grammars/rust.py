"""The grammar of Rust."""

from collections.abc import Iterator

from repoeval_bench.core.grammars.grammar import (
    BARE,
    BLOCK_AND_LINE,
    DefinedName,
    Grammar,
    base_name,
    child,
    defined,
    named,
    named_all,
    words,
)
from repoeval_bench.core.syntax import Node, Parsed

# The prelude and the macros of Rust's standard library (1.80, edition 2021), without file, line and the like, which are
# more often names of variables; and primitive types.
_BUILTINS = """
AsMut AsRef Box Clone Copy Default DoubleEndedIterator Drop Eq Err ExactSizeIterator Extend Fn FnMut FnOnce From
FromIterator Into IntoIterator Iterator None Ok Option Ord PartialEq PartialOrd Result Self Send Sized Some String Sync
ToOwned ToString TryFrom TryInto Unpin Vec
assert assert_eq assert_ne compile_error dbg debug_assert debug_assert_eq debug_assert_ne drop eprint eprintln format
format_args include_bytes include_str matches module_path option_env panic print println stringify thread_local todo
unimplemented unreachable vec write writeln
bool char f32 f64 i128 i16 i32 i64 i8 isize str u128 u16 u32 u64 u8 usize
"""


def _impl(parsed: Parsed, node: Node) -> Iterator[DefinedName]:
    if (typed := child(node, "type")) is not None:
        name = base_name(parsed, typed)
        yield defined(parsed, "class", "impl", typed, node, name=name, body=child(node, "body"))


RUST = Grammar(
    anywhere={
        **named_all("function", function="function_item function_signature_item"),
        **named_all("class", struct="struct_item", enum="enum_item", union="union_item", trait="trait_item"),
        **named_all("class", type="type_item associated_type"),
        "impl_item": _impl,
        "macro_definition": named("function", "macro", declared=False),
    },
    members={
        **named_all("variable", constant="const_item static_item", field="field_declaration", enumerator="enum_variant")
    },
    transparent=words("declaration_list field_declaration_list enum_variant_list mod_item foreign_mod_item"),
    identifiers=("identifier", "field_identifier", "type_identifier", "shorthand_field_identifier"),
    builtins=words(_BUILTINS),
    calls={
        "call_expression": (
            "function",
            {**BARE, "scoped_identifier": ("name", "identifier"), "field_expression": ("field", "field_identifier")},
        ),
        "macro_invocation": ("macro", BARE),
    },
    comments=BLOCK_AND_LINE,
    imports="(use_declaration argument: (_) @name)",
    separators=(
        r"^()(?:pub(?:\([^)\n]*\))?[ \t]+)?(?:unsafe[ \t]+)?(?:struct|enum|union|trait|impl|mod)\b",
        r"^()[ \t]*(?:pub(?:\([^)\n]*\))?[ \t]+)?(?:\w+[ \t]+){0,3}fn\s",
    ),
)
