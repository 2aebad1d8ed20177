"""The steps that it takes to resolve the names of a task, the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

MOST = 200_000
"""The most steps of a task. Tasks of published packages take up to some thousand; this many take about a second."""

DEEPEST = 2_000
"""The deepest nesting of syntax nodes in which a task's names are resolved. tree-sitter searches for each parent from
the root, so deep code takes the square of its depth. Nobody writes such code by hand, and Python's own parser gives up
at little more."""


class TooManyStepsError(Exception):
    """A task takes more steps than it may."""


class Steps:
    """Counts the steps of a search: a step is a type, file or syntax node in which a name is looked up.

    `taken` counts those of this task, `total` all.
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.taken = self.total = 0

    def begin(self) -> None:
        """Begin another task."""
        self.taken = 0

    def take(self, count: int = 1) -> None:
        """Count steps; TooManyStepsError beyond the most."""
        self.taken += count
        self.total += count
        if self.taken > self.most:
            raise TooManyStepsError

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Give the block a count of its own, as its result is cached: a task's count then depends on no other task."""
        before, self.taken = self.taken, 0
        try:
            yield
        finally:
            self.taken = before
