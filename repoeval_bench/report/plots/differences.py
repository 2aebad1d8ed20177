"""The figure of how far each run is behind the best."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from repoeval_bench.report.plots.figure import Figure, draw
from repoeval_bench.report.plots.theme import INK, MUTED, PAPER, Look
from repoeval_bench.report.text import elided, with_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from repoeval_bench.report.run_ranking import RankedRow, Ranking


WIDTH = 4.4
"""Inches: a telephone shows its text at 10 pixels or more."""

NAME = 26
"""Characters of a name in one of its two lines."""

WORDS = 66
"""Characters of a line below the axis."""


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

    words = "; ".join(f"{row.name}: {_in_words(ranks, row)}" for row in others)
    return draw(
        "ranking-plot",
        f"Difference to {elided(first.name, 30)}, the {ranks.to}",
        f"{first.name} has {ranks.measure} {first.score:.4f}. Difference of each other run, {ranks.axis}: {words}.",
        fill,
        width=WIDTH,
        height=1.35 + 0.27 * len(ranks.rows),
    )


def _in_words(ranks: Ranking, row: RankedRow) -> str:
    low_high = row.ci and (ranks.scale * row.ci[0], ranks.scale * row.ci[1])
    return with_interval(ranks.scale * (row.difference or 0.0), low_high, ranks.digits)


def _two_lines(name: str) -> str:
    """Return a name in at most two lines, which end after its punctuation where it has some."""
    name = elided(name, 2 * NAME)
    if len(name) <= NAME:
        return name
    ends = [at for at in range(1, len(name)) if name[at - 1] in ":,/ " and at <= NAME and len(name) - at <= NAME]
    at = ends[-1] if ends else NAME
    return f"{name[:at].rstrip()}\n{name[at:]}"
