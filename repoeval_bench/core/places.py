"""Places: lines of a named file. Gold is a tuple of them, in any number of files; queries cluster by these files."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.words import count


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


class Alone(NamedTuple):
    """The cluster of a query whose files are not known: no other query is in it."""

    # A tuple, because a tuple is hashed and compared in C: 100,000 queries need that millions of times.
    query_id: str

    def __str__(self) -> str:
        return f"query {self.query_id}"


def clusters_of(files: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Return query_id -> its cluster, from query_id -> the files of its gold, at least one.

    Queries that share a file are in one cluster, directly or through other queries, in any order of rows, places and
    files. A cluster is named after its first file by name, with the number of its other files.
    """
    # Queries of one file resemble each other, so statistics flip signs by cluster.
    parents: dict[str, str] = {}

    def root(file: str) -> str:
        while (above := parents.setdefault(file, file)) != file:
            parents[file] = parents[above]  # halves the way for the next search
            file = parents[file]
        return file

    for paths in files.values():
        first, *others = map(root, paths)
        for other in others:
            parents[root(other)] = root(first)
    members: dict[str, list[str]] = defaultdict(list)
    for file in parents:
        members[root(file)].append(file)
    names = {top: _name(paths) for top, paths in members.items()}
    return {query_id: names[root(next(iter(paths)))] for query_id, paths in files.items()}


def _name(files: Collection[str]) -> str:
    others = len(files) - 1
    return min(files) + (f" (+{count(others, 'file')})" if others else "")
