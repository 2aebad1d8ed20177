"""Syntax trees in lines: the one place where tree-sitter's bytes become lines and characters.

tree-sitter counts UTF-8 bytes, and its rows end at a newline only; all other code here counts characters and the lines
of `str.splitlines()`. A `Parsed` file returns those lines.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import accumulate
from threading import local
from typing import TYPE_CHECKING, TypeAlias

from repoeval_bench.core.errors import GrammarError
from repoeval_bench.core.extras import install_command
from repoeval_bench.core.languages import FURTHER, Language
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import CharSpan, LineSpan

if TYPE_CHECKING:
    import tree_sitter

# For annotations: the library itself is imported where a file is parsed.
Node: TypeAlias = "tree_sitter.Node"

Child: TypeAlias = "tuple[int, int, Node]"
"""First line, last line (inclusive), node."""

PLAIN, COMMENT, DECORATOR, CLOSER = range(4)
"""A child's role: comments and decorators belong to the next node, a closing bracket to the one before."""

# The most bytes of texts whose trees a parser caches; a tree takes about 45 times the bytes of its text.
_CACHED = 1_000_000

_ROLES = {
    "comment": COMMENT,
    "line_comment": COMMENT,
    "block_comment": COMMENT,
    "decorator": DECORATOR,
    "attribute_item": DECORATOR,
    ")": CLOSER,
    "]": CLOSER,
    "}": CLOSER,
}

# A function's body is a compound_statement in C; an #ifdef contains statements too.
_LISTS = ("block", "body", "list", "compound_statement", "preproc_if", "preproc_ifdef", "preproc_elif", "preproc_else")

# The same of the further languages, by whole names: some are parts of other names, or mean something else, in the ten.
_FURTHER_ROLES = {
    "multiline_comment": COMMENT,
    "haddock": COMMENT,
    "doc_comment": COMMENT,
    "container_doc_comment": COMMENT,
    "unary_operator": DECORATOR,  # Elixir: `@doc`, `@spec`
    "signature": DECORATOR,  # Haskell: `add :: Int -> Int`
}
_FURTHER_LISTS = frozenset(
    {
        *("body_statement", "statements", "do_group", "declarations", "class_declarations", "instance_declarations"),
        *("Block", "ContainerDecl"),
    }
)


class TreeParser:
    """A parser of one grammar that caches trees; threads share nothing."""

    def __init__(self, language: tree_sitter.Language) -> None:
        self._language = language
        self._local = local()

    def parse(self, encoded: bytes, like: tuple[bytes, tree_sitter.Tree] | None = None) -> tree_sitter.Tree:
        """Return the syntax tree of a UTF-8 text; `like` is another version of it with its tree, reused where equal."""
        from tree_sitter import Parser

        # A search for a size cuts files again.
        trees: dict[bytes, tree_sitter.Tree] = self._local.__dict__.setdefault("trees", {})
        tree = trees.pop(encoded, None)
        if tree is None:
            parser = Parser(self._language)
            # This text may be the one before with some lines blanked. With a syntax error, the result may differ from a
            # tree that is parsed afresh: of 4,500 such texts it did in 21 of 1,800 with an error, and in none without.
            before = like or next(reversed(trees.items()), None)
            if before and (near := _edited(*before, encoded)) and (like or not near.root_node.has_error):
                reused = parser.parse(encoded, near)
                if like or not reused.root_node.has_error:
                    return reused
            tree = parser.parse(encoded)
        trees[encoded] = tree  # the last one, as it was used last
        while sum(map(len, trees)) > _CACHED:
            del trees[next(iter(trees))]
        return tree


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grammar:
    """A grammar, with the roles of its node kinds, looked up once."""

    of: Language
    language: tree_sitter.Language
    parser: TreeParser
    roles: dict[int, int]
    lists: frozenset[int]


def bare_grammar(of: Language) -> object:
    """The grammar as its package returns it, for any binding of tree-sitter; GrammarError if it is not installed."""
    try:
        make: Callable[[], object] = getattr(import_module(of.module), of.function)
    except ModuleNotFoundError as error:
        raise GrammarError(f"the grammar of {of.name} is not installed; run {install_command(of.extra)}") from error
    return make()


@cache
def _grammar(of: Language) -> _Grammar:
    import tree_sitter

    language = tree_sitter.Language(bare_grammar(of))
    kinds = {kind: language.node_kind_for_id(kind) or "" for kind in range(language.node_kind_count)}
    is_further = of.name in FURTHER
    role_of = _ROLES | _FURTHER_ROLES if is_further else _ROLES
    return _Grammar(
        of=of,
        language=language,
        parser=TreeParser(language),
        roles={kind: role_of[text] for kind, text in kinds.items() if text in role_of},
        # Nodes of statements, members or elements have such names in every grammar: block, class_body, …
        lists=frozenset(
            kind for kind, text in kinds.items() if text.endswith(_LISTS) or (is_further and text in _FURTHER_LISTS)
        ),
    )


@cache
def _query(of: Language, text: str) -> tree_sitter.Query:
    from tree_sitter import Query

    return Query(_grammar(of).language, text)


class Parsed:
    """A file's syntax tree, whose positions are lines of the file."""

    # A call from Python into the tree costs more than parsing, so the children of the requested nodes alone are listed,
    # and no whole tree is walked.

    __slots__ = ("_encoded", "_grammar", "_rows", "_starts", "_tree", "file", "root")

    def __init__(self, file: SourceFile, grammar: _Grammar, like: Parsed | None = None) -> None:
        self.file = file
        self._grammar = grammar
        # Without the \r of CRLF the lines are the same, and no grammar can stumble over it. A lone surrogate is no
        # UTF-8; as three bytes it is a syntax error and no crash.
        text = file.text.replace("\r\n", "\n") if "\r" in file.text else file.text
        self._encoded = text.encode("utf-8", "surrogatepass")
        # Empty for most files, whose lines are tree-sitter's rows, which are faster to read.
        self._starts = [] if file.plain else _line_starts(text)
        self._rows: list[int] = []
        same_grammar = like is not None and like.language == grammar.of
        self._tree = grammar.parser.parse(self._encoded, like.version if like and same_grammar else None)
        self.root: Node = self._tree.root_node

    @property
    def language(self) -> Language:
        """The language of the grammar."""
        return self._grammar.of

    @property
    def version(self) -> tuple[bytes, tree_sitter.Tree]:
        """The text that was parsed and its tree, of which another version's tree can be made."""
        return self._encoded, self._tree

    def children(self, node: Node) -> Iterator[Child]:
        """The node's children in order: first and last line, and node."""
        starts = self._starts
        for child in node.children:
            if starts:
                first = min(bisect_right(starts, child.start_byte), len(starts) - 1) - 1
                last = min(bisect_right(starts, child.end_byte - 1), len(starts) - 1) - 1
            else:
                first = child.start_point.row
                row, column = child.end_point
                last = row - (not column)
                if first == self.file.n_lines:  # an empty node behind the last line
                    return
            yield first, max(first, last), child

    def text(self, node: Node) -> str:
        """The node's text; line ends are newlines."""
        return self.text_between(node.start_byte, node.end_byte)

    def text_between(self, start: int, end: int) -> str:
        """Return the text of the tree's bytes [start, end)."""
        return self._encoded[start:end].decode("utf-8", "replace")

    def lines(self, node: Node) -> LineSpan:
        """The lines that the node's text is on; one line for an empty node."""
        return self.lines_between(node.start_byte, node.end_byte)

    def lines_between(self, start: int, end: int) -> LineSpan:
        """The lines of the tree's bytes [start, end) without blanks at both ends; one line if nothing is left."""
        text = self._encoded[start:end]
        first = start + len(text) - len(text.lstrip())
        last = first + len(text.strip()) - 1
        return LineSpan(self._line(min(first, end)), self._line(max(min(first, end), last)) + 1)

    def chars(self, node: Node) -> CharSpan:
        """The characters of the file that the node covers."""
        return CharSpan(self._char(node.start_byte), self._char(node.end_byte))

    def _line(self, byte: int) -> int:
        """The line of a byte of this tree; the last one for its end."""
        return min(bisect_right(self.line_bytes, byte) - 1, max(self.file.n_lines - 1, 0))

    def _char(self, byte: int) -> int:
        line = self._line(byte)
        before = self._encoded[self.line_bytes[line] : byte].decode("utf-8", "surrogatepass")
        return min(self.file.chars_of(LineSpan(line, line)).start + len(before), len(self.file.text))

    @property
    def line_bytes(self) -> list[int]:
        """The byte of this tree at which each of its lines starts, computed on first use."""
        if not self._rows:
            rows = accumulate(map(len, self._encoded.splitlines(keepends=True)), initial=0)
            self._rows = self._starts or list(rows)
        return self._rows

    def span(self, node: Node) -> LineSpan:
        """The lines from the node's first to its last character; unlike `lines`, without looking at the text."""
        if not self._starts:  # rows are lines
            row, column = node.end_point
            first = node.start_point.row
            return LineSpan(first, max(first, row - (not column)) + 1)
        first = self._line(node.start_byte)
        return LineSpan(first, max(first, self._line(max(node.start_byte, node.end_byte - 1))) + 1)

    def matches(self, query: str, lines: LineSpan | None = None) -> Iterator[dict[str, list[Node]]]:
        """Yield the matches of a tree-sitter query in order: name of a capture -> its nodes.

        With `lines` of the file, only matches that touch them.
        """
        from tree_sitter import QueryCursor

        cursor = QueryCursor(_query(self._grammar.of, query))
        if lines is not None:
            lines = lines.common(LineSpan(0, self.file.n_lines))
            if not lines:
                return
            cursor.set_byte_range(self.line_bytes[lines.start], self.line_bytes[lines.end])
        for _, captured in cursor.matches(self.root):
            yield captured

    def role(self, node: Node) -> int:
        """`COMMENT`, `DECORATOR`, `CLOSER` or `PLAIN`."""
        return self._grammar.roles.get(node.kind_id, PLAIN)

    def is_list(self, node: Node) -> bool:
        """Return whether the node contains a sequence of statements, members or elements; the root does."""
        return node.kind_id in self._grammar.lists or node == self.root

    def signature(self, node: Node, body: Node | None) -> str:
        """A definition's text up to its body, on one line, without comments."""
        start, end = node.start_byte, body.start_byte if body else node.end_byte
        pieces = []
        for child in node.children:
            for part in (child, *child.children) if child.start_byte < end else ():
                if self.role(part) == COMMENT and start <= part.start_byte < end:
                    pieces.append(self._encoded[start : part.start_byte])
                    start = part.end_byte
        pieces.append(self._encoded[start:end])
        return " ".join(b" ".join(pieces).decode("utf-8", "replace").split()).removesuffix("=>").rstrip(" {:;")


def parse(file: SourceFile, language: Language, like: Parsed | None = None) -> Parsed:
    """A file's syntax tree; with a syntax error, it has error nodes. GrammarError if the grammar is not installed.

    `like` is the tree of another version of the file, of which only what differs is parsed. Where the text has syntax
    errors, the tree can differ from one that is parsed afresh: 1 of 2,000 did, in C++.
    """
    return Parsed(file, _grammar(language), like)


def _edited(before: bytes, tree: tree_sitter.Tree, after: bytes) -> tree_sitter.Tree | None:
    """Return a copy of a text's tree that marks where another text differs; None if they differ for the most part."""
    start = _n_equal(before, after)
    end = _n_equal(before[start:][::-1], after[start:][::-1])
    if start + end < max(len(before), len(after)) / 2:
        return None
    ends = len(before) - end, len(after) - end
    copy = tree.copy()
    copy.edit(start, *ends, _point(before, start), _point(before, ends[0]), _point(after, ends[1]))
    return copy


def _n_equal(a: bytes, b: bytes) -> int:
    """The number of bytes with which both begin."""
    return bisect_left(range(1, min(len(a), len(b)) + 1), True, key=lambda number: a[:number] != b[:number])


def _point(text: bytes, at: int) -> tuple[int, int]:
    """Row and column of a byte."""
    return text.count(b"\n", 0, at), at - text.rfind(b"\n", 0, at) - 1


def _line_starts(text: str) -> list[int]:
    """The byte at which each line starts, and that of the end, for files whose lines are not tree-sitter's rows."""
    lines = text.splitlines(keepends=True)
    return list(accumulate((len(line.encode("utf-8", "surrogatepass")) for line in lines), initial=0))
