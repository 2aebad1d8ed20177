"""Reduce a text that shows a fault: delta debugging (Zeller & Hildebrandt 2002), then plainer characters."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

_PLAIN = "a\n "
"""Characters that replace others if the fault stays."""


def smallest(
    text: str, fails: Callable[[str], bool], seconds: float = 1.5, clock: Callable[[], float] = time.monotonic
) -> str:
    """Return a smaller text that still fails: lines are removed, then words, then characters; the rest is made plainer.

    This is repeated until nothing more can go or `seconds` are over. The result is never empty.
    """
    search = _Search(fails, clock() + seconds, clock)
    before = ""
    while text != before and not search.is_over():
        before = text
        for split in (_lines, _words, list):
            text = "".join(search.fewer(split(text)))
        text = search.plainer(text)
    return text


class _Search:
    def __init__(self, fails: Callable[[str], bool], deadline: float, clock: Callable[[], float]) -> None:
        self._fails = fails
        self._deadline = deadline
        self._clock = clock

    def is_over(self) -> bool:
        return self._clock() > self._deadline

    def fewer(self, parts: Sequence[str]) -> Sequence[str]:
        """Remove the parts that the fault does not need, in runs of halving length."""
        size = max(1, len(parts) // 2)
        while not self.is_over():
            index, n_before = 0, len(parts)
            while index < len(parts) and not self.is_over():
                rest = [*parts[:index], *parts[index + size :]]
                if rest and self._fails("".join(rest)):
                    parts = rest
                else:
                    index += size
            if size == 1 and len(parts) == n_before:
                break
            size = max(1, size // 2)
        return parts

    def plainer(self, text: str) -> str:
        """Replace every character by a plainer one if the fault stays."""
        for index, char in enumerate(text):
            for plain in _PLAIN[: _PLAIN.find(char)] if char in _PLAIN else _PLAIN:
                if self.is_over():
                    return text
                changed = text[:index] + plain + text[index + 1 :]
                if self._fails(changed):
                    text = changed
                    break
        return text


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+|\W", text)
