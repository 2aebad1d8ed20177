"""A figure, and the two ways it leaves the program: files for papers and slides, and SVG to be inlined in a page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from repoeval_bench.core.extras import require
from repoeval_bench.core.files import write_named
from repoeval_bench.report.plots.theme import VARIABLES, style_settings
from repoeval_bench.report.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

WIDTH = 5.2
"""Inches: narrow, so that text of 9 points is still read where a telephone shows the whole width."""

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

    with mpl.rc_context(style_settings()):
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
    return Figure(name, title, printable(description), drawing)


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
    with mpl.rc_context(style_settings(svg__hashsalt=figure.name)):
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
