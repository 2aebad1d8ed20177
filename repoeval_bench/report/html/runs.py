"""One stored run as the page reads it: its names, its log, and its judgements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from repoeval_bench.analysis.comparable import PARTS, check_comparable, run_names
from repoeval_bench.report.text import short_names
from repoeval_bench.runs.request import NO_EMBEDDER

if TYPE_CHECKING:
    from repoeval_bench.core.run import Qrels
    from repoeval_bench.runs.log import Retrieved
    from repoeval_bench.runs.query_scores import QueryScores
    from repoeval_bench.runs.view import RunView


@dataclass(frozen=True)
class PageRun:
    """A run with the names it goes by on the page: `name` in full, `short` where there is little room.

    `scores` are in the order of the first run's queries.
    """

    stored: RunView
    name: str
    short: str
    scores: QueryScores

    @cached_property
    def log(self) -> dict[str, tuple[str | None, tuple[Retrieved, ...]]]:
        """Return query_id -> (the query's text if it was logged, what was retrieved, best first)."""
        return {row.query_id: (row.query, tuple(row.ranked)) for row in self.stored.log_rows()}

    def ranked(self, query_id: str) -> list[str]:
        """The ids of what was retrieved, best first."""
        return [hit.chunk_id for hit in self.top(query_id)]

    def top(self, query_id: str, k: int | None = None) -> tuple[Retrieved, ...]:
        """The first k of what was retrieved, or all of it."""
        return self.log.get(query_id, (None, ()))[1][:k]

    @cached_property
    def qrels(self) -> Qrels:
        """Return query_id -> chunk_id -> gain, for every scored query."""
        return self.stored.qrels()


def page_runs(stored: Sequence[RunView]) -> list[PageRun]:
    """The runs with their names.

    A UsageError with every difference if two do not answer the same question: protocol, data, queries, depth.
    """
    check_comparable((stored[0], run) for run in stored[1:])
    names = run_names(stored)
    ids = stored[0].scores.query_ids
    return [
        PageRun(run, name, short, run.scores.in_order(ids))
        for run, name, short in zip(stored, names, short_names(names), strict=True)
    ]


def kind_of(runs: Sequence[PageRun]) -> str:
    """Return what the runs differ in, in one word: `chunker`, `embedder`, `retriever`, or `run` for anything else.

    A retriever without an embedder does not count as another embedder.
    """
    if len(runs) == 1:
        return PARTS[0]
    differing = [part for part in PARTS if len({getattr(run.stored.metrics, part) for run in runs} - {NO_EMBEDDER}) > 1]
    return differing[0] if len(differing) == 1 else "run"
