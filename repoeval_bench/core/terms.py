"""Split code and text into terms, for everything that counts words."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

from repoeval_bench.core.fields import Doc

_WORD = re.compile(r"\w+")
# An acronym before a capitalised word (HTTPServer), a word, a run of capitals, a number, letters without case.
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|~+")
# Unicode's words (UAX #29) as in Lucene's StandardTokenizer, except for scripts without blanks. A dot, colon or
# apostrophe joins letters; a dot, comma, semicolon or apostrophe joins digits. Underscores alone are not a word.
_UNICODE_WORD = re.compile(r"(?=_*[^\W_])\w+(?:(?:(?<=[^\W\d_])[.:'\u2019](?=[^\W\d_])|(?<=\d)[.,;'\u2019](?=\d))\w+)*")
_POSSESSIVE = re.compile(r"['\u2019][sS]$")
_ENGLISH = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
STOP_WORDS = frozenset(_ENGLISH.split())
"""Lucene's EnglishAnalyzer.ENGLISHSTOP_WORDS_SET."""


def words(text: str) -> list[str]:
    r"""Lower-cased `\w+` in order."""
    return _WORD.findall(text.lower())


def dice(left: Counter[str], right: Counter[str]) -> float:
    """Dice's coefficient of two multisets of terms, which is their token F1: 2 |both| / (|left| + |right|).

    0 if they share none.
    """
    shared = sum(min(count, right[term]) for term, count in left.items() if term in right)
    return 2 * shared / (left.total() + right.total()) if shared else 0.0


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Shared terms over the terms of either; 0 for two empty sets."""
    union = len(left | right)
    return len(left & right) / union if union else 0.0


CODE_TERMS = "code 2"
"""Version of the result of `identifiers`, part of the key of every cache entry that depends on it."""


def identifiers(text: str) -> list[str]:
    r"""The words of code (`words_of_code`), case folded, in order, each followed by its snake_case and camelCase parts.

    A word with a single part appears once.

    >>> identifiers("parseHTTPHeader(self._max_len)")
    ['parsehttpheader', 'parse', 'http', 'header', 'self', '_max_len', 'max', 'len']
    """
    return TOKENIZERS["code"](text)


def words_of_code(text: str) -> list[str]:
    r"""`\w+`, with the accents and vowel signs that identifiers may contain.

    >>> words_of_code("cafe\u0301 $x") == ["cafe\u0301", "x"]
    True
    """
    others = [] if text.isascii() else [char for char in set(_WORD.sub("", text)) if f"a{char}".isidentifier()]
    if not others:
        return _WORD.findall(text)
    # Characters of the text are escaped, so that none is read as a pattern.
    marks = re.escape("".join(sorted(others)))
    first = re.escape("".join(sorted(filter(str.isidentifier, others))))
    return re.findall(rf"[\w{first}][\w{marks}]*", text)


@lru_cache(maxsize=65_536)  # code repeats its words
def _with_parts(word: str) -> tuple[str, ...]:
    letters, shape = (word, word) if word.isascii() else _shape(word)
    # Case folding, not lower case: the lower case of a Greek sigma depends on whether it ends the word.
    parts = ["".join(letters[match.start() : match.end()]).casefold() for match in _PART.finditer(shape)]
    whole = word.casefold()
    return (whole,) if parts in ([], [whole]) else (whole, *parts)


def _shape(word: str) -> tuple[list[str], str]:
    """The letters of a word with their marks, and their shape: A upper case, a lower case, 0 digit, ~ without case."""
    letters: list[str] = []
    shape = ""
    for char in word:
        if letters and letters[-1] != "_" and not char.isalnum() and char != "_":
            letters[-1] += char
            continue
        letters.append(char)
        if char == "_":
            shape += "_"
        elif char.isupper() or char.istitle():
            shape += "A"
        else:
            shape += "a" if char.islower() else "0" if char.isdecimal() else "~"
    return letters, shape


@lru_cache(maxsize=65_536)
def _english(word: str) -> tuple[str, ...]:
    term = _POSSESSIVE.sub("", word).lower()
    return () if term in STOP_WORDS else (_stemmer().stemWord(term),)


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("porter")


def _whole(word: str) -> tuple[str, ...]:
    return (word,)


@dataclass(frozen=True)
class Tokenizer:
    """Splits a text into words, none of which reaches over a line's end, and each word into terms."""

    words: Callable[[str], list[str]]
    terms: Callable[[str], tuple[str, ...]] = _whole

    def __call__(self, text: str) -> list[str]:
        """Return the terms of a text in order."""
        return [term for word in self.words(text) for term in self.terms(word)]


TokenizerName = Annotated[
    Literal["code", "words", "english", "whitespace"],
    Doc(
        "code: identifiers whole and in parts; words: lower-cased \\w+; english: Lucene's English analyser; "
        "whitespace: split at blanks, as written"
    ),
]
"""The option that names a tokenizer."""

TOKENIZERS = {
    "code": Tokenizer(words_of_code, _with_parts),
    "words": Tokenizer(words),
    # Lucene's EnglishAnalyzer, which is also pyserini's default: Unicode's words, a possessive 's removed, lower case,
    # without English stop words, stemmed as by Porter (1980).
    "english": Tokenizer(_UNICODE_WORD.findall, _english),
    # Lucene's WhitespaceAnalyzer.
    "whitespace": Tokenizer(str.split),
}
