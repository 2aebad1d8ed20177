"""Places: lines of a named file. Gold is a tuple of them, in any number of files."""

from collections.abc import Iterable
from dataclasses import dataclass

from repoeval_bench.core.spans import LineSpan


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
