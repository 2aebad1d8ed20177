"""Relevance of chunks to a query, by the lines they share with its gold; retrieval plays no part here."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.run import Qrels
from repoeval_bench.core.source import Chunk
from repoeval_bench.core.spans import Gold, LineSpan, Place, join, without
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.protocols.uses import definitions_of

RULES = {
    "overlap": "shares at least one line with the target",
    "iou:T": "has an IoU of its lines and the target's of at least T (0 < T <= 1)",
    "graded:iou": "shares a line with the target; the gain is the IoU of the lines",
    "definitions": "shares a line with a target definition; the gain is the number of such definitions",
    "graded:levels": "shares a line with the target; the gain is 2 if half of the chunk's or of the target's non-blank "
    "lines are shared, else 1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """A chunk's lines against the gold's: all lines, and the non-blank ones among them.

    `definitions` counts the definitions of which a non-blank line is shared.
    """

    lines: int
    union: int
    nonblank: int
    chunk_nonblank: int
    gold_nonblank: int
    definitions: int

    @property
    def iou(self) -> float:
        """Return the shared lines over the lines of the union."""
        return self.lines / self.union if self.union else 0.0

    @property
    def level(self) -> float:
        """Return 2 where half of the chunk's or of the gold's non-blank lines are shared, else 1."""
        return 2.0 if self.nonblank and 2 * self.nonblank >= min(self.chunk_nonblank, self.gold_nonblank) else 1.0


def relevance_rule(text: str) -> Callable[[Overlap], float]:
    """Return the rule Overlap -> gain >= 0, 0 where no line is shared; an unknown one is a UsageError."""
    kind, _, value = text.partition(":")
    if text == "overlap":
        return lambda shared: float(shared.lines > 0)
    if text == "definitions":
        return lambda shared: float(shared.definitions)
    if text == "graded:iou":
        return lambda shared: shared.iou
    if text == "graded:levels":
        return lambda shared: shared.level if shared.lines else 0.0
    if kind == "iou" and (threshold := _threshold(value)) is not None:
        return lambda shared: float(shared.iou >= threshold)
    raise UsageError(f"unknown relevance {text!r}; choose from {', '.join(RULES)}; T is above 0 and at most 1")


def _threshold(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value <= 1 else None


def gold_of(task: Task, protocol: Protocol) -> Gold:
    """Return the task's gold: `prompt` [c, h+1), `context` [c, h+n) or `body` [h, h+n), or what it uses.

    A question's gold is its `places`, or another gold of its commit.
    """
    if protocol.gold in ("places", "files", "lines"):
        return task.places
    if protocol.gold in ("exact", "definitions"):
        assert task.change is not None
        return task.change.exact if protocol.gold == "exact" else task.change.definitions
    if protocol.of_definitions:
        return join(location for gold in definitions_of(task) for location in gold)
    spans = {"prompt": task.prompt_span, "context": task.context_span, "body": task.body}
    gold = (Place(task.file, spans[protocol.gold]),)
    # Lines that are blanked for the query cannot be gold.
    return without(gold, Place(task.file, task.body)) if protocol.exclusion == "body" else gold


class _IndexedFile:
    """A file's chunks as intervals sorted by start, and a running count of its non-blank lines."""

    def __init__(self, chunks: Iterable[Chunk], line_nws: Sequence[int]) -> None:
        self._chunks = sorted(chunks, key=lambda chunk: (chunk.lines, chunk.chars))
        self._starts = [chunk.lines.start for chunk in self._chunks]
        # Chunks may overlap each other: the largest end so far never falls, so it can be searched.
        self._reach = list(accumulate((chunk.lines.end for chunk in self._chunks), max))
        self._filled = array("L", accumulate(map(bool, line_nws), initial=0))

    def overlapping(self, span: LineSpan) -> list[Chunk]:
        """Return the chunks that share a line with the span, in the order of the file."""
        first = bisect_right(self._reach, span.start)
        last = bisect_left(self._starts, span.end)
        return [chunk for chunk in self._chunks[first:last] if chunk.lines.overlaps(span)]

    def shares(self, chunk: Chunk, name: str, gold: Gold) -> bool:
        """Return whether a chunk of the file, which the gold calls `name`, holds a non-blank line of the gold."""
        return any(one.file == name and self.n_filled(chunk.lines.common(one.lines)) for one in gold)

    def n_filled(self, span: LineSpan) -> int:
        """Count the non-blank lines of a span; lines beyond the end of the file count as blank."""
        top = len(self._filled) - 1
        return self._filled[min(span.end, top)] - self._filled[min(span.start, top)]


def build_qrels(
    gold: Mapping[str, Gold],
    chunks: Mapping[str, Sequence[Chunk]],
    relevance: str,
    line_nws: Mapping[str, Sequence[int]],
    definitions: Mapping[str, Sequence[Gold]] | None = None,
) -> Qrels:
    """Return query_id -> chunk_id -> gain (> 0), over every chunk of the gold's files; {} for a query without any.

    `chunks` are by file, `line_nws` is file -> non-whitespace characters of each line; files are named as in `gold`.
    `definitions` is query_id -> the parts of its gold that rule `definitions` counts; without it the whole gold is one
    part.
    """
    rule = relevance_rule(relevance)
    counted = relevance == "definitions"
    files: dict[str, _IndexedFile] = {}
    qrels: Qrels = {}
    for query_id, of_query in gold.items():
        places = join(of_query)
        parts = definitions[query_id] if definitions is not None else (places,)
        for file in {location.file for location in places} - files.keys():
            files[file] = _IndexedFile(chunks.get(file, ()), line_nws[file])
        near = {chunk.chunk_id: (chunk, p.file) for p in places for chunk in files[p.file].overlapping(p.lines)}
        n_lines = sum(len(location.lines) for location in places)
        n_filled = sum(files[location.file].n_filled(location.lines) for location in places)
        gains: dict[str, float] = {}
        for chunk_id, (chunk, file) in near.items():
            common = [chunk.lines.common(location.lines) for location in places if location.file == file]
            n_shared = sum(map(len, common))
            shared = Overlap(
                lines=n_shared,
                union=len(chunk.lines) + n_lines - n_shared,
                nonblank=sum(map(files[file].n_filled, common)),
                chunk_nonblank=files[file].n_filled(chunk.lines),
                gold_nonblank=n_filled,
                definitions=sum(files[file].shares(chunk, file, part) for part in parts) if counted else 0,
            )
            if (gain := rule(shared)) > 0:
                gains[chunk_id] = gain
        qrels[query_id] = gains
    return qrels


def merge_copies(qrels: Qrels, merged: Mapping[str, str]) -> Qrels:
    """Move the gains of merged chunks (chunk_id -> the one in its place); where several meet, the largest counts."""
    moved: Qrels = {}
    for query_id, gains in qrels.items():
        moved[query_id] = {}
        for chunk_id, gain in gains.items():
            original = merged.get(chunk_id, chunk_id)
            moved[query_id][original] = max(gain, moved[query_id].get(original, 0.0))
    return moved


def drop_excluded(qrels: Qrels, excluded: Mapping[str, frozenset[str]]) -> Qrels:
    """Return the qrels without the chunks that a query may not see (query_id -> chunk ids)."""
    return {
        query_id: {chunk_id: gain for chunk_id, gain in gains.items() if chunk_id not in excluded.get(query_id, ())}
        for query_id, gains in qrels.items()
    }
