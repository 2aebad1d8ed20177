"""The bindings of a local name of Python that can hold where it is used, by the order of the statements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from repoeval_bench.own.references import python_nodes as nodes

if TYPE_CHECKING:
    from tree_sitter import Node

    from repoeval_bench.own.references.python_scopes import PythonBinding

_CLAUSES = frozenset(
    {"block", "elif_clause", "else_clause", "except_clause", "except_group_clause", "finally_clause", "case_clause"}
)
_LEAVES = ("return_statement", "raise_statement")
_JUMPS = (*_LEAVES, "continue_statement", "break_statement")


def reaching(
    sites: Sequence[PythonBinding], top: Node, use: Node, ways: dict[Node, Sequence[Node]]
) -> list[list[PythonBinding]]:
    """Return the sites that may hold at a use, those of one statement together; `top` is the node of their scope.

    The last one that every way to the use passes hides those before it. A test of a type is one where it holds.
    `ways` keeps the nodes down to each site.
    """
    way = _way(top, use)
    if way[-1] != use:  # it is in another tree: an annotation in a string
        return [[*sites]]
    sure: list[tuple[int, PythonBinding]] = []
    maybe: list[tuple[int, PythonBinding]] = []
    again: list[tuple[Node, PythonBinding]] = []
    for site in sites:
        anchor = site.source or (site.opens.node if site.opens else None)
        if anchor is not None and anchor not in ways:
            ways[anchor] = _way(top, anchor)
        path = ways[anchor] if anchor is not None else []
        if not path or path[-1] != anchor or (path[1:] and path[1].type.endswith("parameters")):
            sure.append((-1, site))
            continue
        start = path[-1].start_byte
        different = (i for i, pair in enumerate(zip(path, way, strict=False)) if pair[0] != pair[1])
        common = next(different, min(len(path), len(way) - 1))  # without one, the use is in what is assigned
        outer, inner, below = way[common - 1], path[common:], way[common]
        if site.role == "narrowed":
            sure += [(start, site)] if inner and _holds(outer, inner, below) else []
            continue
        if outer.type in nodes.COMPREHENSIONS:
            sure.append((start, site))
        elif inner and start < use.start_byte and not _is_other_branch(outer, inner[0], below):
            blocks = [
                part for part in inner if part.type == "block" and path[path.index(part) - 1].type != "with_statement"
            ]
            if not any(_ends(block, _LEAVES) for block in blocks):
                (maybe if blocks or inner[0].type in _CLAUSES else sure).append((start, site))
        elif loops := [
            node
            for node, part in pairwise(way[: common + 1])
            if node.type == "while_statement" or (node.type == "for_statement" and part.type == "block")
        ]:
            again.append((loops[0], site))
    last, deciding = max(sure, key=lambda pair: pair[0], default=(-2, None))
    groups = [
        [
            site
            for start, site in sure
            if start == last
            or (deciding is not None and "narrowed" not in (site.role, deciding.role) and site.lines == deciding.lines)
        ]
    ]
    groups += [[site] for start, site in maybe if start > last]
    groups += [[site] for loop, site in again if not loop.start_byte <= last < loop.end_byte]
    return [group for group in groups if group]


def _way(top: Node, node: Node) -> list[Node]:
    """Return the nodes from `top` down to a node inside it."""
    cursor, way = top.walk(), [top]
    while way[-1] != node and cursor.goto_first_child_for_byte(node.start_byte) is not None:
        way += [cursor.node] if cursor.node is not None else []
    return way


def _is_other_branch(outer: Node, inner: Node, below: Node) -> bool:
    """Return whether only one of two parts of a statement runs."""
    if outer.type == "if_statement":
        return inner.type in _CLAUSES and below.type in _CLAUSES
    return inner.type == below.type and inner.type in ("case_clause", "except_clause")


def _ends(block: Node | None, kinds: Sequence[str]) -> bool:
    last = nodes.inside(block)[-1:]
    return bool(last) and last[0].type in kinds


def _holds(outer: Node, inner: Sequence[Node], below: Node) -> bool:
    """Return whether a use in `below` is reached only if the test in `inner`, another part of `outer`, is true."""
    first, kind = inner[0], outer.type
    truth: bool | None = None
    if kind in ("if_statement", "elif_clause", "while_statement") and first == outer.child_by_field_name("condition"):
        truth = below.type == "block"
    elif kind == "conditional_expression":
        parts = nodes.inside(outer)
        truth = {0: True, 2: False}.get(parts.index(below)) if first == parts[1] and below in parts else None
    elif first.type == "if_clause":
        truth = True
    elif first.end_byte > below.start_byte:
        return False
    elif kind == "boolean_operator":
        truth = any(sign.type == "and" for sign in outer.children)
    elif first.type == "assert_statement":
        truth = True
    elif first.type == "if_statement":
        is_alone = first.child_by_field_name("alternative") is None
        is_test = len(inner) > 1 and inner[1] == first.child_by_field_name("condition")
        truth = False if is_alone and is_test and _ends(first.child_by_field_name("consequence"), _JUMPS) else None
    for node in inner if truth is not None else ():
        if node.type == "not_operator":
            truth = not truth
        elif node.type == "boolean_operator" and any(sign.type == "or" for sign in node.children) == truth:
            return False
        elif node.type == "call":
            return bool(truth) and nodes.called_name(node) == "isinstance"
    return False
