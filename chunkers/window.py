"""Sliding windows of lines, as RepoCoder (20 lines, step 10) and CodeRAG-Bench (50, step 10) use them."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from repoeval_bench.chunkers._cutter import Cutter
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.fields import Doc, Positive
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import LineSpan


@CHUNKERS.register(parallel=True, colour=3, scaled={"lines": ("step",)})
@dataclass(frozen=True, slots=True)
class WindowChunker(Cutter):
    """Sliding windows of `lines` lines that start every `step` lines.

    After Zhang et al. 2023 (arXiv 2303.12570). The last window is the first that reaches the end of the file. A window
    of blank lines only is left out.
    """

    name: ClassVar[str] = "window"
    lines: Annotated[Positive, Doc("lines of a window")] = 20
    step: Annotated[Positive, Doc("lines between the starts of two windows")] = 10

    def check(self) -> None:
        """Refuse windows that leave lines out."""
        if self.step > self.lines:
            raise SpecError(f"chunker window: step={self.step} is above lines={self.lines}; choose a step up to lines")

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """Return the windows in order; most lines are in lines/step of them."""
        before = file.nws_before()
        # The last start is the first from which a window reaches the end.
        starts = range(0, max(0, file.n_lines - self.lines) + self.step, self.step) if file.n_lines else ()
        windows = (LineSpan(start, min(start + self.lines, file.n_lines)) for start in starts)
        return [
            Chunk.cut(file, file.chars_of(window)) for window in windows if before[window.start] < before[window.end]
        ]
