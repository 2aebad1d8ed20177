"""The headline with small bars, for terminals: one narrow table to see before the wide ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.analysis.comparison import run_names
from repoeval_bench.report.frame import heading, new_table
from repoeval_bench.report.names import elided, short_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table
    from rich.text import Text

    from repoeval_bench.runs.store import StoredRun

WIDTH = 24
"""Cells of a bar from 0 to 1; half a cell is the smallest step."""


def headline_table(runs: Sequence[StoredRun]) -> Table | None:
    """The protocol's first measure, of every run or of one run's repositories, as a bar up to its ceiling.

    None where the runs were not scored by it.
    """
    first = runs[0].metrics
    measure, over = str(first.get("headline_measure")), first["headline"]
    if any(measure not in run.metrics["micro"] or "ceilings" not in run.metrics for run in runs):
        return None
    if len(runs) == 1:
        found = [*((repo, repo) for repo in first["per_repo"]), ("micro", "micro"), ("macro", "macro")]
        rows = [(name, *_pair(runs[0], label, measure)) for name, label in found]
    else:
        names = short_names(run_names(runs))
        rows = [(name, *_pair(run, over, measure)) for name, run in zip(names, runs, strict=True)]
    table = new_table()
    table.add_column("mean over" if len(runs) == 1 else f"{over} mean", no_wrap=True)
    table.add_column(heading(measure), justify="right")
    table.add_column("of its ceiling", justify="right")
    table.add_column("━ score ─ ceiling", min_width=WIDTH, no_wrap=True)
    for name, score, ceiling in rows:
        share = f"{score / ceiling:.0%}" if ceiling > 0 else ""
        table.add_row(elided(name), f"{score:.4f}", share, bar(score, ceiling))
    return table


def bar(score: float, ceiling: float) -> Text:
    """A score from 0 to 1 as a thick line, what its ceiling leaves as a thin one; values outside are cut off."""
    from rich.text import Text

    halves = round(min(1.0, max(0.0, score)) * WIDTH * 2)
    drawn = Text("━" * (halves // 2) + "╸" * (halves % 2), style="cyan")
    drawn.append("─" * (round(min(1.0, max(0.0, ceiling)) * WIDTH) - len(drawn)), style="dim")
    return drawn


def _pair(run: StoredRun, label: str, measure: str) -> tuple[float, float]:
    """Score and ceiling of a mean or a repository; where no ceiling is stored the score stands for it."""
    score, ceiling = (
        content.get(label, content.get("per_repo", {}).get(label, {}))
        for content in (run.metrics, run.metrics.get("ceilings", {}))
    )
    return float(score[measure]), float(ceiling.get(measure, score[measure]))
