"""Figures of stored runs, made from their folders alone; matplotlib is imported when the first one is drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.comparable import check_comparable, headline_measure, run_names
from repoeval_bench.report.plots.curves import budget_figure, rank_figures
from repoeval_bench.report.plots.differences import forest_figure, heat_maps, ranked_figure
from repoeval_bench.report.plots.figure import Figure, plain_svg, png, svg, write
from repoeval_bench.report.plots.sizes import score_against_size, size_figure
from repoeval_bench.report.plots.theme import css, looks
from repoeval_bench.report.text import short_names

if TYPE_CHECKING:
    from repoeval_bench.runs.view import RunView

__all__ = ["Figure", "css", "figures", "plain_svg", "png", "ranked_figure", "svg", "write"]


def figures(
    runs: Sequence[RunView], *, baseline: RunView | None = None, settings: Sequence[Mapping[str, Any]] = ()
) -> list[Figure]:
    """Every figure that these runs have the numbers for, in the order of a report.

    Differences are taken to `baseline`, the first run if not given; `settings` are those of a sensitivity grid.
    Runs that answer different questions are a UsageError.
    """
    base = baseline or runs[0]
    others = [run for run in runs if run.folder != base.folder]
    check_comparable((base, run) for run in others)
    measure = headline_measure([base, *runs])
    found = [
        budget_figure(runs),
        *rank_figures(runs),
        size_figure(runs),
        score_against_size(runs, measure),
        *(_forests(runs, base, measure) if len({*base.scores.repos}) > 1 else ()),
        *heat_maps(settings),
    ]
    return _named_apart([figure for figure in found if figure is not None])


def _forests(runs: Sequence[RunView], base: RunView, measure: str) -> list[Figure]:
    """Every other run against `base`, in the names and colours that the runs have together."""
    known = runs if any(run.folder == base.folder for run in runs) else [*runs, base]
    named = dict(zip((run.folder for run in known), short_names(run_names(known)), strict=True))
    return [
        forest_figure(base, run, measure, names=(named[base.folder], named[run.folder]), look=look)
        for run, look in zip(runs, looks(runs), strict=True)
        if run.folder != base.folder
    ]


def _named_apart(found: Sequence[Figure]) -> list[Figure]:
    """A number behind the name of each figure that has another's: names are those of files and of ids on a page."""
    taken: Counter[str] = Counter()
    apart = []
    for figure in found:
        taken[figure.name.lower()] += 1
        again = taken[figure.name.lower()]
        apart.append(figure if again == 1 else replace(figure, name=f"{figure.name}-{again}"))
    return apart
