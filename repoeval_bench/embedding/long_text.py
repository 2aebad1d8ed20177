"""Policies for a text that is longer than the model reads: its head or tail, or all of it in windows."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from repoeval_bench.core.parts import Role

LongText = Literal["head", "tail", "mean"]
"""`head`: the model reads the beginning and drops the rest, as its library does. `tail`: it reads the end, from the
beginning of a word. `mean`: the text is cut into windows that the model reads whole, and their mean, of unit length, is
its vector."""

HEADS: Mapping[Role, LongText] = {"query": "head", "document": "head"}
"""The policies of an embedder whose spec names none."""

OPTIONS: Mapping[Role, str] = {"query": "long_queries", "document": "long_chunks"}
"""Role -> the option of an embedder's spec that says what happens to long texts of that role."""


def cut(text: str, policy: LongText, starts: Sequence[int], room: int, fits: Callable[[str], bool]) -> tuple[str, ...]:
    """The tail of a text, or its windows in order, each of which `fits`.

    `starts` are the characters at which its tokens begin, of which `room` are read. A part starts at a word unless a
    word is longer than the model reads.
    """
    # `fits` checks each part: cut out of its text, it may have a token more or less.
    words = [i for i, start in enumerate(starts) if i == 0 or text[start - 1].isspace()]
    return (_tail(text, starts, words, room, fits),) if policy == "tail" else _windows(text, starts, words, room, fits)


def _tail(text: str, starts: Sequence[int], words: Sequence[int], room: int, fits: Callable[[str], bool]) -> str:
    first = len(starts) - room
    candidates = words[bisect_left(words, first) :] or range(first, len(starts))
    return next(part for i in candidates if fits(part := text[starts[i] :]) or i == candidates[-1])


def _windows(
    text: str, starts: Sequence[int], words: Sequence[int], room: int, fits: Callable[[str], bool]
) -> tuple[str, ...]:
    parts: list[str] = []
    first = 0
    while first < len(starts):
        # Words ascend, so looking up the words of each window keeps the whole linear in the text.
        ends = list(words[bisect_right(words, first) : bisect_right(words, first + room)])
        if len(starts) - first <= room:
            ends.append(len(starts))
        ends = ends or list(range(first + 1, min(first + room, len(starts)) + 1))
        for end in reversed(ends):
            part = text[starts[first] : starts[end] if end < len(starts) else len(text)]
            if fits(part) or end == ends[0]:
                break
        parts.append(part)
        first = end
    return tuple(parts)
