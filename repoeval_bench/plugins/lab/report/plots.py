"""The gain of larger chunks and of reading more: one line for each chunker of a leaderboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.plugins.lab.analysis import BASELINE, LeaderboardAnalysis
from repoeval_bench.report.plots.figure import Figure, draw
from repoeval_bench.report.plots.theme import GRID, INK, looks
from repoeval_bench.report.text import elided, heading

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from repoeval_bench.runs.view import RunView


def sizes_figure(analysis: LeaderboardAnalysis) -> Figure | None:
    """The score of each chunker over the mean size of its chunks; None where none was run at two sizes."""
    if not analysis.sizes:
        return None
    leaderboard = analysis.leaderboard
    lines: dict[str, list[tuple[float, float]]] = {}
    first: dict[str, RunView] = {}
    for entry in leaderboard.entries:
        sized = analysis.sized_runs[entry.run_id]
        if sized.nws:
            lines.setdefault(sized.name, []).append((sized.nws, entry.score))
            first.setdefault(sized.name, entry.run)

    def fill(axes: Axes) -> None:
        for (name, points), look in zip(lines.items(), looks([*first.values()]), strict=True):
            axes.plot(
                *zip(*sorted(points), strict=True),
                color=look.colour,
                linestyle=look.dash,
                marker=look.mark,
                markersize=4.5,
                label=elided(name),
            )
        axes.set_xscale("log")
        ticks = [size for size in (250, 500, 1000, 2000, 4000, 8000) if _within(size, lines)]
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("mean characters of a chunk (log scale)")
        axes.set_ylabel(f"{heading(leaderboard.measure)}, {leaderboard.over} mean")

    words = "; ".join(
        f"{name}: " + ", ".join(f"{score:.3f} at {size:.0f}" for size, score in sorted(points))
        for name, points in lines.items()
    )
    return draw("sizes", "What size buys", f"{words}.", fill)


def frontier_figure(analysis: LeaderboardAnalysis) -> Figure | None:
    """Recall over the tokens that are read: every run thin, the best at each budget bold; None where none was scored.

    In nws where no sources were kept.
    """
    if not analysis.frontier:
        return None
    leaderboard, points = analysis.leaderboard, analysis.frontier
    ratio = analysis.tokens_per_nws
    index = [point.budget * (ratio or 1.0) for point in points]

    def fill(axes: Axes) -> None:
        for run in leaderboard.runs:
            means = run.metrics.over(leaderboard.over)
            axes.plot(
                index, [means[f"{analysis.recall}@{p.budget}"] for p in points], color=GRID, linewidth=0.8, zorder=1
            )
        best = [point.recall for point in points]
        ends = [point.ci or (point.recall, point.recall) for point in points]
        axes.fill_between(index, [e[0] for e in ends], [e[1] for e in ends], color=INK, alpha=0.1, linewidth=0)
        axes.plot(index, best, color=INK, marker="o", markersize=4, label="best at each budget")
        fixed = [point.fixed for point in points]
        if None not in fixed:
            (look,) = looks([next(r for r in leaderboard.runs if analysis.sized_runs[r.run_id].name == BASELINE)])
            axes.plot(index, [x or 0.0 for x in fixed], color=look.colour, linestyle="--", label="best of fixed")
        axes.set_xscale("log")
        axes.set_xticks(index, [f"{tokens:,.0f}" for tokens in index])
        axes.set_xticks([], minor=True)
        axes.set_ylim(0, None)
        axes.set_xlabel(f"{'tokens' if ratio else 'characters'} that a query reads (log scale)")
        axes.set_ylabel(f"{heading(analysis.recall)}, {leaderboard.over} mean")

    words = "; ".join(
        f"{analysis.sized_runs[p.run_id].label}: {p.recall:.3f} at {t:.0f}" for p, t in zip(points, index, strict=True)
    )
    return draw(
        "frontier",
        "What reading more buys",
        f"Best at each budget: {words}. Thin grey lines are all runs, the band is the best one's 95 % interval.",
        fill,
    )


def _within(size: float, lines: dict[str, list[tuple[float, float]]]) -> bool:
    sizes = [x for points in lines.values() for x, _ in points]
    return min(sizes) * 0.8 <= size <= max(sizes) * 1.2
