"""The documents of protocol `coderag`: overlapping windows of every file, titled by repository and path.

CodeRAG-Bench (Wang et al. 2024, arXiv 2406.14497) cuts a corpus so; users cannot choose it as a chunker.
"""

from __future__ import annotations

from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import LineSpan

HALF = 25
STEP = 10


class CoderagWindows:
    """For n = 0, 10, 20, … the lines [max(0, n - 25), min(length, n + 25)), the title in the header."""

    spec = f"coderag-windows:lines={2 * HALF},step={STEP}"

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """Return the windows in order, without blank ones, which hold no gold.

        Identical ones are merged afterwards, over a whole repository.
        """
        title = f"{file.repo}-{file.path}\n"
        spans = (LineSpan(max(0, n - HALF), min(file.n_lines, n + HALF)) for n in range(0, file.n_lines, STEP))
        return [
            Chunk.cut(file, file.chars_of(span), title) for span in dict.fromkeys(spans) if file.line_text(span).strip()
        ]
