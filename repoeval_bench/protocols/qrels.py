"""Which chunks are relevant to a task: by the lines they share with its gold span. Knows nothing of retrieval."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.spans import LineSpan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from repoeval_bench.core.benchmark import Task
    from repoeval_bench.core.run import Qrels
    from repoeval_bench.core.source import Chunk
    from repoeval_bench.protocols.protocol import Protocol

RULES = {
    "overlap": "shares at least one line with the gold",
    "lines:N": "shares at least N lines with the gold",
    "iou:T": "shared lines over the lines of the union reach T (0 < T <= 1)",
    "chunk-share:T": "T of the chunk's non-blank lines are gold (0 < T <= 1)",
    "gold-share:T": "T of the gold's non-blank lines are the chunk's (0 < T <= 1)",
    "graded:iou": "gain = IoU of the lines",
    "graded:levels": "gain 2 where half of the chunk or of the gold is shared (non-blank lines), else 1 for a line",
}


@dataclass(frozen=True, slots=True)
class Shared:
    """A chunk's lines against the gold's: all lines, and the non-blank ones among them."""

    lines: int
    union: int
    nonblank: int
    chunk_nonblank: int
    gold_nonblank: int

    @property
    def iou(self) -> float:
        """Shared lines over the lines of the union."""
        return self.lines / self.union if self.union else 0.0

    @property
    def of_chunk(self) -> float:
        """Share of the chunk's non-blank lines; 0 where it has none."""
        return self.nonblank / self.chunk_nonblank if self.chunk_nonblank else 0.0

    @property
    def of_gold(self) -> float:
        """Share of the gold's non-blank lines; 0 where it has none."""
        return self.nonblank / self.gold_nonblank if self.gold_nonblank else 0.0


def relevance_rule(text: str) -> Callable[[Shared], float]:
    """A rule Shared -> gain >= 0, 0 where no line is shared; an unknown one is a UsageError that lists the known."""
    kind, _, value = text.partition(":")
    if text == "overlap":
        return lambda shared: float(shared.lines > 0)
    if text == "graded:iou":
        return lambda shared: shared.iou
    if text == "graded:levels":
        return lambda shared: 0.0 if not shared.lines else 2.0 if max(shared.of_chunk, shared.of_gold) >= 0.5 else 1.0
    if kind == "lines" and value.isdecimal() and int(value) > 0:
        return lambda shared: float(shared.lines >= int(value))
    if kind in _SHARES and (threshold := _threshold(value)) is not None:
        share = _SHARES[kind]
        return lambda shared: float(share(shared) >= threshold)
    raise UsageError(f"unknown relevance {text!r}; choose from {', '.join(RULES)}")


_SHARES: Mapping[str, Callable[[Shared], float]] = {
    "iou": lambda shared: shared.iou,
    "chunk-share": lambda shared: shared.of_chunk,
    "gold-share": lambda shared: shared.of_gold,
}


def _threshold(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value <= 1 else None


def gold_span(task: Task, protocol: Protocol) -> LineSpan:
    """The task's gold lines: `prompt` [c, h+1), `context` [c, h+n) or `body` [h, h+n).

    Where the body's lines are blanked (exclude=body) they cannot be gold: what remains ends at h.
    """
    span = {"prompt": task.prompt_span, "context": task.context_span, "body": task.body}[protocol.gold]
    return LineSpan(span.start, task.body.start) if protocol.exclude == "body" else span


def build_qrels(
    tasks: Iterable[Task],
    chunks: Mapping[str, Sequence[Chunk]],
    protocol: Protocol,
    line_nws: Mapping[str, Sequence[int]],
    own: Mapping[str, Sequence[Chunk]] | None = None,
) -> Qrels:
    """query_id -> chunk_id -> gain (> 0), over every chunk of the task's file; empty where none is relevant.

    `line_nws` is `repo/path` -> non-whitespace characters of each line. A task in `own` is judged on those chunks in
    place of its file's.
    """
    rule = relevance_rule(protocol.relevance)
    by_file: dict[str, list[Chunk]] = defaultdict(list)
    for repo_chunks in chunks.values():
        for chunk in repo_chunks:
            by_file[f"{chunk.repo}/{chunk.path}"].append(chunk)
    indexes: dict[str, _FileIndex] = {}
    qrels: Qrels = {}
    for task in tasks:
        file = f"{task.repo}/{task.path}"
        span = gold_span(task, protocol)
        if own and task.task_id in own:
            sizes = list(line_nws[file])
            sizes[task.body.start : task.body.end] = [0] * len(task.body)
            index = _FileIndex(own[task.task_id], sizes)
        else:
            if file not in indexes:
                indexes[file] = _FileIndex(by_file[file], line_nws[file])
            index = indexes[file]
        qrels[task.task_id] = {
            chunk.chunk_id: gain for chunk in index.overlapping(span) if (gain := rule(index.shared(chunk, span))) > 0
        }
    return qrels


class _FileIndex:
    """A file's chunks as intervals sorted by start, and a running count of its non-blank lines."""

    def __init__(self, chunks: Iterable[Chunk], line_nws: Sequence[int]) -> None:
        self._chunks = sorted(chunks, key=lambda chunk: (chunk.lines, chunk.chars))
        self._starts = [chunk.lines.start for chunk in self._chunks]
        # Chunks may overlap each other: the largest end so far never falls, so it can be searched.
        self._reach = list(accumulate((chunk.lines.end for chunk in self._chunks), max))
        self._nonblank = list(accumulate((size > 0 for size in line_nws), initial=0))

    def overlapping(self, span: LineSpan) -> list[Chunk]:
        """The chunks that share a line with the span, in the order of the file."""
        first = bisect_right(self._reach, span.start)
        last = bisect_left(self._starts, span.end)
        return [chunk for chunk in self._chunks[first:last] if chunk.lines.overlaps(span)]

    def shared(self, chunk: Chunk, gold: LineSpan) -> Shared:
        lines = chunk.lines.overlap(gold)
        start = max(chunk.lines.start, gold.start)
        return Shared(
            lines=lines,
            union=len(chunk.lines) + len(gold) - lines,
            nonblank=self._count(LineSpan(start, start + lines)),
            chunk_nonblank=self._count(chunk.lines),
            gold_nonblank=self._count(gold),
        )

    def _count(self, span: LineSpan) -> int:
        top = len(self._nonblank) - 1
        return self._nonblank[min(span.end, top)] - self._nonblank[min(span.start, top)]


def credit_copies(qrels: Qrels, groups: Iterable[Sequence[str]]) -> Qrels:
    """The qrels with every chunk of a group given the largest gain that one of them has."""
    group_of = {chunk_id: group for group in groups for chunk_id in group}
    credited: Qrels = {}
    for query_id, gains in qrels.items():
        credited[query_id] = dict(gains)
        for chunk_id, gain in gains.items():
            for copy in group_of.get(chunk_id, ()):
                credited[query_id][copy] = max(gain, credited[query_id].get(copy, 0.0))
    return credited


def merge_copies(qrels: Qrels, merged: Mapping[str, str]) -> Qrels:
    """The qrels with the gains of merged chunks (chunk_id -> the one that stands for it) moved, the largest kept."""
    moved: Qrels = {}
    for query_id, gains in qrels.items():
        moved[query_id] = {}
        for chunk_id, gain in gains.items():
            kept = merged.get(chunk_id, chunk_id)
            moved[query_id][kept] = max(gain, moved[query_id].get(kept, 0.0))
    return moved


def hide(qrels: Qrels, hidden: Mapping[str, frozenset[str]]) -> Qrels:
    """The qrels without the chunks that a query may not see (query_id -> chunk ids)."""
    return {
        query_id: {chunk_id: gain for chunk_id, gain in gains.items() if chunk_id not in hidden.get(query_id, ())}
        for query_id, gains in qrels.items()
    }
