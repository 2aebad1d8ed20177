"""Figures of stored runs, made from their folders alone; matplotlib is imported when the first one is drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from repoeval_bench.analysis.comparable import check_comparable, headline_measure, run_names
from repoeval_bench.report.plots.curves import budget_figure, rank_figures
from repoeval_bench.report.plots.differences import forest_figure, ranked_figure
from repoeval_bench.report.plots.figure import Figure, plain_svg, png, svg, write
from repoeval_bench.report.plots.sizes import score_against_size, size_figure
from repoeval_bench.report.plots.theme import css, looks
from repoeval_bench.report.text import short_names

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Comparison
    from repoeval_bench.runs.view import RunView

__all__ = ["Figure", "css", "figures", "plain_svg", "png", "ranked_figure", "svg", "write"]


def figures(runs: Sequence[RunView], comparisons: Sequence[Comparison] = ()) -> list[Figure]:
    """Draw every figure that these runs have the numbers for, in the order of a report.

    Of `comparisons` those by the primary measure are drawn repository by repository. Runs that answer different
    questions are a UsageError.
    """
    check_comparable((runs[0], run) for run in runs[1:])
    drawn = [
        budget_figure(runs),
        *rank_figures(runs),
        size_figure(runs),
        score_against_size(runs, headline_measure(runs)),
        *_forests(runs, comparisons),
    ]
    return _named_apart([figure for figure in drawn if figure is not None])


def _forests(runs: Sequence[RunView], comparisons: Sequence[Comparison]) -> list[Figure]:
    """Draw the pairs in the names and colours that the runs have together."""
    names = run_names(runs)
    short, look = dict(zip(names, short_names(names), strict=True)), dict(zip(names, looks(runs), strict=True))
    return [
        forest_figure(
            comparison, names=(short[comparison.baseline], short[comparison.treatment]), look=look[comparison.treatment]
        )
        for comparison in comparisons
        if comparison.primary and comparison.on_new_repositories is not None and comparison.n_repositories > 1
    ]


def _named_apart(figures: Sequence[Figure]) -> list[Figure]:
    """A number behind the name of each figure that has another's: names are those of files and of ids on a page."""
    taken: Counter[str] = Counter()
    apart = []
    for figure in figures:
        taken[figure.name.lower()] += 1
        again = taken[figure.name.lower()]
        apart.append(figure if again == 1 else replace(figure, name=f"{figure.name}-{again}"))
    return apart
