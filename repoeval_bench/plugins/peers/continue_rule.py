"""Whole classes and functions, and collapsed forms of those that are too large: Continue's rule.

The rule is in continuedev/continue, core/indexing/chunk/code.ts (read at commit 03040a0). A file or a definition below
the size is a chunk. A larger class gives a form whose methods' bodies are "...", and a larger function its head. Their
contents follow by the same rule. The size is that of the embedding model, at most 512 tokens. In a file that is too
large, the rule loses all code outside definitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from repoeval_bench.chunkers._syntax import LanguageName, resolve_language
from repoeval_bench.chunkers._tokens import Ruler, Sized, counter
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import CharSpan
from repoeval_bench.core.syntax import Parsed, parse

if TYPE_CHECKING:
    from tree_sitter import Node

_CLASSES = frozenset({"class_definition", "class_declaration", "impl_item"})
_FUNCTIONS = frozenset({"function_definition", "function_declaration", "function_item", "method_declaration"})
_METHODS = _FUNCTIONS | {"method_definition"}
_CLASS_BODIES = frozenset({"block", "class_body", "declaration_list"})
_BODIES = frozenset({"block", "statement_block"})


@CHUNKERS.register(parallel=True)
@dataclass(frozen=True, slots=True)
class ContinueChunker(Sized):
    """Files and definitions that fit stay whole; a larger one gives an outline without bodies, and its parts.

    An outline has the lines of its whole definition, and its embedded text is the shorter form. All those lines
    count, for the gold in them and for the budget. A method is in its class's chunk too, if the class fits.
    """

    name: ClassVar[str] = "continue"
    language: LanguageName = "auto"

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """Return the chunks in the order of their start, outer ones first.

        LanguageError where the file's language is not known or its grammar is not installed.
        """
        language = resolve_language(file, self.language)
        ruler = Ruler(file.text, self.tokenizer if self.max_tokens else None)
        size = ruler.size(0, len(file.text))
        if not size:
            return []
        if size < self.limit:
            return [Chunk.cut(file, CharSpan(0, len(file.text)))]
        parsed = parse(file, language)
        return [
            Chunk.cut(file, parsed.chars(node), rewritten=collapsed)
            for node, collapsed in self._definitions(parsed, ruler)
        ]

    def _definitions(self, parsed: Parsed, ruler: Ruler) -> Iterator[tuple[Node, str]]:
        """Yield nodes with their collapsed form ("" if they fit)."""
        nodes = [parsed.root]  # a stack: nesting can be deeper than Python's
        while nodes:
            node = nodes.pop()
            if node.type in _CLASSES | _FUNCTIONS:
                span = parsed.chars(node)
                if ruler.size(span.start, span.end) < self.limit:
                    yield node, ""
                    continue
                yield node, self._collapsed_class(node, parsed) if node.type in _CLASSES else _head(node, parsed)
            nodes += [child for _, _, child in parsed.children(node)][::-1]

    def _collapsed_class(self, node: Node, parsed: Parsed) -> str:
        """Return a class with `...` for its methods' bodies; the last methods are dropped while it is too long."""
        body = next((child for child in node.children if child.type in _CLASS_BODIES), None)
        methods = [child for child in body.children if child.type in _METHODS] if body else []
        cuts = [(child, next((part for part in child.children if part.type in _BODIES), None)) for child in methods]
        bodies = [(method, block) for method, block in cuts if block]
        size = counter(self.tokenizer if self.max_tokens else None)
        for n_headed in range(len(bodies), -1, -1):
            pieces, position = [], node.start_byte
            for index, (method, block) in enumerate(bodies):
                if index < n_headed:
                    pieces += [parsed.text_between(position, block.start_byte), _ellipsis(block)]
                else:
                    pieces.append(parsed.text_between(position, method.start_byte))
                position = block.end_byte
            text = "".join([*pieces, parsed.text_between(position, node.end_byte)])
            if n_headed == 0 or size(text) <= self.limit:
                break
        return text


def _head(node: Node, parsed: Parsed) -> str:
    """Return a function with `...` for its body, and for a method its class's head before it."""
    last = node.children[-1]
    head = parsed.text_between(node.start_byte, last.start_byte) + _ellipsis(last)
    block = node.parent
    owner = block.parent if block and block.type in {"block", "declaration_list"} else None
    if block and owner and owner.type in {"class_definition", "impl_item"}:
        indent = " " * node.start_point.column
        return f"{parsed.text_between(owner.start_byte, block.start_byte)}...\n\n{indent}{head}"
    return head


def _ellipsis(block: Node) -> str:
    return "{ ... }" if block.type == "statement_block" else "..."
