"""An interpolated n-gram model of code tokens: how many bits a text costs a reader who has read others.

Tokens are words of code, in which `$` is a letter, and single other characters that are not blank, as written; every
line that is not blank ends with one token more. p_0 = 2^-16 for any token, and for k = 1..6

    p_k(token) = (c(history, token) / c(history) + p_(k-1)(token)) / 2

with the k - 1 tokens before as history, where that was followed by a token before; p_k = p_(k-1) where it was not.
These are Jelinek-Mercer's with weight 1/2, which Hellendoorn and Devanbu (2017) found best for code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.terms import word_of_code
from repoeval_bench.metrics.judged import FloatArray, IntArray, share

TokenArray = NDArray[np.int32]

ORDER = 6
"""The longest n-gram."""

BASE = 2.0**-16
"""The probability of a token of which nothing is known: one of 65,536."""

BREAK = -1
"""Between texts that do not follow each other: no n-gram reaches over it."""


def tokens_of(text: str) -> list[str]:
    """The tokens of a text in order, without those that end lines."""
    return _token_of(text).findall(text)


def _token_of(text: str) -> re.Pattern[str]:
    """The pattern of a token in a text and its parts."""
    return re.compile(rf"{word_of_code(text, '$')}|[^\w$\s]")


class _Numbers(dict[str, int]):
    """Token -> its number, given when it is first met."""

    def __missing__(self, token: str) -> int:
        self[token] = number = len(self)
        return number


class TokenLines(NamedTuple):
    """A text's tokens, int32 (n_tokens,); `starts` has the first token of each line, and the end."""

    tokens: TokenArray
    starts: tuple[int, ...]


class Tokens:
    """Texts as numbers of tokens."""

    def __init__(self) -> None:
        self._numbers = _Numbers()

    def numbers(self, tokens: Iterable[str]) -> list[int]:
        """The numbers of single tokens."""
        return [*map(self._numbers.__getitem__, tokens)]

    def read(self, text: str) -> TokenLines:
        """A text's tokens, line by line as `str.splitlines()` has them."""
        found = map(_token_of(text).findall, text.splitlines())
        lines = [self.numbers([*tokens, "\n"]) if tokens else [] for tokens in found]
        numbers = np.fromiter(chain.from_iterable(lines), dtype=np.int32)
        return TokenLines(numbers, tuple(accumulate(map(len, lines), initial=0)))


class Grams:
    """The n-grams of a short text up to `ORDER`, numbered for each length, and where they occur in other texts."""

    def __init__(self, text: TokenArray) -> None:
        self._alphabet = np.unique(text)
        # What is one token more than a known n-gram: code -> number, for each length from 2.
        self._codes: list[IntArray] = []
        self.text = [np.searchsorted(self._alphabet, text)]
        """For each length, the n-gram that ends at each token of the text; -1 where none is so long."""
        for _ in range(1, ORDER):
            at, code = self._longer(self.text[-1], self.text[0])
            numbers = np.full(len(text), -1, dtype=np.int64)
            codes, numbers[at] = np.unique(code, return_inverse=True)
            self._codes.append(codes)
            self.text.append(numbers)

    @property
    def sizes(self) -> list[int]:
        """How many n-grams there are of each length."""
        return [len(self._alphabet), *map(len, self._codes)]

    def find(self, tokens: TokenArray) -> list[IntArray]:
        """For each length, the n-gram that ends at each token; -1 where that is none of the text's."""
        found = [_numbered(self._alphabet, tokens)]
        for codes in self._codes:
            at, code = self._longer(found[-1], found[0])
            numbers = np.full(len(tokens), -1, dtype=np.int64)
            numbers[at] = _numbered(codes, code)
            found.append(numbers)
        return found

    def _longer(self, grams: IntArray, tokens: IntArray) -> tuple[IntArray, IntArray]:
        """Where a known n-gram is followed by a token of the text, and a code for both."""
        at = np.flatnonzero((grams[:-1] >= 0) & (tokens[1:] >= 0)) + 1
        return at, grams[at - 1] * len(self._alphabet) + tokens[at]


def _numbered(ascending: NDArray[np.integer], values: NDArray[np.integer]) -> IntArray:
    """The place of each value among these, -1 where it is none of them."""
    if not len(ascending):
        return np.full(len(values), -1, dtype=np.int64)
    place = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return np.where(ascending[place] == values, place, -1)


def bits_per_token(grams: Grams, n_before: int, read: TokenArray, ends: Sequence[int]) -> FloatArray:
    """Bits per token of a text after reading the first `end` tokens of `read`, for each end: float64 (n_ends,).

    `grams` are of the text with the `n_before` tokens before it, which are its first histories. `ends` ascend.
    """
    found, known = grams.find(read), read != BREAK
    # Of each length: how often an n-gram was met, and how often a token followed it.
    met = [np.zeros(size + 1, dtype=np.int64) for size in grams.sizes]  # the last is that of none
    followed = [np.zeros(size + 1, dtype=np.int64) for size in grams.sizes]
    start = total = 0
    bits = []
    for end in ends:
        follows = known[max(1, start) : end]
        for k, here in enumerate(found):
            met[k] += _count(here[start:end], len(met[k]))
            followed[k] += _count(here[max(0, start - 1) : max(0, end - 1)][follows], len(met[k]))
        total += int(known[start:end].sum())
        start = end
        p = np.full(len(grams.text[0]), BASE)
        for k, gram in enumerate(grams.text):
            times = np.where(gram >= 0, followed[k - 1][np.append(-1, grams.text[k - 1][:-1])] if k else total, 0)
            p = np.where(times > 0, (share(met[k][gram], times) + p) / 2, p)
        bits.append(-np.log2(p[n_before:]).mean())
    return np.array(bits, dtype=np.float64)


def _count(numbers: IntArray, size: int) -> IntArray:
    return np.bincount(numbers[numbers >= 0], minlength=size)
