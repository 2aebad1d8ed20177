"""Whole lines up to a size, cut where the fewest definitions are open: a rule of an editor's index.

Zed's semantic index cut in this way (zed-industries/zed, crates/semantic_index/src/chunking.rs), from 1,024 to 8,192
bytes. Here too the least size is an eighth of the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from repoeval_bench.chunkers._lines import cut_before
from repoeval_bench.chunkers._syntax import LanguageName, resolve_language
from repoeval_bench.chunkers._tokens import Sized
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.definitions import Definition, definitions
from repoeval_bench.core.source import Chunk, SourceFile


@CHUNKERS.register(parallel=True)
@dataclass(frozen=True, slots=True)
class LeastNestedChunker(Sized):
    """Whole lines up to `max_nws`, cut at the last of the borders that the fewest definitions of several lines cross.

    Comments and decorators right above a definition belong to it. A border that leaves less than an eighth of the size
    is not chosen if a later one fits. As in the source of the rule, the next chunk does not consider the borders up to
    the line that did not fit again. Every line is in exactly one chunk; a single line above the size is a chunk of its
    own.
    """

    name: ClassVar[str] = "least-nested"
    language: LanguageName = "auto"

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """The file's chunks in order; none for a file without a non-blank line."""
        language = resolve_language(file, self.language)
        before = self.before(file)
        if not before[-1]:
            return []
        if before[-1] <= self.limit:
            return cut_before(file, [0])
        starts = _starts(before, _depths(file, definitions(file, language)), self.limit)
        return cut_before(file, [line for line in starts if before[line] < before[-1]])


def _depths(file: SourceFile, defined: Sequence[Definition]) -> list[int]:
    """Return for each border between lines how many definitions it lies in; there is one border more than lines."""
    steps = [0] * (file.n_lines + 1)
    for definition in defined:
        if definition.lines.end - definition.above > 1:
            steps[definition.above + 1] += 1
            steps[definition.lines.end] -= 1
    return list(accumulate(steps))


def _starts(before: Sequence[int], depths: Sequence[int], limit: int) -> list[int]:
    """Return the first lines of chunks; only blank lines, or none, may follow the last ones."""
    starts = [0]
    start = end = depth = 0  # of the chunk, and of the border that it would end at
    for border in range(1, len(before)):
        while before[border] - before[start] > limit:
            if before[end] == before[start]:  # no border is left: cut before this line, or after it
                end = border - 1 if before[border - 1] > before[start] else border
            starts.append(end)
            start = end
        # A chunk of an eighth of the size or less takes any border, a larger one those that are not deeper.
        if border > start and (8 * (before[end] - before[start]) < limit or depths[border] <= depth):
            end, depth = border, depths[border]
    return starts
