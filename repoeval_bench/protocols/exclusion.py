"""Exclusion of parts of a query's own file, so that it is not answered by itself.

A task's prompt is the lines [c, h) of its file. Its ground truth, the lines to be written, is [h, h + n).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.places import Place
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import LineSpan

if TYPE_CHECKING:
    from repoeval_bench.protocols.protocol import Exclusion

POLICIES: Mapping[Exclusion, str] = {
    "none": "everything is seen",
    "prompt": "the chunks of the task's file that overlap the prompt, [c, h), are excluded",
    "repocoder": "the chunks of the task's file that end after max(0, h - 20), up to the file's end, are excluded",
    "body": "the ground truth's lines are blanked in the task's file before it is chunked",
    "free": "as body, and the prompt's lines, [c, h), are read free: they neither cost nor count",
    "hidden": "the chunks of the task's file that overlap the prompt or the ground truth, [c, h+n), are excluded",
}

WINDOW = 20
"""Lines of RepoCoder's window before the ground truth."""


def excluded_chunks(
    tasks: Iterable[Task], chunks: Mapping[str, Sequence[Chunk]], policy: Exclusion
) -> dict[str, frozenset[str]]:
    """query_id -> the ids of the chunks that this query may not see; no entry where it sees all.

    With `body` and `free` all chunks of the task's file are excluded: the query searches its own chunks of it instead.
    """
    if policy == "none":
        return {}
    by_file: dict[str, list[Chunk]] = defaultdict(list)
    for repo_chunks in chunks.values():
        for chunk in repo_chunks:
            by_file[chunk.file].append(chunk)
    excluded = {}
    for task in tasks:
        ids = frozenset(chunk.chunk_id for chunk in by_file[task.file] if _is_excluded(chunk, task, policy))
        if ids:
            excluded[task.task_id] = ids
    return excluded


def hidden_lines(tasks: Iterable[Task], files: Mapping[str, SourceFile], policy: Exclusion) -> dict[str, Place]:
    """query_id -> the lines of its file whose chunks it may not see; no entry where there are none.

    With `body` and `free` there are none: a query sees its own copy of the file, in which they are blank.
    """
    hidden = {}
    for task in tasks:
        lines = LineSpan(0, 0)
        if policy == "prompt" and not task.places:
            lines = LineSpan(task.context_start, max(task.context_start, task.body.start))
        elif policy == "hidden":
            lines = task.context_span
        elif policy == "repocoder":
            lines = LineSpan(max(0, task.body.start - WINDOW), files[task.file].n_lines)
        if lines:
            hidden[task.task_id] = Place(task.file, lines)
    return hidden


def is_over_prompt(chunk: Chunk, task: Task) -> bool:
    """Return whether a chunk of the task's file overlaps the prompt, [c, h)."""
    if task.places:  # a question has no prompt in a file
        return False
    return chunk.lines.start < task.body.start and chunk.lines.end > task.context_start


def _is_excluded(chunk: Chunk, task: Task, policy: Exclusion) -> bool:
    if policy == "prompt":
        return is_over_prompt(chunk, task)
    if policy == "hidden":
        return chunk.lines.overlaps(task.context_span)
    if policy == "repocoder":
        return chunk.lines.end > max(0, task.body.start - WINDOW)
    return True
