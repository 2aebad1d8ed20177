"""One chunk per function, method and class header; the lines between them are merged."""

from dataclasses import dataclass
from typing import ClassVar

from repoeval_bench.chunkers._cutter import Cutter, cut_before, pack
from repoeval_bench.chunkers._syntax import LanguageName, resolve_language
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.definitions import definitions
from repoeval_bench.core.source import Chunk, SourceFile


@CHUNKERS.register(parallel=True, colour=4)
@dataclass(frozen=True, slots=True)
class FunctionsChunker(Cutter):
    """One chunk per function, method or class header, of any size; the lines between them are merged.

    A function's comments and decorators belong to it, and so do the functions within it. A class header ends at the
    first method. Every line is in exactly one chunk.
    """

    name: ClassVar[str] = "functions"
    language: LanguageName = "auto"

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """The file's chunks in order; none for a file without a non-blank line."""
        before = file.nws_before()
        if not before[-1]:
            return []
        starts = {0}
        inside = 0  # the line after the last function: definitions within a function stay in it
        for definition in definitions(file, resolve_language(file, self.language)):
            if definition.kind == "variable" or definition.body is None or definition.above < inside:
                continue
            end = definition.lines.end
            while end < file.n_lines and before[end] == before[end + 1]:
                end += 1  # blank lines stay with the definition that they follow
            starts |= {definition.above, end}
            inside = inside if definition.kind == "class" else definition.lines.end
        lines = sorted(line for line in starts if line < file.n_lines)
        sizes = [before[end] - before[start] for start, end in zip(lines, [*lines[1:], file.n_lines], strict=True)]
        return cut_before(file, [lines[index] for index in pack(sizes, 0)])
