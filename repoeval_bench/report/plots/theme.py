"""The look of every figure: one set of colours for light and dark pages, a colour and a mark per chunker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.spec import Spec

if TYPE_CHECKING:
    from repoeval_bench.runs.view import RunView

INK, MUTED, GRID, PAPER = "#1f2328", "#59636e", "#d5dbe1", "#ffffff"
DARK_INK, DARK_MUTED, DARK_GRID, DARK_PAPER = "#e6edf3", "#9da7b1", "#3a424b", "#0f141a"

SERIES = ("#0066b3", "#c94f00", "#008060", "#791f11", "#b07fb0", "#4c00bc", "#915eff", "#5c3e65")
"""On light paper. Distinct with every common kind of colour vision; the marks and dashes repeat the distinction."""

DARK_SERIES = ("#58b0f5", "#ff9250", "#2fd0a2", "#e1264f", "#b1c3df", "#4b5eff", "#9b3ba6", "#897c93")
"""The same, in the same order, on dark paper."""

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

_RC = {
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


def style_settings(**more: Any) -> dict[Any, Any]:
    """Return matplotlib's settings for drawing and saving; `more` are others, with `__` for the dot in a name."""
    return {**_RC, **{key.replace("__", "."): value for key, value in more.items()}}


@dataclass(frozen=True, slots=True)
class Look:
    """Colour (on light paper), marker and dash of one run."""

    colour: str
    marker: str
    dash: Any


def looks(runs: Sequence[RunView]) -> list[Look]:
    """One look per run: that of its chunker's row, the same in every figure and on every page, else the next free one.

    Beyond eight runs colours come again, with other marks and dashes.
    """
    own = list(map(_series, runs))
    # Colours that belong to chunkers of these runs are not given to others.
    own_series = set(own) - {None}
    taken: list[int] = []
    for series in own:
        if series is not None and series not in taken:
            taken.append(series)
        else:
            taken.append(next(i for i in count() if i not in own_series and i not in taken))
    return [_look(i) for i in taken]


def _look(i: int) -> Look:
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


def _series(run: RunView) -> int | None:
    """The colour that a run's chunker has as its own."""
    try:
        row = CHUNKERS.known_or_none(Spec.parse(run.metrics.chunker).name)
    except SpecError:
        return None
    return None if row is None else row.colour
