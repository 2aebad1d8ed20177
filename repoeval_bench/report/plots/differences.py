"""Figures of where two runs differ: by repository, and from one setting to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from repoeval_bench.core.spec import slug
from repoeval_bench.report.plots.figure import Figure, draw
from repoeval_bench.report.plots.theme import INK, MUTED, PAPER, Look
from repoeval_bench.report.text import elided, heading, with_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from repoeval_bench.analysis.records import Comparison, Interval
    from repoeval_bench.report.ranking import Ranking


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A line of the forest: `n` queries; None for what is said of repositories that were not measured."""

    name: str
    n: int | None
    difference: float
    ci: Interval
    style: Literal["repository", "mean", "predicted"] = "mean"

    @property
    def label(self) -> str:
        return elided(self.name, 24) + ("" if self.n is None else f" ({self.n})")


def forest_figure(comparison: Comparison, *, names: tuple[str, str], look: Look) -> Figure:
    """Draw a pair's differences in every repository, over all of them, and on new ones, with 95 % intervals.

    `found` is about the primary measure; `names` are those of baseline and run, as in the other figures of these runs.
    """
    lines, measure = _forest_lines(comparison), comparison.measure
    n_parts = sum(line.style == "repository" for line in lines)
    most = max(line.n or 0 for line in lines[:n_parts])

    def fill(axes: Axes) -> None:
        axes.axvline(0, color=INK, linewidth=1)
        for row, line in enumerate(lines):
            part = line.style == "repository"
            if line.ci:
                dash = (0, (4, 2)) if line.style == "predicted" else "-"
                axes.plot(line.ci, [row, row], color=look.colour, linestyle=dash, linewidth=1.4 if part else 2.6)
            if line.style != "predicted":
                size = 3 + 4.5 * ((line.n or 0) / most) ** 0.5 if part else 8.0
                axes.plot([line.difference], [row], "s" if part else "D", color=look.colour, markersize=size)
        axes.axhline(n_parts - 0.5, color=MUTED, linewidth=0.8)
        axes.set_yticks(range(len(lines)), [line.label for line in lines])
        axes.set_ylim(len(lines) - 0.4, -0.6)
        axes.grid(visible=False, axis="y")
        axes.locator_params(axis="x", nbins=5)  # more labels would overlap
        axes.set_xlabel(f"difference in {heading(measure)}, 95 % CI")

    words = "; ".join(f"{line.name}: {with_interval(line.difference, line.ci, '+.4f')}" for line in lines)
    return draw(
        f"forest-{slug(names[1])}-minus-{slug(names[0])}",
        f"{elided(names[1], 26)} minus {elided(names[0], 26)}",
        f"Difference in {heading(measure)} by repository, queries in parentheses. {words}.",
        fill,
        height=1.2 + 0.27 * len(lines),
    )


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
            face = look.colour if row.behind or row is first else PAPER
            axes.plot(
                [row.difference or 0.0], [position], look.mark, color=look.colour, markersize=7, markerfacecolor=face
            )
        axes.set_yticks(range(len(ranks.rows)), [elided(row.name, 30) for row in ranks.rows])
        axes.set_ylim(len(ranks.rows) - 0.4, -0.6)
        axes.tick_params(axis="y", labelcolor=INK, labelsize=9)
        axes.grid(visible=False, axis="y")
        axes.locator_params(axis="x", nbins=6)
        axes.set_xlabel(f"difference in {ranks.measure}, 95 % CI")

    words = "; ".join(f"{row.name}: {with_interval(row.difference or 0.0, row.ci, '+.4f')}" for row in others)
    return draw(
        "ranking-plot",
        f"Difference to {elided(first.name, 30)}, the {ranks.to}",
        f"{first.name} has {ranks.measure} {first.score:.4f}. Difference of each other run: {words}.",
        fill,
        height=0.95 + 0.27 * len(ranks.rows),
    )


def _forest_lines(comparison: Comparison) -> list[_Line]:
    new = comparison.on_new_repositories
    assert new is not None
    lines = [
        _Line(
            name=effect.repository, n=effect.n_queries, difference=effect.difference, ci=effect.ci, style="repository"
        )
        for effect in sorted(new.repositories, key=lambda effect: effect.difference)
    ]
    for over, mean in (("micro", comparison.micro), ("macro", comparison.macro)):
        lines.append(_Line(name=f"{over} mean", n=comparison.n_queries, difference=mean.difference, ci=mean.ci))
    if new.two_level is not None:
        lines.append(_Line(name="new repositories", n=None, difference=new.difference, ci=new.two_level))
        predicted = _Line(name="one new repository", n=None, difference=new.difference, ci=new.prediction)
        lines.append(replace(predicted, style="predicted"))
    return lines
