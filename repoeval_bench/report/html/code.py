"""Source code for the page: long lines cut, places in UTF-16 units, in which a browser counts."""

from __future__ import annotations

LINE = 400
"""Characters of a line that are shown; a minified file has lines of a megabyte."""


def cut_lines(text: str) -> tuple[list[str], dict[int, int]]:
    """Return (the text's lines, each cut to `LINE` characters; line -> its whole length where it was cut)."""
    lines = text.splitlines()
    cut = {i: len(line) for i, line in enumerate(lines) if len(line) > LINE}
    return [line[:LINE] for line in lines], cut


def position(text: str, offset: int) -> tuple[int, int]:
    """Return (line, UTF-16 column) of the character at `offset` of a text whose lines were cut; the last is its end."""
    line, start = 0, 0
    lines = text.splitlines(keepends=True)
    for line, content in enumerate(lines):
        if offset < start + len(content):
            return line, units(content[: min(offset - start, LINE)].rstrip("\r\n"))
        start += len(content)
    return len(lines), 0


def units(text: str) -> int:
    """Length in UTF-16 units."""
    return len(text) + sum(char > "\uffff" for char in text) if text and max(text) > "\uffff" else len(text)
