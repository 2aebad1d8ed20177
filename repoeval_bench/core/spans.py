"""Spans of lines and of characters, 0-based and half-open; places, which are lines of a named file."""

from collections.abc import Iterable, Iterator
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


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a file. The file is `repo/path`, or any other name that is the same everywhere."""

    file: str
    lines: LineSpan

    def overlap(self, other: "Place") -> int:
        """Count the lines that both contain."""
        return self.lines.overlap(other.lines) if self.file == other.file else 0


Gold = tuple[Place, ...]
"""The lines that answer a query. Places may touch or overlap; a line in two of them is one line of the gold."""


def join(places: Iterable[Place]) -> Gold:
    """The same lines, each in one place; ordered by file and start, without empty places."""
    joined: list[Place] = []
    for location in sorted((one for one in places if one.lines), key=lambda one: (one.file, one.lines)):
        last = joined[-1] if joined else None
        if last is not None and last.file == location.file and location.lines.start <= last.lines.end:
            joined[-1] = Place(last.file, LineSpan(last.lines.start, max(last.lines.end, location.lines.end)))
        else:
            joined.append(Place(location.file, location.lines))
    return tuple(joined)


def without(gold: Gold, taken: Place) -> Gold:
    """The gold without the lines of one place."""
    left: list[Place] = []
    for location in gold:
        if not location.overlap(taken):
            left.append(location)
            continue
        parts = (location.lines.start, taken.lines.start), (taken.lines.end, location.lines.end)
        left += [Place(location.file, LineSpan(start, end)) for start, end in parts if start < end]
    return tuple(left)


def iou(location: Place, gold: Gold) -> float:
    """Intersection over union of their lines; 0.0 if both are empty."""
    joined = join(gold)
    shared = sum(map(location.overlap, joined))
    union = len(location.lines) + sum(len(part.lines) for part in joined) - shared
    return shared / union if union else 0.0
