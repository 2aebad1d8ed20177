"""Haystack's PythonCodeSplitter (haystack-ai 3.4.1): whole functions and methods, merged up to a number of lines.

Unit of `max_effective_lines` and `min_effective_lines`: 45 characters, whitespace included, which Haystack takes for a
line of code. A chunk of methods gets their class's first lines as its header, as Haystack puts them before its text. A
function of more than three sizes is cut every `max_effective_lines` real lines, with five repeated. Python only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import accumulate
from typing import Any, ClassVar

from repoeval_bench.chunkers._adapters import Peer
from repoeval_bench.chunkers._syntax import library_language
from repoeval_bench.chunkers._tokens import LARGEST
from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.options import Whole, option
from repoeval_bench.core.source import SourceFile

_OVERLAP = 5
"""Lines that a piece of an oversized function repeats, Haystack's default."""


@dataclass(frozen=True, slots=True)
class HaystackChunker(Peer):
    """Haystack's PythonCodeSplitter (extra `haystack`), its telemetry switched off; its own sizes are 20 to 100."""

    name: ClassVar[str] = "haystack"
    max_effective_lines: int = option(45, "lines of 45 characters that a chunk comes near to", Whole(1, LARGEST))
    min_effective_lines: int = option(9, "lines of 45 characters below which a chunk goes on", Whole(1, LARGEST))

    def check(self) -> None:
        """Refuse sizes that contradict each other."""
        if self.min_effective_lines > self.max_effective_lines:
            raise SpecError(
                f"chunker haystack: min_effective_lines={self.min_effective_lines} is above max_effective_lines="
                f"{self.max_effective_lines}; give at most that"
            )

    def spans(self, file: SourceFile) -> Sequence[tuple[int, int, str]] | None:
        """Return the lines of each chunk, with the classes' first lines where Haystack puts them before it."""
        library_language(file, "auto", {"python": "python"}, self.name)
        document = import_module("haystack").Document(content=file.text)
        found = _library(self.max_effective_lines, self.min_effective_lines).run([document])["documents"]
        spans = list(_spans(file.text, found, self.max_effective_lines))
        is_whole = all(file.text[start:end] == body for start, end, _, body in spans)
        return [(start, end, header) for start, end, header, _ in spans] if is_whole else None


def _spans(text: str, documents: Sequence[Any], size: int) -> Iterator[tuple[int, int, str, str]]:
    """Yield the start, end, header and own text of each document: they follow each other and leave nothing out."""
    starts = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]
    end = first = 0
    for document in documents:
        content, meta = document.content, document.meta
        if meta.get("secondary_split"):
            if not meta["secondary_split_index"]:
                first = starts.index(end)
            start = starts[first + meta["secondary_split_index"] * (size - min(_OVERLAP, size - 1))]
            header = ""
        else:
            start = end
            # The text goes on to the end of its last unit; what is longer is in front.
            own = starts[meta["end_line"]] - start
            header, content = content[: len(content) - own], content[len(content) - own :]
        end = start + len(content)
        yield start, end, header, content


@cache
def _library(most: int, least: int) -> Any:
    os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
    splitter = import_module("haystack.components.preprocessors").PythonCodeSplitter
    return splitter(max_effective_lines=most, min_effective_lines=least)
