"""How large the chunks are, and how much of a score is due to size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.analysis.comparable import run_names
from repoeval_bench.core.words import count
from repoeval_bench.metrics import lower_is_better
from repoeval_bench.report.plots.curves import curve_of
from repoeval_bench.report.plots.figure import Figure, draw
from repoeval_bench.report.plots.theme import MUTED, looks
from repoeval_bench.report.text import elided, heading, short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from repoeval_bench.runs.view import RunView


def pareto(points: Sequence[tuple[float, float]]) -> list[int]:
    """Positions of the (size, score) pairs that no other beats: none is smaller or equal with a higher or equal score.

    By size, ascending. Of equal pairs the first stays.
    """
    front: list[int] = []
    for i in sorted(range(len(points)), key=lambda i: (points[i][0], -points[i][1])):
        if not front or points[i][1] > points[front[-1]][1]:
            front.append(i)
    return front


def size_figure(runs: Sequence[RunView]) -> Figure | None:
    """How every run's chunk sizes spread, with mean, median and 95th percentile; None where a run knows none of it.

    Where a run did not keep its chunks, its row has no histogram.
    """
    sizes = [run.metrics.chunk_nws for run in runs if run.metrics.chunk_nws]
    if len(sizes) < len(runs):
        return None
    names = short_names(run_names(runs))
    spreads = [chunk_sizes(run) for run in runs]
    # One giant chunk must not press all others into a corner.
    end = max(
        max([float(size.p95), *np.quantile(each, [0.995] if len(each) else [])])
        for size, each in zip(sizes, spreads, strict=True)
    )
    beyond = sum(int((each > end).sum()) for each in spreads)

    def fill(axes: Axes) -> None:
        for row, (size, look, each) in enumerate(zip(sizes, looks(runs), spreads, strict=True)):
            heights, edges = np.histogram(each, bins=48, range=(0, end))
            if heights.any():
                axes.stairs(
                    row - 0.72 * heights / heights.max(), edges, baseline=row, fill=True, color=look.colour, alpha=0.35
                )
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


def chunk_sizes(run: RunView) -> NDArray[np.int64]:
    """Non-whitespace characters of every chunk that was kept with the run, int64 (n_chunks,); empty where none was."""
    kept = run.inspection.chunks.values() if run.inspection else ()
    return np.array([chunk.nws for chunks in kept for chunk in chunks], dtype=np.int64)


def score_against_size(runs: Sequence[RunView], measure: str) -> Figure | None:
    """The score of every run over its chunks' mean size, and the front of those that no smaller one beats.

    None for one run, or where sizes or the measure are not there.
    """
    sizes = [run.metrics.chunk_nws for run in runs if run.metrics.chunk_nws]
    if len(sizes) < max(2, len(runs)) or any(measure not in run.scores.values for run in runs):
        return None
    names = short_names(run_names(runs))
    curves = [curve_of(run, run.scores.table([measure]), (1,)) for run in runs]
    points = [(size.mean, curve.means[0]) for size, curve in zip(sizes, curves, strict=True)]
    sign = -1 if lower_is_better(measure) else 1
    front = pareto([(size, sign * score) for size, score in points])

    def fill(axes: Axes) -> None:
        if len(front) > 1:
            axes.plot([points[i][0] for i in front], [points[i][1] for i in front], color=MUTED, linewidth=1, zorder=1)
        for name, look, (size, score), curve in zip(names, looks(runs), points, curves, strict=True):
            if curve.intervals[0]:
                axes.plot([size, size], curve.intervals[0], color=look.colour, linewidth=1.6)
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
