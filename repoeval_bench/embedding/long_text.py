"""Policies for a text that is longer than the model reads: its head or tail, or all of it in windows."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, get_args

from repoeval_bench.core.errors import SpecError, UsageError, nearest
from repoeval_bench.core.parts import Role
from repoeval_bench.core.spec import Spec

LongText = Literal["head", "tail", "mean"]
"""`head`: the model reads the beginning and drops the rest, as its library does. `tail`: it reads the end, from the
beginning of a word. `mean`: the text is cut into windows that the model reads whole, and their mean, of unit length, is
its vector."""

HEADS: Mapping[Role, LongText] = {"query": "head", "document": "head"}
"""The policies of an embedder whose spec names none."""

OPTIONS: Mapping[Role, str] = {"query": "long_queries", "document": "long_chunks"}
"""Role -> the option of an embedder's spec that says what happens to long texts of that role."""


def split_spec(text: str) -> tuple[str, dict[Role, LongText]]:
    """Return (the spec without the options of this module, role -> policy); a SpecError where a policy does not exist.

    >>> split_spec("minilm:long_queries=tail")
    ('minilm', {'query': 'tail', 'document': 'head'})
    """
    spec = Spec.parse(text)
    policies: dict[Role, LongText] = {}
    for role, option in OPTIONS.items():
        policy = spec.params.pop(option, "head")
        if policy not in get_args(LongText):
            raise SpecError(f"embedder {text!r}: {nearest(option, policy, get_args(LongText))}")
        policies[role] = policy  # type: ignore[assignment]
    return str(spec), policies


def changes_nothing(spec: object) -> UsageError:
    """Return the error for a policy for long texts where the embedder gets every text whole."""
    return UsageError(f"{spec} is given every text whole, so a policy for long texts changes nothing; leave it out")


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
