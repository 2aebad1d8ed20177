"""Source code for the page: long lines cut, syntax as a compact text of (class, length) runs.

Lengths are UTF-16 units, in which a browser counts. Colours come from the page's style.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

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


def syntax(lines: Sequence[str], path: str) -> str:
    """Runs such as `k3p1f4`: a letter for the class, a length; over the lines joined by line feeds.

    p plain, k keyword, s string, c comment, n number, f function, t class, b builtin, d decorator, o operator. Empty
    where the file's language is not known.
    """
    lexer = _lexer(path)
    if lexer is None:
        return ""
    runs = ((_letter(kind), value) for _, kind, value in lexer.get_tokens_unprocessed("\n".join(lines)))
    return "".join(
        f"{letter}{sum(units(value) for _, value in group)}" for letter, group in groupby(runs, key=lambda run: run[0])
    )


@lru_cache(maxsize=256)
def _lexer(path: str) -> Any:
    from pygments.lexers import find_lexer_class_for_filename

    lexer = find_lexer_class_for_filename(path.rpartition("/")[2])
    return lexer() if lexer else None


@lru_cache(maxsize=512)
def _letter(kind: Any) -> str:
    from pygments.token import Token

    letters = {
        Token.Comment: "c",
        Token.Literal.String: "s",
        Token.Literal.Number: "n",
        Token.Keyword: "k",
        Token.Operator.Word: "k",
        Token.Name.Function: "f",
        Token.Name.Class: "t",
        Token.Name.Decorator: "d",
        Token.Name.Builtin: "b",
        Token.Name.Exception: "t",
    }
    return next((letter for base, letter in letters.items() if kind in base), "p")
