"""Figures of stored runs, made from their folders alone; matplotlib is imported when the first one is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from repoeval_bench.analysis.comparable import check_comparable
from repoeval_bench.report.plots.curves import budget_figure, rank_figures
from repoeval_bench.report.plots.differences import ranked_figure
from repoeval_bench.report.plots.figure import Figure, png, svg, write
from repoeval_bench.report.plots.theme import css

if TYPE_CHECKING:
    from repoeval_bench.runs.view import RunView

__all__ = ["Figure", "css", "figures", "png", "ranked_figure", "svg", "write"]


def figures(runs: Sequence[RunView]) -> list[Figure]:
    """Draw every curve that these runs have the numbers for, in the order of a report.

    Runs that answer different questions are a UsageError.
    """
    check_comparable((runs[0], run) for run in runs[1:])
    of_budget = budget_figure(runs)
    return [*([of_budget] if of_budget else []), *rank_figures(runs)]
