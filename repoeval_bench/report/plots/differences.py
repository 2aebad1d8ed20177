"""The figure of how far each run is behind the best."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from repoeval_bench.report.plots.figure import Figure, draw
from repoeval_bench.report.plots.theme import INK, PAPER, Look
from repoeval_bench.report.text import elided, with_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from repoeval_bench.report.run_ranking import Ranking


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
                axes.plot(row.ci, [position, position], color=look.colour, linewidth=1.8)
            face = look.colour if row.is_worse or row is first else PAPER
            axes.plot(
                [row.difference or 0.0], [position], look.marker, color=look.colour, markersize=7, markerfacecolor=face
            )
        axes.set_yticks(range(len(ranks.rows)), [elided(row.name, 30) for row in ranks.rows])
        axes.set_ylim(len(ranks.rows) - 0.4, -0.6)
        axes.tick_params(axis="y", labelcolor=INK, labelsize=9)
        axes.grid(visible=False, axis="y")
        axes.locator_params(axis="x", nbins=6)
        axis = f"difference in {ranks.measure}, 95 % CI (0 = {elided(first.name, 30)}; left: less is retrieved)"
        axes.set_xlabel("\n".join([*wrap(axis, 60), *wrap(ranks.explained, 60)]))

    words = "; ".join(f"{row.name}: {with_interval(row.difference or 0.0, row.ci, '+.4f')}" for row in others)
    return draw(
        "ranking-plot",
        f"Difference to {elided(first.name, 30)}, the {ranks.to}",
        f"{first.name} has {ranks.measure} {first.score:.4f}. Difference of each other run: {words}.",
        fill,
        height=1.35 + 0.27 * len(ranks.rows),
    )
