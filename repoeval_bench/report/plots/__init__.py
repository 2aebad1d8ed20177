"""Figures of stored runs, made from their folders alone; matplotlib is imported when the first one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from repoeval_bench.comparison import check_comparable
from repoeval_bench.report.plots.curves import budget_figure, rank_figures
from repoeval_bench.report.plots.differences import forest_figure, heat_maps
from repoeval_bench.report.plots.figure import Figure, plain_svg, png, svg, write
from repoeval_bench.report.plots.sizes import score_against_size, size_figure
from repoeval_bench.report.plots.theme import css

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from repoeval_bench.store import StoredRun

__all__ = ["Figure", "css", "figures", "plain_svg", "png", "svg", "write"]


def figures(
    runs: Sequence[StoredRun], *, baseline: StoredRun | None = None, contests: Sequence[Mapping[str, Any]] = ()
) -> list[Figure]:
    """Every figure that these runs have the numbers for, in the order of a report.

    Differences are taken to `baseline`, the first run if not given; `contests` are the cells of a sensitivity grid.
    Runs that answer different questions are a UsageError.
    """
    base = baseline or runs[0]
    others = [run for run in runs if run.folder != base.folder]
    for run in others:
        check_comparable(base, run)
    measure = headline_measure(base)
    found = [
        budget_figure(runs),
        *rank_figures(runs),
        size_figure(runs),
        score_against_size(runs, measure),
        *(forest_figure(base, run, measure) for run in others),
        *heat_maps(contests),
    ]
    return [figure for figure in found if figure is not None]


def headline_measure(run: StoredRun) -> str:
    """What chunkers are compared by first under the run's protocol; of a run without it, its first measure."""
    measures: list[str] = list(run.metrics["micro"])
    named = run.metrics.get("headline_measure")
    return named if named in measures else measures[0]
