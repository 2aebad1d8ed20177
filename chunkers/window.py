"""Sliding windows of lines, as RepoCoder (20 lines, step 10) and CodeRAG-Bench (50, step 10) use them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge

from repoeval_bench.chunkers._cutter import Cutter
from repoeval_bench.chunkers._tokens import DEFAULT, MaxTokens, Tokenizing, check_size, tokens_before
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.fields import Doc
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import LineSpan

LINES = 20
"""Lines of a window, by default."""


@CHUNKERS.register(parallel=True, colour=3, scaled={"lines": ("step",)})
@dataclass(frozen=True, slots=True)
class WindowChunker(Cutter):
    """Sliding windows of `lines` lines that start every `step` lines.

    After Zhang et al. 2023 (arXiv 2303.12570). With `max_tokens` of a `tokenizer` in place of `lines` a window has all
    whole lines that fit, at least one. The next window starts `step` lines later, or where this one ends if that comes
    first, so no line is lost. The last window is the first that reaches the end of the file. A window of blank lines
    only is left out.
    """

    name: ClassVar[str] = "window"
    lines: Annotated[int, Ge(1), Doc("lines of a window")] = LINES
    step: Annotated[int, Ge(1), Doc("lines between the starts of two windows")] = 10
    max_tokens: MaxTokens = None
    tokenizer: Tokenizing = DEFAULT

    @property
    def unused(self) -> frozenset[str]:
        """The options of the unit that is not in use."""
        return frozenset({"lines"} if self.max_tokens else {"max_tokens", "tokenizer"})

    def check(self) -> None:
        """Refuse two sizes, windows that leave lines out, and a missing tokenizer."""
        check_size(self.name, ("lines", self.lines != LINES), self.max_tokens, self.tokenizer)
        if self.max_tokens is None and self.step > self.lines:
            raise SpecError(f"chunker window: step={self.step} is above lines={self.lines}; choose a step up to lines")

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """Return the windows in order; most lines are in lines/step of them."""
        before = file.nws_before()
        return [
            Chunk.cut(file, file.chars_of(window))
            for window in self._windows(file)
            if before[window.start] < before[window.end]
        ]

    def _windows(self, file: SourceFile) -> Iterator[LineSpan]:
        tokens = tokens_before(file, self.tokenizer) if self.max_tokens else []
        first = 0
        while first < file.n_lines:
            last = first + self.lines
            if self.max_tokens:
                # The window ends before the first line that does not fit, but has at least one line.
                last = max(first + 1, bisect_right(tokens, tokens[first] + self.max_tokens, lo=first) - 1)
            last = min(last, file.n_lines)
            yield LineSpan(first, last)
            if last == file.n_lines:
                return
            first = min(first + self.step, last)
