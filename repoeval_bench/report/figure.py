"""Figures of stored runs: scores as the list or the budget grows, and how far each run is behind the best.

They leave the program as files for papers and slides, and as SVG to be inlined in a page. matplotlib is imported when
the first one is drawn.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.sax.saxutils import escape

from repoeval_bench.analysis.comparable import check_comparable, run_names
from repoeval_bench.analysis.means import Curve, over_budgets, over_ranks
from repoeval_bench.chunkers.registry import row_of
from repoeval_bench.core.extras import require
from repoeval_bench.core.files import write_named
from repoeval_bench.core.words import one_line
from repoeval_bench.metrics import BUDGETS
from repoeval_bench.report.html.tables import Ranking
from repoeval_bench.report.text import elided, heading, short_names, with_interval
from repoeval_bench.runs.view import RunView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


INK, MUTED, GRID, PAPER = "#1f2328", "#59636e", "#d5dbe1", "#ffffff"
DARK_INK, DARK_MUTED, DARK_GRID, DARK_PAPER = "#e6edf3", "#9da7b1", "#3a424b", "#0f141a"

# On light paper. Distinct with every common kind of colour vision; the marks and dashes repeat the distinction.
SERIES = ("#0066b3", "#c94f00", "#008060", "#791f11", "#b07fb0", "#4c00bc", "#915eff", "#5c3e65")

# The same, in the same order, on dark paper.
DARK_SERIES = ("#58b0f5", "#ff9250", "#2fd0a2", "#e1264f", "#b1c3df", "#4b5eff", "#9b3ba6", "#897c93")

MARKERS = ("o", "s", "D", "^", "v", "P", "X", "p")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))

VARIABLES: Mapping[str, tuple[str, str]] = {
    "--plot-ink": (INK, DARK_INK),
    "--plot-muted": (MUTED, DARK_MUTED),
    "--plot-grid": (GRID, DARK_GRID),
    "--plot-paper": (PAPER, DARK_PAPER),
    **{f"--series-{i}": pair for i, pair in enumerate(zip(SERIES, DARK_SERIES, strict=True))},
}
"""Custom property of CSS -> its colour on light and on dark paper."""

_RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "text.color": INK,
    # A name may contain a dollar sign, which is not a formula.
    "text.parse_math": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": MUTED,
    "axes.labelsize": 9,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "xtick.minor.visible": False,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.handlelength": 2.6,
    "lines.linewidth": 1.6,
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "svg.fonttype": "none",
}

# Inches: narrow, so that text of 9 points is still read where a telephone shows the whole width.
WIDTH = 5.2

LINE = 0.19
"""Inches that a line of the legend takes."""

PNG_DPI = 200


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """`name` is a file's name and a page's anchor; `description` says in words what is seen."""

    name: str
    title: str
    description: str
    drawn: Drawing


def draw(
    name: str,
    title: str,
    description: str,
    fill: Callable[[Axes], None],
    *,
    width: float = WIDTH,
    height: float = 3.4,
) -> Figure:
    """A figure of one plot, filled in by `fill`; labelled artists are in a legend below it."""
    require("a plot", "matplotlib")
    import matplotlib as mpl
    from matplotlib.figure import Figure as Drawing

    with mpl.rc_context(_RC):
        drawing = Drawing(figsize=(width, height), layout="constrained")
        axes = drawing.add_subplot()
        axes.tick_params(length=0)
        fill(axes)
        drawing.suptitle(title, x=0.015, ha="left", size=10.5, weight="bold")
        handles, labels = axes.get_legend_handles_labels()
        if handles:
            columns = min(len(labels), 3 if max(map(len, labels)) < 16 else 2 if max(map(len, labels)) < 28 else 1)
            drawing.legend(handles, labels, loc="outside lower left", ncols=columns)
            # Names take room of their own, not the plot's.
            drawing.set_figheight(height + LINE * (-(-len(labels) // columns) - 1))
        # Laid out once: each later saving would move things by a hair.
        drawing.draw_without_rendering()
        drawing.set_layout_engine("none")
    return Figure(name, title, one_line(description), drawing)


def png(figure: Figure) -> bytes:
    """The figure on white paper, 200 dots an inch."""
    return _saved(figure, "png")


def write(figures: Sequence[Figure], folder: Path) -> list[Path]:
    """NAME.svg and NAME.png of every figure; a ResultError where they cannot be written."""
    written = []
    for figure in figures:
        for path, content in (
            (folder / f"{figure.name}.svg", svg(figure)),
            (folder / f"{figure.name}.png", png(figure)),
        ):
            write_named(path, content, "another folder for plots")
            written.append(path)
    return written


def _saved(figure: Figure, form: str) -> bytes:
    import matplotlib as mpl

    stream = io.BytesIO()
    # The salt makes ids the same each time, and another figure's others; what is left out names version and date.
    nothing = {"Software": None} if form == "png" else {"Date": None, "Creator": None, "Format": None, "Type": None}
    with mpl.rc_context(_RC | {"svg.hashsalt": figure.name}):
        figure.drawn.savefig(stream, format=form, dpi=PNG_DPI if form == "png" else "figure", metadata=nothing)
    return stream.getvalue()


def svg(figure: Figure, *, themed: bool = False) -> str:
    """The figure as one element, on white paper or, `themed`, in the colours that a page has for light and dark.

    It refers to nothing outside itself, its ids begin with the figure's name, text is text, and a screen reader is
    given title and description.
    """
    text = _saved(figure, "svg").decode()
    # Its style sheet would reach every element of the page it is inlined in.
    text = re.sub(r"<(metadata|style)\b.*?</\1>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r' xmlns:xlink="[^"]*"| version="[^"]*"', "", text).replace("xlink:href", "href")
    used = {name: f"{figure.name}-{i}" for i, name in enumerate(dict.fromkeys(re.findall(r'(?:"|\()#([\w-]+)', text)))}
    text = re.sub(r' id="([^"]*)"', lambda match: f' id="{used[match[1]]}"' if match[1] in used else "", text)
    text = re.sub(r'((?:"|\()#)([\w-]+)', lambda match: match[1] + used.get(match[2], match[2]), text)
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"-?\d+\.\d{3,}", _short, tag[0]), text)  # not in names
    text = re.sub(r'="([\d.]+)pt"', r'="\1"', text)
    text = re.sub(r"'DejaVu Sans'[^;\"]*", "system-ui, 'DejaVu Sans', sans-serif", text)
    if themed:
        for variable, (light, _) in VARIABLES.items():
            text = text.replace(light, f"var({variable}, {light})")
    said = "".join(
        f'<{tag} id="{figure.name}-{tag}">{escape(words)}</{tag}>'
        for tag, words in (("title", figure.title), ("desc", figure.description))
    )
    labels = f' stroke-linejoin="round" role="img" aria-labelledby="{figure.name}-title {figure.name}-desc">'
    return text.replace(">", labels + said, 1)


def _short(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


@dataclass(frozen=True, slots=True)
class Look:
    """Colour (on light paper), marker and dash of one run."""

    colour: str
    marker: str
    dash: Any


def looks(runs: Sequence[RunView]) -> list[Look]:
    """One look per run: that of its chunker's row, the same in every figure and page, else the next free one."""
    own = [row_of(run.metrics.chunker).colour for run in runs]
    # Colours that belong to chunkers of these runs are not given to others.
    own_series = set(own) - {None}
    taken: list[int] = []
    for series in own:
        free = next(i for i in count() if i not in own_series and i not in taken)
        taken.append(free if series is None or series in taken else series)
    return [_look(i) for i in taken]


def _look(i: int) -> Look:
    # Beyond eight runs colours come again, with other marks and dashes.
    again = i // len(SERIES)
    return Look(SERIES[i % len(SERIES)], MARKERS[(i + 3 * again) % len(MARKERS)], DASHES[(i + again) % len(DASHES)])


def css() -> str:
    """The custom properties of inlined figures: light, dark where the reader asks for it, light in print."""
    light, dark = (" ".join(f"{name}: {pair[i]};" for name, pair in VARIABLES.items()) for i in (0, 1))
    return (
        f":root {{ {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
        f"@media print {{ :root {{ {light} }} }}\n"
    )


TICKS = (1, 2, 3, 5, 10, 20, 50, 100)

# Inches: a telephone shows its text at 10 pixels or more.
RANKED_WIDTH = 4.4

NAME = 26
"""Characters of a name in one of its two lines."""

LABEL = 56
"""Characters of a name in a legend."""


class DrawnRun(NamedTuple):
    """A run in a figure of several, with its name and look there."""

    run: RunView
    name: str
    look: Look


def figures(runs: Sequence[RunView], names: Sequence[str] = (), drawn: Sequence[int] = ()) -> list[Figure]:
    """Draw every curve that these runs have the numbers for, in the order of a report.

    `names` are the runs' own by default, and `drawn` are the indices of those that are drawn, by default all: a plot
    of 30 cannot be read. Runs that answer different questions are a UsageError.
    """
    check_comparable((runs[0], run) for run in runs[1:])
    every = list(map(DrawnRun, runs, names or short_names(run_names(runs)), looks(runs)))
    shown = [every[i] for i in drawn or range(len(every))]
    of_budget = budget_figure(shown)
    return [*([of_budget] if of_budget else []), *rank_figures(shown)]


def rank_figures(shown: Sequence[DrawnRun]) -> list[Figure]:
    """Recall and nDCG over k, one line per run."""
    names = ("recall", "ndcg")
    curves = [over_ranks(one.run, names) for one in shown]
    figures = []
    for name in names:
        of_name = [of_run[name] for of_run in curves]
        ticks = [k for k in TICKS if k <= max(curve.positions[-1] for curve in of_name)]
        label = "Recall" if name == "recall" else heading(name)
        figures.append(
            _figure(
                f"{name}-over-k",
                f"{label}@k over k",
                shown,
                of_name,
                axes_labels=("k, retrieved chunks (log scale)", f"{label}@k"),
                ticks=ticks,
            )
        )
    return figures


def budget_figure(shown: Sequence[DrawnRun]) -> Figure | None:
    """Line recall over the budget, with each run's ceiling; None where not every run has it."""
    curves = [curve for one in shown if (curve := over_budgets(one.run)) is not None]
    if len(curves) < len(shown):
        return None
    ceilings = [
        [one.run.metrics.headline_ceilings.get(f"line_recall@{budget}") for budget in curve.positions]
        for one, curve in zip(shown, curves, strict=True)
    ]
    return _figure(
        "line-recall-over-budget",
        "Target lines retrieved as the budget grows",
        shown,
        curves,
        axes_labels=("budget in characters without whitespace (log scale)", "Share of target lines"),
        ticks=BUDGETS,
        ceilings=ceilings,
    )


def _figure(
    name: str,
    title: str,
    shown: Sequence[DrawnRun],
    curves: Sequence[Curve],
    *,
    axes_labels: tuple[str, str],
    ticks: Sequence[int],
    ceilings: Sequence[Sequence[float | None]] = (),
) -> Figure:
    headline = shown[0].run.metrics.headline

    def fill(axes: Axes) -> None:
        for (_, run_name, look), curve in zip(shown, curves, strict=True):
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
                label=elided(run_name, LABEL),
            )
        for i, (curve, ceiling) in enumerate(zip(curves, ceilings, strict=False)):
            if None not in ceiling:
                label = f"ceiling{'s' if len(shown) > 1 else ''} (best order of these chunks)" if i == 0 else None
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
        f"{one.name}: "
        + ", ".join(
            f"{curve.means[curve.positions.index(position)]:.3f} at {position}"
            for position in ticks
            if position in curve.positions
        )
        for one, curve in zip(shown, curves, strict=True)
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
        width=RANKED_WIDTH,
        height=0.85 + 0.27 * len(ranks.rows),
    )


def _two_lines(name: str) -> str:
    """Return a name in at most two lines, which end after its punctuation where it has some."""
    name = elided(name, 2 * NAME)
    if len(name) <= NAME:
        return name
    ends = [at for at in range(1, len(name)) if name[at - 1] in ":,/ " and at <= NAME and len(name) - at <= NAME]
    at = ends[-1] if ends else NAME
    return f"{name[:at].rstrip()}\n{name[at:]}"
