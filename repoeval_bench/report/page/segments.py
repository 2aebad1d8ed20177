"""Segments for the page: for whom each run is good, and where the overall winner loses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.analysis.segments import segment_differences, segment_means, segment_names, split
from repoeval_bench.report.page.scores import Cell, on_one_scale
from repoeval_bench.report.segments import FEW, clusters_heading, few_note, simpson_note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from repoeval_bench.report.page.runs import PageRun


@dataclass(frozen=True, slots=True)
class Row:
    """One segment: a cell for each run.

    `few` where its intervals rest on too few clusters; `loses` names the runs that are ahead here of the overall best.
    """

    by: str
    name: str
    n_queries: int
    n_clusters: int
    cells: tuple[Cell, ...]
    few: bool
    loses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Segments:
    """The table's rows, what the clusters are called (plural), and the warnings that go with it."""

    rows: tuple[Row, ...]
    clusters: str
    warnings: tuple[str, ...]


def segments(runs: Sequence[PageRun], measure: str, best: int) -> Segments:
    """Every segment of every fact that the first run stored, scored by `measure` for each run."""
    scored = [run.scores for run in runs]
    first = scored[0]
    parts = [part for by in segment_names(first) if by != first.clustered_by for part in split(first, by)]
    means = [segment_means(each, parts, measure) for each in scored]
    found = [(mean.mean, mean.ci) for column in means for mean in column]
    cells = on_one_scale(found)
    per_run = [cells[i * len(parts) : (i + 1) * len(parts)] for i in range(len(runs))]
    lost: list[list[str]] = [[] for _ in parts]
    warnings = [few_note(means[0])]
    for i, run in enumerate(runs):
        if i == best:
            continue
        # From the other run to the best: a segment that loses is one where the overall winner is behind.
        differences = segment_differences(scored[i], scored[best], parts, measure)
        overall = float(scored[best].values[measure].mean() - scored[i].values[measure].mean())
        warnings.append(simpson_note(differences, overall, [run.short, runs[best].short]))
        for place, difference in enumerate(differences):
            if difference.loses and overall > 0:
                lost[place].append(run.short)
    rows = tuple(
        Row(
            part.by,
            part.name,
            means[0][at].n_queries,
            means[0][at].n_clusters,
            tuple(column[at] for column in per_run),
            means[0][at].n_clusters < FEW,
            tuple(lost[at]),
        )
        for at, part in enumerate(parts)
    )
    return Segments(
        rows,
        clusters_heading(first.clustered_by),
        tuple(warning.removeprefix("note: ") for warning in warnings if warning),
    )
