"""Haystack's PythonCodeSplitter (haystack-ai 3.4.1): whole functions and methods, merged up to a number of lines.

Unit of `max_effective_lines` and `min_effective_lines`: 45 characters, whitespace included, which Haystack takes for a
line of code. A chunk of methods has the first lines of their class as its header, as in Haystack's texts. A function of
more than three sizes is cut every `max_effective_lines` real lines, with five repeated. Python only.
"""

import ast
import logging
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Annotated, Any, ClassVar

from repoeval_bench.chunkers._adapters import Peer
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.fields import Doc, Positive
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan

# Lines that a piece of an oversized function repeats, Haystack's default.
_OVERLAP = 5


@CHUNKERS.register(
    requires=("haystack",), sizes=("max_effective_lines",), scaled={"max_effective_lines": ("min_effective_lines",)}
)
@dataclass(frozen=True, slots=True)
class HaystackChunker(Peer):
    """Haystack's PythonCodeSplitter (extra `haystack`), telemetry off; its own defaults are 20 to 100 lines."""

    name: ClassVar[str] = "haystack"
    names: ClassVar = {"python": "python"}
    max_effective_lines: Annotated[Positive, Doc("lines of 45 characters that a chunk comes near to")] = 45
    min_effective_lines: Annotated[Positive, Doc("lines of 45 characters below which a chunk goes on")] = 9

    def spans(self, file: SourceFile) -> Sequence[tuple[int, int, str]] | None:
        """Return the lines of each chunk, with the classes' first lines where Haystack puts them before it."""
        self.language_in(file)
        text = _with_bodies(file.text)
        document = import_module("haystack").Document(content=text)
        documents = _library(self.max_effective_lines, self.min_effective_lines).run([document])["documents"]
        lines = text.splitlines(keepends=True)
        spans = []
        for first, last, header, body in _parts(lines, documents, self.max_effective_lines):
            if body != "".join(lines[first:last]):
                return None
            chars = file.chars_of(LineSpan(first, last))
            spans.append((chars.start, chars.end, header))
        return spans


def _with_bodies(text: str) -> str:
    """Return a text with `pass` in the first line of each blank body; other syntax errors stay."""
    # Haystack refuses a file that Python does not parse, and a body that is the task's target is blanked.
    while True:
        try:
            ast.parse(text)
        except IndentationError as error:
            head = re.search(r"expected an indented block after .* on line (\d+)", error.msg)
            lines = text.splitlines(keepends=True)
            # A head may have several lines; the blank lines before the error are where Python found no body.
            last = next((row for row in range(error.lineno or 0, 0, -1) if lines[row - 1 : row] == ["\n"]), 0)
            while last > 1 and lines[last - 2] == "\n":
                last -= 1
            if not head or last <= int(head[1]):
                return text
            indent = re.match(r"\s*", lines[int(head[1]) - 1])
            lines[last - 1] = f"{indent[0] if indent else ''}    pass\n"
            text = "".join(lines)
        except (SyntaxError, ValueError, RecursionError):
            return text
        else:
            return text


def _parts(lines: Sequence[str], documents: Sequence[Any], size: int) -> Iterator[tuple[int, int, str, str]]:
    """Yield first line, end, header and own text of each document; together they have every line, in order."""
    end = oversized = 0
    for document in documents:
        content, meta = document.content, document.meta
        if meta.get("secondary_split"):
            if not meta["secondary_split_index"]:
                oversized = end
            first = oversized + meta["secondary_split_index"] * (size - min(_OVERLAP, size - 1))
            end = first + len(content.splitlines())
            yield first, end, "", content
        else:
            # Haystack's text ends with the document's own lines; anything before them is the header.
            first, end = end, meta["end_line"]
            own = sum(map(len, lines[first:end]))
            yield first, end, content[: len(content) - own], content[len(content) - own :]


@cache
def _library(most: int, least: int) -> Any:
    os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
    # It warns of each function that it cuts by lines; docs/chunkers.md documents that.
    logging.getLogger("haystack").setLevel(logging.ERROR)
    splitter = import_module("haystack.components.preprocessors").PythonCodeSplitter
    return splitter(max_effective_lines=most, min_effective_lines=least)
