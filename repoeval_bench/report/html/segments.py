"""Segments for the page: for whom each run is good, and how much its distance to the best varies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.analysis.segments import (
    SegmentMean,
    heterogeneity,
    segment_differences,
    segment_means,
    segment_names,
    split,
)
from repoeval_bench.analysis.sign_flips import FEW_CLUSTERS
from repoeval_bench.report.html.scores import ScoreCell, on_one_scale
from repoeval_bench.report.segments import clusters_heading, few_note, heterogeneity_lines

if TYPE_CHECKING:
    from repoeval_bench.report.html.runs import PageRun


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """One segment, as it is of the first run: a cell for each run.

    `few` where its intervals rest on too few clusters; `ahead` names the runs that are ahead here of the overall best.
    """

    segment: SegmentMean
    cells: tuple[ScoreCell, ...]
    few: bool
    ahead: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Segments:
    """The table's rows, what the clusters are called (plural), and the warnings that go with it."""

    rows: tuple[SegmentRow, ...]
    clusters: str
    warnings: tuple[str, ...]


def segments(runs: Sequence[PageRun], measure: str, best: int) -> Segments:
    """Every segment of every fact that the first run stored, scored by `measure` for each run."""
    scored = [run.scores for run in runs]
    first = scored[0]
    # A fact that all queries share would repeat the whole.
    splits = [split(first, by) for by in segment_names(first) if by != first.clustered_by]
    parts = [part for parts in splits if len(parts) > 1 for part in parts]
    over = runs[0].stored.metrics.headline
    means = [segment_means(each, parts, measure, over) for each in scored]
    found = [(mean.mean, mean.ci) for column in means for mean in column]
    cells = on_one_scale(found)
    per_run = [cells[i * len(parts) : (i + 1) * len(parts)] for i in range(len(runs))]
    ahead: list[list[str]] = [[] for _ in parts]
    warnings = [few_note(means[0])]
    for i, run in enumerate(runs):
        if i == best:
            continue
        differences = segment_differences(scored[best], scored[i], parts, measure, over)
        varying = [each for each in heterogeneity(differences) if each.apart]
        warnings += [f"{run.short} minus {runs[best].short}, {line}." for line in heterogeneity_lines(varying)]
        for place, difference in enumerate(differences):
            # The best has the highest mean, so a sign that is not the overall one's is the other run's lead.
            if difference.against:
                ahead[place].append(run.short)
    rows = tuple(
        SegmentRow(
            segment,
            tuple(column[at] for column in per_run),
            segment.n_clusters < FEW_CLUSTERS,
            tuple(ahead[at]),
        )
        for at, segment in enumerate(means[0])
    )
    return Segments(
        rows,
        clusters_heading(first.clustered_by),
        tuple(warning.removeprefix("note: ") for warning in warnings if warning),
    )
