"""Source files and the chunks that are cut from them."""

import re
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, chain
from typing import Any, Self

from repoeval_bench.core.spans import CharSpan, LineSpan

# The whitespace of str.split() among the ASCII characters, except the newline.
_ASCII_BLANKS = b" \t\v\f\r\x1c\x1d\x1e\x1f"


def count_nws(text: str) -> int:
    """Count the non-whitespace characters of a text: the one unit of size in this project."""
    if not text:
        return 0
    if text.isascii():  # one C loop over the bytes instead of a string for every word
        return len(text.encode("ascii").translate(None, _ASCII_BLANKS + b"\n"))
    return sum(map(len, text.split()))


def readable(text: str) -> str:
    """The text as UTF-8 can encode it, as long as before: a lone surrogate becomes U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return re.sub("[\ud800-\udfff]", "\ufffd", text)
    return text


def summarize(sizes: Sequence[int]) -> dict[str, Any]:
    """Mean, and median, p95 and max by nearest rank, which are some of the sizes; zeros for none."""
    ordered = sorted(sizes) or [0]
    median, p95 = (ordered[-(-len(ordered) * percent // 100) - 1] for percent in (50, 95))
    return {"mean": round(sum(ordered) / len(ordered), 1), "median": median, "p95": p95, "max": ordered[-1]}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a repository, its text LF-normalised and without BOM; lines are those of `str.splitlines()`."""

    # As RepoCoder counts them: a form feed or U+2028 ends a line too.

    repo: str
    path: str
    text: str
    _starts: "array[int]" = field(init=False, repr=False, compare=False)
    _nws: "array[int] | None" = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        lengths = map(len, self.text.splitlines(keepends=True))
        # An array: a tuple of ints takes five times the memory, and each task has a blanked copy of its file.
        object.__setattr__(self, "_starts", array("L", accumulate(lengths, initial=0)))
        object.__setattr__(self, "_nws", None)

    @property
    def name(self) -> str:
        """`repo/path`: the file as places name it."""
        return f"{self.repo}/{self.path}"

    @property
    def n_lines(self) -> int:
        """Number of lines; an empty file has none."""
        return len(self._starts) - 1

    @property
    def plain(self) -> bool:
        """Return whether only newlines end its lines, as compilers and syntax trees count them."""
        return self.n_lines == self.text.count("\n") + (not self.text.endswith("\n") and bool(self.text))

    def slice(self, chars: CharSpan) -> str:
        """The text of a character span."""
        return self.text[chars.start : chars.end]

    def lines_of(self, chars: CharSpan) -> LineSpan:
        """The lines that the span's characters are on; an empty span has no lines."""
        if chars.start == chars.end:
            line = min(bisect_right(self._starts, chars.start) - 1, self.n_lines)
            return LineSpan(line, line)
        return LineSpan(bisect_right(self._starts, chars.start) - 1, bisect_right(self._starts, chars.end - 1))

    def chars_of(self, lines: LineSpan) -> CharSpan:
        """The characters of whole lines, their line ends included; IndexError beyond the last line."""
        return CharSpan(self._starts[lines.start], self._starts[lines.end])

    def line_text(self, lines: LineSpan) -> str:
        """The text of whole lines, line ends included; IndexError beyond the last line."""
        return self.slice(self.chars_of(lines))

    def nws_before(self) -> Sequence[int]:
        """Non-whitespace characters before each line, and of the whole file: one number more than lines.

        The difference of two entries is the size of the lines between them.
        """
        if self._nws is None:  # cached, as every chunker needs it
            object.__setattr__(self, "_nws", array("L", accumulate(self.line_nws(), initial=0)))
        assert self._nws is not None
        return self._nws

    def line_nws(self) -> list[int]:
        """Non-whitespace characters of each line, in order."""
        text = self.text
        if text.isascii() and self.plain:
            # Three C loops over the bytes do what a split per line does, 8x faster.
            dense = text.encode("ascii").translate(None, _ASCII_BLANKS).split(b"\n")
            return list(map(len, dense[: self.n_lines]))
        return [count_nws(line) for line in text.splitlines()]


def spliced(text: str, lines: LineSpan, new: str) -> str:
    """The text with `new` in place of these lines; everything else stays as it is, line ends too."""
    parts = text.splitlines(keepends=True)
    return "".join([*parts[: lines.start], new, *parts[lines.end :]])


@lru_cache(maxsize=2048)  # more than the tasks of a recommendation by default
def blanked(file: SourceFile, *spans: LineSpan) -> SourceFile:
    """The file with these lines empty; every other line keeps its number."""
    parts = file.text.splitlines(keepends=True)
    for line in chain.from_iterable(spans):
        # A bare \n replaces any line end, so the following lines keep their numbers.
        parts[line] = "\n"
    return SourceFile(file.repo, file.path, "".join(parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A piece of one file. Make it with `Chunk.cut`, so that text and span always agree.

    A `header` is embedded before the text, a `rewritten` text in its place. Neither changes the scored lines.
    """

    chunk_id: str
    repo: str
    path: str
    chars: CharSpan
    lines: LineSpan
    text: str
    header: str = ""
    rewritten: str = ""

    @classmethod
    def cut(cls, file: SourceFile, chars: CharSpan, header: str = "", rewritten: str = "") -> Self:
        """Cut a non-empty span out of a file; for `header` and `rewritten` see the class.

        The id is that of `chunk_id_at`. ValueError if the span is empty or passes the end of the file.
        """
        if not chars or chars.end > len(file.text):
            raise ValueError(
                f"{file.name}: [{chars.start}, {chars.end}) is empty or outside the file's {len(file.text)} characters"
            )
        return cls(
            chunk_id=chunk_id_at(file.name, chars.start, chars.end),
            repo=file.repo,
            path=file.path,
            chars=chars,
            lines=file.lines_of(chars),
            text=file.slice(chars),
            header=header,
            rewritten=rewritten,
        )

    @property
    def file(self) -> str:
        """`repo/path`: the file as places name it."""
        return f"{self.repo}/{self.path}"

    @property
    def embed_text(self) -> str:
        """The text that the embedder reads: the header, then the rewritten text or else the chunk's own."""
        return self.header + (self.rewritten or self.text)

    @property
    def added_nws(self) -> int:
        """Non-whitespace characters that the embedded text has beyond the chunk's own."""
        if not self.rewritten:
            return count_nws(self.header)
        # A shorter rewritten text counts as 0: a reader of the result reads the chunk's own lines.
        return max(0, count_nws(self.embed_text) - count_nws(self.text))


def chunk_id_at(file: str, start: int, end: int) -> str:
    """Return the id of the chunk at these characters of a file: `repo/path@start-end`, one word in a TREC file."""
    return f"{_encoded_name(file)}@{start}-{end}"


def chunk_id_of_task(chunk_id: str, task_id: str) -> str:
    """Return the id of a chunk that only one task sees, as it is cut from the task's blanked file."""
    return f"{chunk_id.replace('%', '%25')}#{_encoded_name(task_id)}"


def encode_id(name: str) -> str:
    """An id as one word: `%` and every blank percent-encoded, the rest untouched."""
    return "".join(
        "".join(f"%{byte:02X}" for byte in char.encode()) if char == "%" or char.isspace() else char for char in name
    )


# Cached for names of files and tasks, which many ids contain.
_encoded_name = lru_cache(maxsize=4096)(encode_id)
