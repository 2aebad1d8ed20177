"""Figures of where two runs differ: by repository, and from one setting to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import TYPE_CHECKING, Any, Literal

from repoeval_bench.core.errors import ResultError
from repoeval_bench.core.spec import slug
from repoeval_bench.report.plots.figure import Figure, draw
from repoeval_bench.report.plots.theme import INK, MUTED, PAPER, Look
from repoeval_bench.report.text import elided, heading, short_names, with_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from repoeval_bench.analysis.records import Comparison, Interval
    from repoeval_bench.report.ranking import Ranking

SIGNS = {"wins": "+", "loses": "\N{MINUS SIGN}", "noise": "~", "undecided": ""}
"""The sign of a verdict in the heat map."""

_DARK_TEXT = "#101418"
"""Cells are pale on light and on dark pages, so their text is dark on both."""


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


def heat_maps(settings: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """One figure per pair of chunkers, from the settings that `lab sensitivity --json` prints.

    A row is a setting (protocol with its choices), a column a retriever, measure and way of sizing. Cells that lack
    a field are a ResultError.
    """
    pairs: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    try:
        for setting in settings:
            pairs.setdefault((setting["a"], setting["b"]), []).append(setting)
        known = list(dict.fromkeys(name for pair in pairs for name in pair))
        names = dict(zip(known, short_names(known), strict=True))
        return [_heat_map(names[a], names[b], cells) for (a, b), cells in pairs.items()]
    except (KeyError, TypeError, AttributeError) as error:
        raise ResultError(
            f"these are not settings of a sensitivity grid ({error}); write them with lab sensitivity --output FILE"
        ) from error


def _heat_map(a: str, b: str, cells: Sequence[Mapping[str, Any]]) -> Figure:
    ranked_by = list(dict.fromkeys(cell["retriever"] for cell in cells))
    retrievers = dict(zip(ranked_by, short_names(ranked_by), strict=True))

    def column(cell: Mapping[str, Any]) -> tuple[str, str, str]:
        return cell["measure"], retrievers[cell["retriever"]], cell["sizes"].partition(" ")[0]

    settings = list(dict.fromkeys(cell["protocol"] for cell in cells))
    columns = sorted(dict.fromkeys(map(column, cells)))
    values = [[nan] * len(columns) for _ in settings]
    signs = {}
    for cell in cells:
        cell_index = settings.index(cell["protocol"]), columns.index(column(cell))
        values[cell_index[0]][cell_index[1]] = cell["difference"]
        signs[cell_index] = SIGNS.get(cell["verdict"], "?")
    # Noise is spoken of where a placebo band was measured: elsewhere there is none.
    banded = any(cell.get("placebo_band") is not None for cell in cells)
    limit = max(abs(cell["difference"]) for cell in cells) or 1.0

    def fill(axes: Axes) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        pale = LinearSegmentedColormap.from_list("difference", ["#f2a65a", "#f7f3ec", "#6cb4ee"], N=21)
        mesh = axes.pcolormesh(values, cmap=pale, vmin=-limit, vmax=limit, edgecolors="#ffffff", linewidth=0.6)
        for (row, cell_index), sign in signs.items():
            axes.text(cell_index + 0.5, row + 0.52, sign, ha="center", va="center", color=_DARK_TEXT, fontsize=8)
        axes.set_yticks(
            [index + 0.5 for index in range(len(settings))], [_setting(setting) for setting in settings], fontsize=7
        )
        axes.set_xticks(
            [index + 0.5 for index in range(len(columns))],
            [elided(f"{heading(m)} · {r} · {s}") for m, r, s in columns],
            rotation=55,
            ha="right",
            rotation_mode="anchor",
            fontsize=7,
        )
        axes.invert_yaxis()
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        bar = axes.figure.colorbar(mesh, ax=axes, location="bottom", shrink=0.7, aspect=30, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0, labelsize=7.5)
        noise = "   ~ noise" if banded else ""
        bar.set_label(f"+ wins   \N{MINUS SIGN} loses{noise}   empty: undecided", fontsize=7.5)

    verdicts = [verdict for verdict in SIGNS if banded or verdict != "noise"]
    tally = {verdict: sum(cell["verdict"] == verdict for cell in cells) for verdict in verdicts}
    words = ", ".join(f"{verdict} {number}" for verdict, number in tally.items())
    return draw(
        f"sensitivity-{slug(a)}-minus-{slug(b)}",
        f"{elided(a, 18)} minus {elided(b, 18)}, setting by setting",
        f"{a} minus {b} in {len(cells)} settings: {words}. + wins, \N{MINUS SIGN} loses, "
        f"{'~ within the placebo band, ' if banded else ''}empty: the interval contains 0.",
        fill,
        height=2.4 + 0.2 * len(settings),
        legend=False,
    )


def _setting(protocol: str) -> str:
    """`body+query=full+relevance=iou:0.2` as `body · full · iou:0.2`."""
    name, *choices = protocol.split("+")
    return elided(" · ".join([name, *(choice.partition("=")[2] or choice for choice in choices)]))
