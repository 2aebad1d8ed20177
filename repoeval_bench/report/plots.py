"""Figures of stored runs: scores as the list or the budget grows, and how far each run is behind the best.

matplotlib is imported when the first one is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from textwrap import wrap
from typing import TYPE_CHECKING

from repoeval_bench.analysis.comparable import check_comparable, run_names
from repoeval_bench.analysis.means import Curve, over_budgets, over_ranks
from repoeval_bench.metrics import BUDGETS
from repoeval_bench.report.figure import INK, MUTED, PAPER, Figure, Look, draw, looks
from repoeval_bench.report.html.tables import Ranking
from repoeval_bench.report.text import elided, heading, short_names, with_interval
from repoeval_bench.runs.view import RunView

if TYPE_CHECKING:
    from matplotlib.axes import Axes


TICKS = (1, 2, 3, 5, 10, 20, 50, 100)

WIDTH = 4.4
"""Inches: a telephone shows its text at 10 pixels or more."""

NAME = 26
"""Characters of a name in one of its two lines."""

WORDS = 66
"""Characters of a line below the axis."""


def figures(runs: Sequence[RunView]) -> list[Figure]:
    """Draw every curve that these runs have the numbers for, in the order of a report.

    Runs that answer different questions are a UsageError.
    """
    check_comparable((runs[0], run) for run in runs[1:])
    of_budget = budget_figure(runs)
    return [*([of_budget] if of_budget else []), *rank_figures(runs)]


def rank_figures(runs: Sequence[RunView]) -> list[Figure]:
    """Recall and nDCG over k, one line per run."""
    names = ("recall", "ndcg")
    curves = [over_ranks(run, names) for run in runs]
    figures = []
    for name in names:
        of_name = [of_run[name] for of_run in curves]
        ticks = [k for k in TICKS if k <= max(curve.positions[-1] for curve in of_name)]
        label = "Recall" if name == "recall" else heading(name)
        figures.append(
            _figure(
                f"{name}-over-k",
                f"{label}@k over k",
                runs,
                of_name,
                axes_labels=("k, retrieved chunks (log scale)", f"{label}@k"),
                ticks=ticks,
            )
        )
    return figures


def budget_figure(runs: Sequence[RunView]) -> Figure | None:
    """Line recall over the budget, with each run's ceiling; None where not every run has it."""
    curves = [curve for run in runs if (curve := over_budgets(run)) is not None]
    if len(curves) < len(runs):
        return None
    ceilings = [
        [run.metrics.headline_ceilings.get(f"line_recall@{budget}") for budget in curve.positions]
        for run, curve in zip(runs, curves, strict=True)
    ]
    return _figure(
        "line-recall-over-budget",
        "Target lines retrieved as the budget grows",
        runs,
        curves,
        axes_labels=("budget in characters without whitespace (log scale)", "Share of target lines retrieved"),
        ticks=BUDGETS,
        ceilings=ceilings,
    )


def _figure(
    name: str,
    title: str,
    runs: Sequence[RunView],
    curves: Sequence[Curve],
    *,
    axes_labels: tuple[str, str],
    ticks: Sequence[int],
    ceilings: Sequence[Sequence[float | None]] = (),
) -> Figure:
    names = short_names(run_names(runs))
    headline = runs[0].metrics.headline

    def fill(axes: Axes) -> None:
        for run_name, look, curve in zip(names, looks(runs), curves, strict=True):
            if None not in curve.intervals:
                axes.fill_between(curve.positions, *curve.ends(), color=look.colour, alpha=0.16, linewidth=0)
            axes.plot(
                curve.positions,
                curve.means,
                color=look.colour,
                linestyle=look.dash,
                marker=look.marker,
                markevery=[i for i, position in enumerate(curve.positions) if position in ticks],
                markersize=3.6,
                label=elided(run_name),
            )
        for i, (curve, ceiling) in enumerate(zip(curves, ceilings, strict=False)):
            if None not in ceiling:
                label = f"ceiling{'s' if len(runs) > 1 else ''} (best order of these chunks)" if i == 0 else None
                axes.plot(curve.positions, [value or 0.0 for value in ceiling], color=MUTED, linewidth=0.8, label=label)
        axes.set_xscale("log")
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.set_xticks([], minor=True)
        # Room for what is seen: a scale from 0 presses high scores into one another.
        lowest = min(low for curve in curves for low in curve.ends()[0])
        axes.set_ylim(0.0 if lowest < 0.3 else floor(lowest * 10 - 0.5) / 10, 1.02)
        axes.set_xlabel(axes_labels[0])
        axes.set_ylabel(f"{axes_labels[1]}, {headline} mean")

    words = "; ".join(
        f"{run_name}: "
        + ", ".join(
            f"{curve.means[curve.positions.index(position)]:.3f} at {position}"
            for position in ticks
            if position in curve.positions
        )
        for run_name, curve in zip(names, curves, strict=True)
    )
    band = "Bands are 95 % confidence intervals over files."
    thin = (
        " Thin grey lines are ceilings: the best score that is known to be possible with these chunks."
        if ceilings
        else ""
    )
    return draw(name, title, f"{words}. {band}{thin}", fill)


def ranked_figure(ranks: Ranking, drawn: Sequence[Look]) -> Figure:
    """The rows' differences to the first, best first, with 95 % intervals; a filled mark is a run that is behind.

    `drawn` has the look of each run, by its position.
    """
    first, *others = ranks.rows

    def fill(axes: Axes) -> None:
        axes.axvline(0, color=INK, linewidth=1)
        for position, row in enumerate(ranks.rows):
            look = drawn[row.run]
            if row.ci:
                axes.plot([end * ranks.scale for end in row.ci], [position, position], color=look.colour, linewidth=1.8)
            face = look.colour if row.is_worse or row is first else PAPER
            axes.plot(
                [ranks.scale * (row.difference or 0.0)],
                [position],
                look.marker,
                color=look.colour,
                markersize=7,
                markerfacecolor=face,
            )
        axes.set_yticks(range(len(ranks.rows)), [_two_lines(row.name) for row in ranks.rows])
        axes.set_ylim(len(ranks.rows) - 0.4, -0.6)
        axes.tick_params(axis="y", labelcolor=INK, labelsize=9)
        axes.grid(visible=False, axis="y")
        axes.locator_params(axis="x", nbins=6)
        lines = [*wrap(ranks.axis, WORDS), *wrap(ranks.explained, WORDS)]
        axes.figure.supxlabel("\n".join(lines), x=0.015, ha="left", size=8.5, color=MUTED)

    differences = [
        (row.name, ranks.scale * (row.difference or 0.0), row.ci and (ranks.scale * row.ci[0], ranks.scale * row.ci[1]))
        for row in others
    ]
    words = "; ".join(f"{name}: {with_interval(value, ci, ranks.digits)}" for name, value, ci in differences)
    return draw(
        "ranking-plot",
        f"Difference to {elided(first.name, 30)}, the {ranks.to}",
        f"{first.name} has {ranks.measure} {first.score:.4f}. Difference of each other run, {ranks.axis}: {words}.",
        fill,
        width=WIDTH,
        height=1.35 + 0.27 * len(ranks.rows),
    )


def _two_lines(name: str) -> str:
    """Return a name in at most two lines, which end after its punctuation where it has some."""
    name = elided(name, 2 * NAME)
    if len(name) <= NAME:
        return name
    ends = [at for at in range(1, len(name)) if name[at - 1] in ":,/ " and at <= NAME and len(name) - at <= NAME]
    at = ends[-1] if ends else NAME
    return f"{name[:at].rstrip()}\n{name[at:]}"
