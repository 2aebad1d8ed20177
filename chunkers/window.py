"""Sliding windows of lines, as RepoCoder (20 lines, step 10) and CodeRAG-Bench (50, step 10) use them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from repoeval_bench.chunkers._cutter import Cutter
from repoeval_bench.chunkers._lines import nws_before
from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.options import Whole, option
from repoeval_bench.core.source import Chunk
from repoeval_bench.core.spans import LineSpan

if TYPE_CHECKING:
    from repoeval_bench.core.source import SourceFile


@dataclass(frozen=True, slots=True)
class WindowChunker(Cutter):
    """Sliding windows of `lines` lines that start every `step` lines (Zhang et al. 2023, arXiv 2303.12570).

    The last window is the first that reaches the end of the file. A window of blank lines only is left out.
    """

    name: ClassVar[str] = "window"
    lines: int = option(20, "lines of a window", Whole(1))
    step: int = option(10, "lines between the starts of two windows", Whole(1))

    def check(self) -> None:
        """Refuse windows that leave lines out."""
        if self.step > self.lines:
            raise SpecError(f"chunker window: step={self.step} is above lines={self.lines}; choose a step up to lines")

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """The windows in order; most lines are in lines/step of them."""
        before = nws_before(file)
        n_starts = max(1, -(-(file.n_lines - self.lines) // self.step) + 1)
        windows = (
            LineSpan(first, min(first + self.lines, file.n_lines))
            for first in range(0, min(n_starts * self.step, file.n_lines), self.step)
        )
        return [
            Chunk.cut(file, file.chars_of(window)) for window in windows if before[window.start] < before[window.end]
        ]
