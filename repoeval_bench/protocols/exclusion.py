"""Exclusion of parts of a query's own file, so that it is not answered by itself.

A task's prompt is the lines [c, h) of its file. Its ground truth, the lines to be written, is [h, h + n).
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import LineSpan, Place
from repoeval_bench.protocols.protocol import Exclusion

POLICIES: Mapping[Exclusion, str] = {
    "none": "nothing is hidden",
    "prompt": "the chunks of the task's file that overlap the prompt are excluded",
    "repocoder": "the chunks of the task's file with, or after, any of the prompt's last 20 lines are excluded",
    "body": "the ground truth's lines are blanked in the task's file before it is chunked",
    "free": "as body, and the prompt's lines are free: they use no budget and earn no score",
    "hidden": "the chunks of the task's file that overlap the prompt or the ground truth are excluded",
}

WINDOW = 20
"""Lines of RepoCoder's window before the ground truth."""

# With these a query searches its own chunks of its file.
_OWN_CHUNKS = ("body", "free")
_NONE, _ALL = LineSpan(0, 0), LineSpan(0, sys.maxsize)


def excluded_chunks(
    tasks: Iterable[Task], chunks: Mapping[str, Sequence[Chunk]], policy: Exclusion
) -> dict[str, frozenset[str]]:
    """Return query_id -> the ids of the chunks that this query may not see; no entry where it sees all."""
    if policy == "none":
        return {}
    by_file: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in chain.from_iterable(chunks.values()):
        by_file[chunk.file].append(chunk)
    excluded = {}
    for task in tasks:
        lines = _ALL if policy in _OWN_CHUNKS else _hidden(task, policy)
        if ids := frozenset(chunk.chunk_id for chunk in by_file[task.file] if chunk.lines.overlaps(lines)):
            excluded[task.task_id] = ids
    return excluded


def hidden_lines(tasks: Iterable[Task], files: Mapping[str, SourceFile], policy: Exclusion) -> dict[str, Place]:
    """Return query_id -> the lines of its file whose chunks it may not see; no entry where there are none."""
    # With `body` and `free` there are none: a query sees its own copy of the file, in which they are blank.
    hidden = {}
    for task in tasks:
        if lines := _hidden(task, policy).common(LineSpan(0, files[task.file].n_lines)):
            hidden[task.task_id] = Place(task.file, lines)
    return hidden


def _hidden(task: Task, policy: Exclusion) -> LineSpan:
    if policy == "prompt":
        return LineSpan(task.context_start, task.body.start)
    if policy == "hidden":
        return task.context_span
    if policy == "repocoder":
        return LineSpan(max(0, task.body.start - WINDOW), _ALL.end)
    return _NONE
