"""The columns of the page's scores: means with clustered intervals, and what a query's search takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from repoeval_bench.analysis.comparable import headline_measure
from repoeval_bench.analysis.means import headline_means, search_time
from repoeval_bench.metrics import CEILING, SHARE, TEXT_MEASURES, Measure, lower_is_better
from repoeval_bench.metrics.condensed import UNREGISTERED
from repoeval_bench.report.table import Column, Estimate, number
from repoeval_bench.report.text import heading

if TYPE_CHECKING:
    from repoeval_bench.report.html.runs import PageRun

MEASURES = (
    "line_recall@1500",
    "ndcg@5",
    "ndcg@10",
    "recall@1",
    "recall@3",
    "recall@5",
    "recall@10",
    "precision@5",
    "mrr",
    "distinct_files@10",
    *TEXT_MEASURES,
)
"""Columns behind the run's own headline measure, where the runs were scored by them."""


def score_columns(runs: Sequence[PageRun], kind: str) -> list[Column]:
    """Return the columns, of a `PageRun` each; `kind` is what the runs are."""
    first = headline_measure([run.stored for run in runs])
    names = tuple(dict.fromkeys((first, *MEASURES)))
    means = {run.stored.folder: headline_means(run.stored, names) for run in runs}

    def mean(name: str) -> Callable[[PageRun], Estimate | None]:
        return lambda run: Estimate(*estimate) if (estimate := means[run.stored.folder].get(name)) else None

    def score(name: str) -> Column:
        known = name not in UNREGISTERED and not name.endswith((CEILING, SHARE))
        return number(
            heading(name),
            mean(name),
            ".3f",
            key=name,
            meaning=Measure.parse(name).definition.meaning if known else "",
            interval=True,
            bar=True,
            lowest_first=lower_is_better(name),
        )

    share = number(
        "% of ceiling",
        lambda run: run.stored.metrics.shares_of_ceiling.get(first),
        ".1%",
        key="share",
        meaning=f"{heading(first)} over the best score that is known to be possible with these chunks.",
    )
    search = number(
        "search, ms",
        lambda run: search_time(run.stored),
        ".2f",
        key="search",
        meaning="Median time to search for one query, on the machine that ran it. A dense query's vector is known "
        "already, while BM25 still splits its query into terms, so this does not compare retrievers fairly.",
        lowest_first=True,
    )
    named = Column(name=kind, value=lambda run: run.short)
    return [named, score(first), share, *map(score, names[1:]), search]
