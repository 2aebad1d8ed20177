"""Which chunks are relevant to a task: by the lines they share with its gold span. Knows nothing of retrieval."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from repoeval_bench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from repoeval_bench.config import Gold
    from repoeval_bench.types import Chunk, LineSpan, Qrels, Task

RULES = {
    "overlap": "shares at least one line with the gold",
    "lines:N": "shares at least N lines with the gold",
    "iou:T": "shared lines over the lines of the union reach T (0 < T <= 1)",
    "graded:iou": "gain = IoU of the lines",
}


def relevance_rule(text: str) -> Callable[[LineSpan, LineSpan], float]:
    """A rule (chunk lines, gold lines) -> gain >= 0; an unknown one is a UsageError that lists the known."""
    kind, _, value = text.partition(":")
    if text == "overlap":
        return lambda chunk, gold: float(chunk.overlaps(gold))
    if text == "graded:iou":
        return lambda chunk, gold: chunk.iou(gold)
    if kind == "lines" and value.isdecimal() and int(value) > 0:
        return lambda chunk, gold: float(chunk.overlap(gold) >= int(value))
    if kind == "iou" and (threshold := _share(value)) is not None:
        return lambda chunk, gold: float(chunk.iou(gold) >= threshold)
    raise UsageError(f"unknown relevance {text!r}; choose from {', '.join(RULES)}")


def _share(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value <= 1 else None


def gold_span(task: Task, gold: Gold) -> LineSpan:
    """The task's gold lines: `prompt` [c, h+1), `context` [c, h+n) or `body` [h, h+n)."""
    return {"prompt": task.prompt_span, "context": task.context_span, "body": task.body}[gold]


def build_qrels(tasks: Iterable[Task], chunks: Mapping[str, Sequence[Chunk]], gold: Gold, relevance: str) -> Qrels:
    """query_id -> chunk_id -> gain (> 0), over every chunk of the task's file; empty where none is relevant."""
    rule = relevance_rule(relevance)
    by_file: dict[tuple[str, str], list[Chunk]] = defaultdict(list)
    for repo_chunks in chunks.values():
        for chunk in repo_chunks:
            by_file[chunk.repo, chunk.path].append(chunk)
    qrels: Qrels = {}
    for task in tasks:
        span = gold_span(task, gold)
        gains = {chunk.chunk_id: rule(chunk.lines, span) for chunk in by_file[task.repo, task.path]}
        qrels[task.task_id] = {chunk_id: gain for chunk_id, gain in gains.items() if gain > 0}
    return qrels
