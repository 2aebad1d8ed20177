"""The steps that resolving the names of a task takes, the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

MOST = 200_000
"""Steps that a task may take. Tasks of published packages take up to some thousand, and this limit ends in about a
second."""

DEEPEST = 2_000
"""Depth of nested syntax nodes up to which a task's names are resolved. Each step up a tree begins at its root, so deep
code takes the square of its depth. Nobody writes so by hand, and Python's own parser gives up not far from there."""


class TooManyStepsError(Exception):
    """A task takes more steps than it may."""


class Steps:
    """Counts the steps of a search: each type, file or syntax node in which a name is looked up is one.

    `taken` are those of this task, and `total` all.
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
        """Count what is remembered for all tasks on its own, so that a task's steps depend on no other task."""
        before, self.taken = self.taken, 0
        try:
            yield
        finally:
            self.taken = before
