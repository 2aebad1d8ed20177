"""Spans of lines and of characters; all positions are 0-based and half-open."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True, order=True)
class _Span:
    """A half-open range of whole numbers; compare only spans of one class."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"{type(self).__name__}({self.start}, {self.end}) is not a range: 0 <= start <= end")

    def __len__(self) -> int:
        return self.end - self.start

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.start, self.end))

    def __contains__(self, position: int) -> bool:
        return self.start <= position < self.end

    def overlap(self, other: Self) -> int:
        """Count the positions in both spans; 0 if they only touch."""
        return max(0, min(self.end, other.end) - max(self.start, other.start))

    def overlaps(self, other: Self) -> bool:
        """Return whether the spans share at least one position; an empty span overlaps nothing."""
        return self.overlap(other) > 0

    def common(self, other: Self) -> Self:
        """The positions in both spans; an empty span if there is none."""
        start = max(self.start, other.start)
        return type(self)(start, start + self.overlap(other))

    def contains(self, other: Self) -> bool:
        """Return whether every position of `other` lies in this span; an empty span must lie within its ends."""
        return self.start <= other.start and other.end <= self.end


# Two types, so that lines are not compared with characters.
class LineSpan(_Span):
    """A range of 0-based lines of one file."""

    __slots__ = ()


class CharSpan(_Span):
    """A range of characters (code points, not bytes) of one file's text."""

    __slots__ = ()
