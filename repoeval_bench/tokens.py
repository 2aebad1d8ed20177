"""Code as terms, for whatever counts words."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_WORD = re.compile(r"\w+")
# An acronym before a capitalised word (HTTPServer), a word, a run of capitals, a number, anything else (CJK, say).
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W_A-Za-z\d]+")
# Unicode's words (UAX #29, as Lucene's StandardTokenizer has them, scripts without blanks aside): a dot, colon or
# apostrophe joins letters, a dot, comma, semicolon or apostrophe joins digits; underscores alone are none.
_UNICODE_WORD = re.compile(r"(?=_*[^\W_])\w+(?:(?:(?<=[^\W\d_])[.:'\u2019](?=[^\W\d_])|(?<=\d)[.,;'\u2019](?=\d))\w+)*")
_POSSESSIVE = re.compile(r"['\u2019][sS]$")
_STOP_WORDS = frozenset((
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of",
    "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
))  # fmt: skip
"""Lucene's EnglishAnalyzer.ENGLISH_STOP_WORDS_SET."""


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
        found += _with_parts(word)
    return found


@lru_cache(maxsize=65_536)
def _with_parts(word: str) -> tuple[str, ...]:
    """A word as terms; code repeats its words, so most are taken apart once."""
    parts = _PART.findall(word)
    return (word.lower(), *(part.lower() for part in parts)) if len(parts) > 1 else (word.lower(),)


def english(text: str) -> list[str]:
    """What Lucene's EnglishAnalyzer makes of a text, which is also pyserini's default for indexes and queries.

    Unicode's words, a possessive 's removed, lower case, without English stop words, stemmed as by Porter (1980).

    >>> english("the parser's self.lines[0] are_there")
    ['parser', 'self.lin', '0', 'are_ther']
    """
    terms = (_POSSESSIVE.sub("", word).lower() for word in _UNICODE_WORD.findall(text))
    stemmed: list[str] = _stemmer().stemWords([term for term in terms if term not in _STOP_WORDS])
    return stemmed


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("porter")


def blanks(text: str) -> list[str]:
    """What stands between blanks, as written: Lucene's WhitespaceAnalyzer."""
    return text.split()


TOKENIZERS: dict[str, Callable[[str], list[str]]] = {
    "code": identifiers, "words": words, "english": english, "whitespace": blanks,
}  # fmt: skip
