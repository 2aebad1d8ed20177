"""A stored run as a judged log, for the commands that read what a system logged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.analysis.logs.judged_log import JudgedLog
from repoeval_bench.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from repoeval_bench.runs.log import LogRow
    from repoeval_bench.runs.view import RunView


def log_rows(run: RunView) -> dict[str, LogRow]:
    """query_id -> row of the run's log."""
    return {row.query_id: row for row in run.log_rows()}


def judged_log(run: RunView, rows: Mapping[str, LogRow] | None = None) -> JudgedLog:
    """The run's log (or `rows` in its place) beside its judgements; a UsageError for a run without a query."""
    if not len(run.scores):
        raise UsageError(f"{run.run_id} scores no query; nothing can be said of it")
    return JudgedLog.of(run.scores, (log_rows(run) if rows is None else rows).values(), run.qrels())


def chosen_depth(runs: Sequence[RunView], k: int | None) -> int:
    """`-k` as it was given, else 10 or what the runs rank where that is less; a UsageError where it is more."""
    shallowest = min(runs, key=lambda run: run.metrics.k)
    depth = shallowest.metrics.k
    if k is not None and k > depth:
        raise UsageError(
            f"-k {k} looks deeper than the {depth} chunks that {shallowest.run_id} ranks; take at most that"
        )
    return min(10, depth) if k is None else k


def check_same_queries(run: RunView, other: RunView) -> None:
    """A UsageError unless both runs answer the same queries of the same data."""
    if run.metrics.dataset.fingerprint != other.metrics.dataset.fingerprint:
        labels = [each.metrics.dataset.label for each in (run, other)]
        raise UsageError(f"{run.run_id} and {other.run_id} are of different data: {labels[0]} against {labels[1]}")


def title_of(run: RunView) -> str:
    """What to call the run in a heading."""
    parts = ("retriever",) if run.metrics.imported else ("chunker", "retriever")
    return f"{' · '.join(getattr(run.metrics, part) for part in parts)}: {run.metrics.dataset.label}"
