"""Code as terms, for whatever counts words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_WORD = re.compile(r"\w+")
# An acronym before a capitalised word (HTTPServer), a word, a run of capitals, a number, anything else (CJK, say).
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W_A-Za-z\d]+")


def words(text: str) -> list[str]:
    r"""Lower-cased `\w+` in order."""
    return _WORD.findall(text.lower())


def identifiers(text: str) -> list[str]:
    r"""Lower-cased `\w+` in order, each followed by its snake_case and camelCase parts where it has several.

    >>> identifiers("parseHTTPHeader(max_len)")
    ['parsehttpheader', 'parse', 'http', 'header', 'max_len', 'max', 'len']
    """
    found: list[str] = []
    for word in _WORD.findall(text):
        found.append(word.lower())
        parts = _PART.findall(word)
        if len(parts) > 1:
            found.extend(part.lower() for part in parts)
    return found


TOKENIZERS: dict[str, Callable[[str], list[str]]] = {"code": identifiers, "words": words}
