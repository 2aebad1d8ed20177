"""A figure, and the two ways it leaves the program: files for papers and slides, and SVG to be inlined in a page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from repoeval_bench.core.extras import require
from repoeval_bench.core.files import write_named
from repoeval_bench.report.plots.theme import VARIABLES, style_settings
from repoeval_bench.report.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"

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


def draw(name: str, title: str, description: str, fill: Callable[[Axes], None], *, height: float = 3.4) -> Figure:
    """A figure of one plot, filled in by `fill`; labelled artists are in a legend below it."""
    require("a plot", "matplotlib")
    import matplotlib as mpl
    from matplotlib.figure import Figure as Drawing

    with mpl.rc_context(style_settings()):
        drawing = Drawing(figsize=(WIDTH, height), layout="constrained")
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
    ET.register_namespace("", SVG)
    root = ET.fromstring(_saved(figure, "svg"))  # noqa: S314 - matplotlib wrote it a moment ago
    for parent in list(root.iter()):
        for child in list(parent):
            # Its style sheet would reach every element of the page it is inlined in.
            if child.tag in {f"{{{SVG}}}metadata", f"{{{SVG}}}style"}:
                parent.remove(child)
    _rename_ids(root, figure.name)
    for element in root.iter():
        for key, value in element.attrib.items():
            element.set(key, _short(value, themed=themed))
    for text in root.iter(f"{{{SVG}}}text"):
        text.set("style", re.sub(r"'DejaVu Sans'[^;]*", "system-ui, 'DejaVu Sans', sans-serif", text.get("style", "")))
    _, _, width, height = root.get("viewBox", "0 0 1 1").split()
    root.attrib.pop("version", None)
    root.set("width", width)
    root.set("height", height)
    root.set("stroke-linejoin", "round")
    root.set("role", "img")
    root.set("aria-labelledby", f"{figure.name}-title {figure.name}-desc")
    for position, (tag, content) in enumerate((("title", figure.title), ("desc", figure.description))):
        element = ET.Element(f"{{{SVG}}}{tag}", {"id": f"{figure.name}-{tag}"})
        element.text = content
        root.insert(position, element)
    return ET.tostring(root, encoding="unicode")


def _rename_ids(root: ET.Element, name: str) -> None:
    """Only ids that are referred to stay, numbered after the figure's name; `href` needs no namespace."""
    link = f"{{{XLINK}}}href"
    used: dict[str, str] = {}
    for element in root.iter():
        for value in (element.attrib.get(link, ""), element.attrib.get("clip-path", "")):
            if match := re.search(r"#([^)]+)", value):
                used.setdefault(match[1], f"{name}-{len(used)}")
    for element in root.iter():
        own = element.attrib.pop("id", None)
        if own in used:
            element.set("id", used[own])
        if target := element.attrib.pop(link, None):
            element.set("href", "#" + used[target.removeprefix("#")])
        if clip := element.get("clip-path"):
            element.set("clip-path", re.sub(r"#([^)]+)", lambda match: "#" + used[match[1]], clip))


def _short(value: str, *, themed: bool) -> str:
    value = re.sub(r"-?\d+\.\d{3,}", lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip("."), value)
    value = " ".join(value.split())
    if not themed:
        return value
    for variable, (light, _) in VARIABLES.items():
        value = value.replace(light, f"var({variable}, {light})")
    return value
