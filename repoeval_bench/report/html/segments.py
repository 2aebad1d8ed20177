"""Segments for the page: for whom each run is good, and how much its distance to the best varies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from repoeval_bench.analysis.segments import heterogeneity, segment_differences, segment_means, segment_names, split
from repoeval_bench.analysis.sign_flips import FEW_CLUSTERS
from repoeval_bench.report.segments import clusters_heading, few_note, heterogeneity_lines
from repoeval_bench.report.table import Column, Estimate, Table, number, table_of

if TYPE_CHECKING:
    from repoeval_bench.report.html.runs import PageRun


def segments(runs: Sequence[PageRun], measure: str, order: Sequence[int]) -> tuple[Table, list[str]]:
    """Return a row for each segment of every fact that the first run stored, and the warnings that go with it.

    A column is a run's mean by `measure`, the runs in an `order` that begins with the best.
    """
    scored, best = [run.scores for run in runs], order[0]
    first = scored[0]
    # A fact that all queries share would repeat the whole.
    splits = [split(first, by) for by in segment_names(first) if by != first.clustered_by]
    parts = [part for parts in splits if len(parts) > 1 for part in parts]
    over = runs[0].stored.metrics.headline
    means = [segment_means(scores, parts, measure, over) for scores in scored]
    ahead: list[list[str]] = [[] for _ in parts]
    warnings = [few_note(means[0])]
    for i, run in enumerate(runs):
        if i == best:
            continue
        differences = segment_differences(scored[best], scored[i], parts, measure, over)
        varying = [scores for scores in heterogeneity(differences) if scores.apart]
        warnings += [f"{run.short} minus {runs[best].short}, {line}." for line in heterogeneity_lines(varying)]
        for row, difference in enumerate(differences):
            # The best has the highest mean, so a sign that is not the overall one's is the other run's lead.
            if difference.against:
                ahead[row].append(run.short)
    clusters = clusters_heading(first.clustered_by)

    def of_run(i: int) -> Callable[[int], Estimate]:
        return lambda row: Estimate(means[i][row].mean, means[i][row].ci)

    def note(row: int) -> str:
        few = f"few {clusters}" if means[0][row].n_clusters < FEW_CLUSTERS else ""
        lead = f"{' and '.join(ahead[row])} ahead of {runs[best].short}" if ahead[row] else ""
        return "; ".join(filter(None, (few, lead)))

    columns = [
        Column(name="segment", value=lambda row: f"{parts[row].by} = {parts[row].name}"),
        number("queries", lambda row: means[0][row].n_queries, "d"),
        number(clusters, lambda row: means[0][row].n_clusters, "d"),
        *(number(runs[i].short, of_run(i), ".3f", bar=True) for i in order),
        Column(name="note", value=note),
    ]
    return table_of(columns, range(len(parts)), "page"), [line.removeprefix("note: ") for line in warnings if line]
