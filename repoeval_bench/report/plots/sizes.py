"""Figures of how large chunks are, and how much of a score is due to size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from repoeval_bench.analysis.comparable import run_names
from repoeval_bench.analysis.means import headline_means, pareto, size_spreads
from repoeval_bench.core.words import count
from repoeval_bench.metrics import lower_is_better
from repoeval_bench.report.plots.figure import Figure, draw
from repoeval_bench.report.plots.theme import MUTED, looks
from repoeval_bench.report.text import elided, heading, short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from repoeval_bench.runs.view import RunView


def size_figure(runs: Sequence[RunView]) -> Figure | None:
    """Draw the spread of every run's chunk sizes, with mean, median and 95th percentile; None where one is unknown.

    Where a run did not keep its chunks, its row has no histogram.
    """
    sizes = [run.metrics.chunk_nws for run in runs if run.metrics.chunk_nws]
    if len(sizes) < len(runs):
        return None
    names = short_names(run_names(runs))
    spreads = size_spreads(runs)
    end, beyond = spreads[0].edges[-1], sum(spread.beyond for spread in spreads)

    def fill(axes: Axes) -> None:
        for row, (size, look, spread) in enumerate(zip(sizes, looks(runs), spreads, strict=True)):
            if any(spread.heights):
                tops = [row - 0.72 * height for height in spread.heights]
                axes.stairs(tops, spread.edges, baseline=row, fill=True, color=look.colour, alpha=0.35)
            axes.plot([0, size.p95], [row, row], color=look.colour, linewidth=1)
            axes.plot([size.median] * 2, [row - 0.1, row + 0.1], color=look.colour, linewidth=2.4)
            axes.plot([size.p95] * 2, [row - 0.1, row + 0.1], color=look.colour, linewidth=1.2)
            axes.plot([size.mean], [row], look.mark, color=look.colour, markersize=5.5)
        axes.set_yticks(range(len(runs)), [elided(name, 28) for name in names])
        axes.set_ylim(len(runs) - 0.6, -0.85)
        axes.set_xlim(0, end * 1.02)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("characters of a chunk")

    words = "; ".join(
        f"{name}: mean {size.mean:.0f}, median {size.median}, 95th percentile {size.p95}"
        for name, size in zip(names, sizes, strict=True)
    )
    cut = f" {count(beyond, 'chunk')} beyond {end:.0f} not drawn." if beyond else ""
    return draw(
        "chunk-sizes",
        "Sizes of chunks",
        f"{words}. Mark: mean; thick tick: median; thin tick: 95th percentile.{cut}",
        fill,
        height=1.2 + 0.55 * len(runs),
    )


def score_against_size(runs: Sequence[RunView], measure: str) -> Figure | None:
    """The score of every run over its chunks' mean size, and the front of those that no smaller one beats.

    None for one run, or where sizes or the measure are not there.
    """
    sizes = [run.metrics.chunk_nws for run in runs if run.metrics.chunk_nws]
    if len(sizes) < max(2, len(runs)) or any(measure not in run.scores.values for run in runs):
        return None
    names = short_names(run_names(runs))
    means = [headline_means(run, [measure])[measure] for run in runs]
    points = [(size.mean, mean) for size, (mean, _) in zip(sizes, means, strict=True)]
    sign = -1 if lower_is_better(measure) else 1
    front = pareto([(size, sign * score) for size, score in points])

    def fill(axes: Axes) -> None:
        if len(front) > 1:
            axes.plot([points[i][0] for i in front], [points[i][1] for i in front], color=MUTED, linewidth=1, zorder=1)
        for name, look, (size, score), (_, ci) in zip(names, looks(runs), points, means, strict=True):
            if ci:
                axes.plot([size, size], ci, color=look.colour, linewidth=1.6)
            axes.plot([size], [score], look.mark, color=look.colour, markersize=7, label=elided(name))
        axes.set_xlabel("mean characters of a chunk")
        axes.set_ylabel(f"{heading(measure)}, {runs[0].metrics.headline} mean")
        axes.margins(x=0.12, y=0.12)

    words = "; ".join(f"{name}: {score:.3f} at {size:.0f}" for name, (size, score) in zip(names, points, strict=True))
    best = ", ".join(names[i] for i in front)
    return draw(
        "score-against-size",
        f"{heading(measure)} against chunk size",
        f"{words}. No smaller chunker does better than {best} (joined by a line). Bars are 95 % confidence intervals.",
        fill,
    )
