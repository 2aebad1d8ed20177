"""Reduce a text that shows a fault: delta debugging (Zeller & Hildebrandt 2002)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence


def smallest(
    text: str, fails: Callable[[str], bool], seconds: float = 1.5, clock: Callable[[], float] = time.monotonic
) -> str:
    """Return a smaller text that still fails, without lines and then characters that the fault does not need.

    Runs of halving length are removed until nothing more can go or `seconds` are over. The result is never empty.
    """
    deadline = clock() + seconds
    lines = _fewer(text.splitlines(keepends=True), fails, lambda: clock() > deadline)
    return "".join(_fewer("".join(lines), fails, lambda: clock() > deadline))


def _fewer(parts: Sequence[str], fails: Callable[[str], bool], is_over: Callable[[], bool]) -> Sequence[str]:
    size = max(1, len(parts) // 2)
    while True:
        index, n_before = 0, len(parts)
        while index < len(parts):
            if is_over():
                return parts
            rest = [*parts[:index], *parts[index + size :]]
            if rest and fails("".join(rest)):
                parts = rest
            else:
                index += size
        if size == 1 and len(parts) == n_before:
            return parts
        size = max(1, size // 2)
