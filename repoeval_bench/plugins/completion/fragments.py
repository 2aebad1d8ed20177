"""The chunks of a stored run that are shown with a task, in their order. Nothing beside the target is ever shown.

As in RepoCoder, a chunk of the task's own file is shown only if it ends where the prompt begins, or before: then it
holds neither the target, nor what follows it, nor what the prompt shows anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.core.words import count
from repoeval_bench.plugins.completion.layout import Fragment

if TYPE_CHECKING:
    from repoeval_bench.runs.inspection import Inspection
    from repoeval_bench.runs.view import RunView


class _Ranked(NamedTuple):
    """A ranked chunk: its id, its file, where its lines end, and its text."""

    chunk_id: str
    file: str
    end: int
    text: str


class Shown(NamedTuple):
    """The fragments for a task, the best first, and how many chunks were skipped because they are beside the target."""

    fragments: tuple[Fragment, ...]
    hidden: int


def fragments_of(run: RunView, tasks: Sequence[Task], context: str) -> dict[str, Shown]:
    """Return task_id -> the fragments that are shown with it in the context `none` or `retrieved`.

    A ResultError where the run stored no sources or has no ranking of a task, a UsageError where hits are expanded.
    """
    if context == "none":
        return {task.task_id: Shown((), 0) for task in tasks}
    if run.metrics.expand:
        raise UsageError(
            f"the hits of {run.run_id} bring more than their chunks (expand {run.metrics.expand}), and completions "
            "show chunks alone; complete a run without --set expand"
        )
    inspection = run.inspection
    if inspection is None:
        raise ResultError(f"{run.folder} stored no sources, so its chunks have no text; run the evaluation again")
    ranked = _retrieved(run, inspection)
    if lost := [task.task_id for task in tasks if task.task_id not in ranked]:
        raise ResultError(f"{run.folder} has no ranking of {count(len(lost), 'task')}, such as {lost[0]}; run it again")
    return {task.task_id: _visible(task, ranked[task.task_id]) for task in tasks}


def _visible(task: Task, ranked: Iterable[_Ranked]) -> Shown:
    fragments = []
    hidden = 0
    for chunk in ranked:
        if chunk.file == task.file and chunk.end > task.context_start:
            hidden += 1
        else:
            fragments.append(Fragment(chunk.chunk_id, chunk.file.partition("/")[2], chunk.text))
    return Shown(tuple(fragments), hidden)


def _retrieved(run: RunView, inspection: Inspection) -> dict[str, list[_Ranked]]:
    spans = {chunk.chunk_id: chunk.chars for chunks in inspection.chunks.values() for chunk in chunks}
    by_query = {}
    for row in run.log_rows():
        chunks = []
        for entry in row.ranked:
            if entry.file is None or entry.lines is None or entry.file not in inspection.sources:
                raise ResultError(f"{run.folder}: chunk {entry.chunk_id!r} has no source in the run; run it again")
            source, chars = inspection.sources[entry.file], spans.get(entry.chunk_id)
            # Documents that the protocol fixes are not chunks of the run; theirs are whole lines.
            text = source.line_text(entry.lines) if chars is None else source.slice(chars)
            chunks.append(_Ranked(entry.chunk_id, entry.file, entry.lines.end, text))
        by_query[row.query_id] = chunks
    return by_query
