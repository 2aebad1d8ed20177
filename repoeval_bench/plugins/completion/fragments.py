"""Which chunks of a stored run are shown with a task, in which order. Nothing beside the hole is ever shown.

As in RepoCoder, a chunk of the task's own file is shown only if it ends where the prompt begins, or before: then it
holds neither the hole, nor what follows it, nor what the prompt shows anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from repoeval_bench.core.benchmark import Query, Task
from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.core.source import Chunk
from repoeval_bench.core.words import count
from repoeval_bench.plugins.completion.layout import Fragment
from repoeval_bench.retrieval.jaccard import JaccardRetriever

if TYPE_CHECKING:
    from repoeval_bench.runs.inspection import Inspection
    from repoeval_bench.runs.view import RunView

ORACLE_DEPTH = 20
"""Chunks of the oracle's ranking that are looked at: RepoCoder's `max_top_k`."""

_HALF = 10
"""Lines before the hole and of it that the oracle asks with: RepoCoder's window of 20 lines around the hole."""


class _Held(NamedTuple):
    """A chunk: its id, its file, where its lines end, and its text."""

    chunk_id: str
    file: str
    end: int
    text: str


class Shown(NamedTuple):
    """The fragments for a task, the best first, and how many chunks were passed over as they are beside the hole."""

    fragments: tuple[Fragment, ...]
    hidden: int


def fragments_of(run: RunView, tasks: Sequence[Task], kind: str) -> dict[str, Shown]:
    """task_id -> what is shown with it under `none`, `retrieved` or `oracle`.

    A ResultError where the run stored no sources or has no ranking of a task, a UsageError where hits are expanded.
    """
    if kind == "none":
        return {task.task_id: Shown((), 0) for task in tasks}
    if run.metrics.expand:
        raise UsageError(
            f"the hits of {run.run_id} bring more than their chunks (expand {run.metrics.expand}), and completions "
            "show chunks alone; complete a run without --expand"
        )
    inspection = run.inspection
    if inspection is None:
        raise ResultError(f"{run.folder} stored no sources, so its chunks have no text; run the evaluation again")
    ranked = _oracle(inspection, tasks) if kind == "oracle" else _retrieved(run, inspection)
    if lost := [task.task_id for task in tasks if task.task_id not in ranked]:
        raise ResultError(f"{run.folder} has no ranking of {count(len(lost), 'task')}, such as {lost[0]}; run it again")
    return {task.task_id: _visible(task, ranked[task.task_id]) for task in tasks}


def _visible(task: Task, ranked: Iterable[_Held]) -> Shown:
    fragments = []
    hidden = 0
    for held in ranked:
        if held.file == task.file and held.end > task.context_start:
            hidden += 1
        else:
            fragments.append(Fragment(held.chunk_id, held.file.partition("/")[2], held.text))
    return Shown(tuple(fragments), hidden)


def _retrieved(run: RunView, inspection: Inspection) -> dict[str, list[_Held]]:
    spans = {chunk.chunk_id: chunk.chars for chunks in inspection.chunks.values() for chunk in chunks}
    found = {}
    for row in run.log_rows():
        held = []
        for each in row.ranked:
            if each.file is None or each.lines is None or each.file not in inspection.sources:
                raise ResultError(f"{run.folder}: chunk {each.chunk_id!r} has no source in the run; run it again")
            source, chars = inspection.sources[each.file], spans.get(each.chunk_id)
            # Documents that the protocol fixes are not chunks of the run; theirs are whole lines.
            text = source.line_text(each.lines) if chars is None else source.slice(chars)
            held.append(_Held(each.chunk_id, each.file, each.lines.end, text))
        found[row.query_id] = held
    return found


def _oracle(inspection: Inspection, tasks: Sequence[Task]) -> dict[str, list[_Held]]:
    """The repository's chunks by Jaccard's index of terms with the lines around the hole's begin."""
    chunks: dict[str, list[Chunk]] = {}
    for file, stored in inspection.chunks.items():
        source = inspection.sources[file]
        chunks.setdefault(source.repo, []).extend(Chunk.cut(source, each.chars) for each in stored)
    # What may not be shown would fill the first ranks: it is left out before the ranking.
    hidden = {
        task.task_id: frozenset(
            each.chunk_id for each in inspection.chunks.get(task.file, ()) if each.lines.end > task.context_start
        )
        for task in tasks
    }
    queries = [Query(task.task_id, task.repo, _around(task)) for task in tasks]
    run = JaccardRetriever(chunks, {}, tokenizer="code").search(queries, ORACLE_DEPTH, hidden)
    by_id: Mapping[str, Chunk] = {chunk.chunk_id: chunk for held in chunks.values() for chunk in held}
    return {
        query_id: [
            _Held(chunk_id, chunk.file, chunk.lines.end, chunk.text)
            for chunk_id, _ in ranking
            for chunk in [by_id[chunk_id]]
        ]
        for query_id, ranking in run.rankings.items()
    }


def _around(task: Task) -> str:
    lines = [*task.prompt.splitlines()[-_HALF:], *task.ground_truth.splitlines()[:_HALF]]
    return "\n".join(lines)
