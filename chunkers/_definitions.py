"""Where a file defines functions and types: for the chunker `functions`, for statistics and for headers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.core.syntax import COMMENT, DECORATOR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from repoeval_bench.core.syntax import Parsed

FUNCTIONS = frozenset[str]().union(
    ("function_definition",),  # Python
    ("function_declaration", "generator_function_declaration", "method_definition"),  # JavaScript, TypeScript, Go
    ("method_declaration", "constructor_declaration"),  # Java, Go
    ("function_item",),  # Rust
)
TYPES = frozenset[str]().union(
    ("class_definition",),  # Python
    ("class_declaration", "abstract_class_declaration", "interface_declaration"),  # JavaScript, TypeScript, Java
    ("enum_declaration", "record_declaration"),  # TypeScript, Java
    ("type_declaration",),  # Go
    ("struct_item", "enum_item", "trait_item", "impl_item"),  # Rust
)
# In Python no definition is in an expression; elsewhere functions are passed as arguments, so all is visited.
_BARREN = frozenset[str]().union(
    ("expression_statement", "return_statement", "assert_statement", "raise_statement", "delete_statement"),
    ("import_statement", "import_from_statement", "future_import_statement"),
    ("parameters", "argument_list"),
)
_WRAPPERS = frozenset({"decorated_definition", "export_statement"})


@dataclass(frozen=True, slots=True)
class Definition:
    """A function or type on the lines [start, end), decorators included; the comments above begin at `glued`.

    `depth` counts the definitions around it; `signature` is its text up to the body, on one line.
    """

    name: str
    signature: str
    is_type: bool
    glued: int
    start: int
    end: int
    depth: int


def definitions(parsed: Parsed) -> Iterator[Definition]:
    """Every definition in the order of the file, outer ones before those in them.

    By a stack, not by recursion: nesting can be deeper than Python's.
    """
    last_line = parsed.end - 1
    barren = _BARREN if parsed.language.name == "python" else frozenset()
    stack: list[tuple[Node, int, int, int, int]] = [(parsed.root, 0, 0, last_line, 0)]
    while stack:
        node, glued, start, last, depth = stack.pop()
        kind = node.type
        if kind in FUNCTIONS or kind in TYPES:
            yield Definition(_name(node), parsed.signature(node), kind in TYPES, glued, start, last + 1, depth)
            depth += 1
        wrapped = kind in _WRAPPERS
        inner: list[tuple[Node, int, int, int, int]] = []
        top = below = -1  # first line of the comments right above, and where what they belong to must start
        for first, child_last, child in parsed.children(node):
            if parsed.role(child) in (COMMENT, DECORATOR):
                top, below = (top if top >= 0 and first <= below else first), child_last + 1
                continue
            above = top if top >= 0 and first <= below else first
            inner_kind = child.type
            if inner_kind in FUNCTIONS or inner_kind in TYPES or (child_last > first and inner_kind not in barren):
                # A decorated definition starts where its first decorator does.
                begins = (glued, start) if wrapped else (above, first)
                inner.append((child, *begins, child_last, depth))
            top = -1
        stack.extend(reversed(inner))


def _name(node: Node) -> str:
    for holder in (node, *node.named_children[:1]):
        for field in ("name", "type"):
            found = holder.child_by_field_name(field)
            if found is not None and found.text is not None:
                return found.text.decode("utf-8", "replace")
    return ""
