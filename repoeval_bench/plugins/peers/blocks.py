"""Definitions between a least and a largest size, nested ones too: a block rule of editors' indexers.

Roo Code (RooCodeInc/Roo-Code, src/services/code-index/processors/parser.ts and constants/index.ts) and Kilo Code have
this parser. It takes the matches of a syntax query that have from 50 to 1,000 characters, with a tolerance of 15 %.
Here sizes are non-whitespace characters with the tolerance in them, blocks are whole lines, and the definitions of all
ten languages replace the query. In some languages Roo Code's queries match more (`try` and `import` in Python, every
arrow function in TypeScript).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge

from repoeval_bench.chunkers._lines import pack
from repoeval_bench.chunkers._syntax import LanguageName, resolve_language
from repoeval_bench.chunkers._tokens import Sized, check_least
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.definitions import defining_nodes
from repoeval_bench.core.fields import Doc
from repoeval_bench.core.source import Chunk, SourceFile, count_nws
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.syntax import Parsed, segments

if TYPE_CHECKING:
    from tree_sitter import Node


@CHUNKERS.register(parallel=True)
@dataclass(frozen=True, slots=True)
class BlocksChunker(Sized):
    """Each definition from `min_nws` up to `max_nws`, nested ones too; a larger one gives its syntax node's children.

    Every child is cut by the same rule; a leaf that is too large is cut by lines. So is a file without a definition. In
    other files the rule loses code outside definitions, and everywhere blocks smaller than `min_nws`: they are in no
    chunk. A method is in the block of its class too, if the class fits. When lines are cut, a rest below a fifth of the
    size takes lines from the piece before. A single line above the size is a chunk of its own.
    """

    name: ClassVar[str] = "blocks"
    min_nws: Annotated[int, Ge(0), Doc("smaller blocks are left out")] = 50
    language: LanguageName = "auto"

    def check(self) -> None:
        """Refuse sizes that leave no block."""
        Sized.check(self)
        check_least(self.name, self.min_nws, self.max_nws, self.max_tokens)

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """Return the blocks in order of their start, outer ones first; none if nothing is large enough.

        LanguageError where the file's language is not known or its grammar is not installed.
        """
        language = resolve_language(file, self.language)
        nws = file.nws_before()
        before = self.before(file) if self.max_tokens else nws
        blocks: set[LineSpan] = set()
        n_matches = 0
        for parsed in segments(file, language):
            nodes = [
                (definition.lines, node) for definition, node in defining_nodes(parsed) if definition.kind != "variable"
            ]
            n_matches += len(nodes)
            blocks |= self._blocks(parsed, nodes, before, nws)
        if not n_matches:
            blocks = set(self._by_lines(LineSpan(0, file.n_lines), before))
        large = (block for block in blocks if nws[block.end] - nws[block.start] >= max(1, self.min_nws))
        return [
            Chunk.cut(file, file.chars_of(block))
            for block in sorted(large, key=lambda block: (block.start, -block.end))
        ]

    def _blocks(
        self, parsed: Parsed, nodes: list[tuple[LineSpan, Node]], before: Sequence[int], nws: Sequence[int]
    ) -> set[LineSpan]:
        """Return the blocks of a tree; a stack replaces recursion, because nesting can be deeper than Python's."""
        blocks: set[LineSpan] = set()
        seen: set[tuple[int, LineSpan]] = set()
        while nodes:
            lines, node = nodes.pop()
            if (node.id, lines) in seen:  # a nested definition comes again as a child of the outer one
                continue
            seen.add((node.id, lines))
            if nws[lines.end] - nws[lines.start] < self.min_nws:
                continue
            if len(lines) == 1 or before[lines.end] - before[lines.start] <= self.limit:
                # A block within a line has the size of its own text, not of the line.
                if len(lines) > 1 or count_nws(parsed.text(node)) >= self.min_nws:
                    blocks.add(lines)
                continue
            children = [(LineSpan(first, last + 1), child) for first, last, child in parsed.children(node)]
            nodes += children
            if not children:
                blocks.update(self._by_lines(lines, before))
        return blocks

    def _by_lines(self, lines: LineSpan, before: Sequence[int]) -> list[LineSpan]:
        """Pack lines up to the size; the last piece has at least a fifth of it if possible."""
        sizes = [before[line + 1] - before[line] for line in lines]
        starts = [lines.start + start for start in pack(sizes, self.limit)]
        least = self.limit // 5
        if len(starts) > 1 and before[lines.end] - before[starts[-1]] < least:
            *_, earlier, last = starts
            for line in range(last - 1, earlier, -1):
                if least <= before[lines.end] - before[line] <= self.limit:
                    starts[-1] = line
                    break
        return [LineSpan(start, end) for start, end in pairwise((*starts, lines.end))]
