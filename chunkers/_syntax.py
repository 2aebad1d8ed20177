"""Syntax trees in lines: the one place that knows tree-sitter, and where its bytes become lines.

tree-sitter counts UTF-8 bytes, and its rows end at a newline only; everybody else here counts characters and
the lines of `str.splitlines()`. A `Parsed` file answers in those lines. Crossing from C to Python costs more
than parsing does, so it lists the children of the nodes asked for and never walks a whole tree.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import accumulate
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from repoeval_bench.errors import ChunkError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    from tree_sitter import Language, Node

    from repoeval_bench.types import SourceFile

    Child: TypeAlias = "tuple[int, int, Node]"
    """First line, last line (inclusive), node."""

# language -> (module, function that gives the grammar, extra to install, file endings)
GRAMMARS: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "python": ("tree_sitter_python", "language", "", (".py", ".pyi", ".pyw")),
    "javascript": ("tree_sitter_javascript", "language", "languages", (".js", ".jsx", ".mjs", ".cjs")),
    "typescript": ("tree_sitter_typescript", "language_typescript", "languages", (".ts", ".mts", ".cts")),
    "tsx": ("tree_sitter_typescript", "language_tsx", "languages", (".tsx",)),
    "java": ("tree_sitter_java", "language", "languages", (".java",)),
    "go": ("tree_sitter_go", "language", "languages", (".go",)),
    "rust": ("tree_sitter_rust", "language", "languages", (".rs",)),
}
_BY_ENDING = {ending: name for name, (*_, endings) in GRAMMARS.items() for ending in endings}

PLAIN, COMMENT, DECORATOR, CLOSER = range(4)
"""A child's role: comments and decorators belong to what follows, a closing bracket to what precedes."""

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


@dataclass(frozen=True, slots=True)
class _Grammar:
    """A grammar, with the roles of its node kinds looked up once."""

    language: Language
    roles: dict[int, int]
    lists: frozenset[int]


@cache
def _grammar(name: str) -> _Grammar:
    from tree_sitter import Language

    module, function, extra, _ = GRAMMARS[name]
    try:
        make: Callable[[], object] = getattr(import_module(module), function)
    except ModuleNotFoundError as error:
        raise ChunkError(
            f"the grammar of {name} is not installed; run pip install 'repoeval-bench[{extra}]'"
        ) from error
    language = Language(make())
    kinds = {kind: language.node_kind_for_id(kind) or "" for kind in range(language.node_kind_count)}
    return _Grammar(
        language,
        {kind: _ROLES[text] for kind, text in kinds.items() if text in _ROLES},
        # What holds statements, members or elements is called so in every grammar: block, class_body, …
        frozenset(kind for kind, text in kinds.items() if text.endswith(("block", "body", "list"))),
    )


def language_of(file: SourceFile) -> str:
    """The language of a file by its ending; ChunkError where no grammar is known for it."""
    ending = PurePosixPath(file.path).suffix.lower()
    if ending not in _BY_ENDING:
        raise ChunkError(
            f"{file.repo}/{file.path}: no grammar is known for files that end in {ending!r}; "
            f"name one with language=, of {', '.join(GRAMMARS)}"
        )
    return _BY_ENDING[ending]


class Parsed:
    """A file's syntax tree, its positions in the file's lines."""

    __slots__ = ("_grammar", "_starts", "root")

    def __init__(self, file: SourceFile, language: str) -> None:
        """Parse a file. A syntax error gives a tree all the same, with error nodes in it."""
        from tree_sitter import Parser

        self._grammar = _grammar(language)
        # Without the \r of CRLF the lines are the same ones, and no grammar can be put off by it.
        text = file.text.replace("\r\n", "\n")
        lines = text.splitlines(keepends=True)
        # Lone surrogates are no UTF-8; as three bytes each they are a syntax error and no crash.
        encoded = text.encode("utf-8", "surrogatepass")
        lengths: Iterable[int]
        if len(encoded) == len(text):
            lengths = map(len, lines)
        else:
            lengths = (len(line.encode("utf-8", "surrogatepass")) for line in lines)
        self._starts = list(accumulate(lengths, initial=0))
        # A parser is not safe to share between threads, and making one costs a microsecond.
        self.root = Parser(self._grammar.language).parse(encoded).root_node

    @property
    def n_lines(self) -> int:
        """Number of lines of the file."""
        return len(self._starts) - 1

    def children(self, node: Node) -> Iterator[Child]:
        """The node's children in order: first and last line, and node."""
        starts = self._starts
        last_line = len(starts) - 2
        for child in node.children:
            end = child.end_byte
            first = min(bisect_right(starts, child.start_byte) - 1, last_line)
            # Most tokens end on the line they start on: one comparison saves them the second search.
            last = first if end <= starts[first + 1] else min(bisect_right(starts, end - 1) - 1, last_line)
            yield first, last, child

    def role(self, node: Node) -> int:
        """`COMMENT`, `DECORATOR`, `CLOSER` or `PLAIN`."""
        return self._grammar.roles.get(node.kind_id, PLAIN)

    def is_list(self, node: Node) -> bool:
        """Whether the node holds a sequence of statements, members or elements; the root does."""
        return node.kind_id in self._grammar.lists or node == self.root
