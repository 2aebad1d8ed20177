"""The headline table: means with clustered intervals, each drawn as a dot on a bar, and what a column is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.analysis.comparable import headline_measure
from repoeval_bench.analysis.statistics import mean_intervals
from repoeval_bench.metrics import CEILING, SHARE, TEXT_MEASURES, Measure, lower_is_better
from repoeval_bench.metrics.condensed import UNREGISTERED
from repoeval_bench.report.text import heading

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Interval
    from repoeval_bench.report.html.runs import PageRun

MEASURES = (
    "line_recall@1500",
    "ndcg@5",
    "ndcg@10",
    "recall@1",
    "recall@3",
    "recall@5",
    "recall@10",
    "precision@5",
    "mrr",
    "distinct_files@10",
    *TEXT_MEASURES,
)
"""Columns behind the run's own headline measure, where the runs have them."""

NEUTRAL = frozenset({"distinct_files@10"})
"""Measures of which more is neither better nor worse by itself."""

BAR = 58.0
"""Width of a cell's bar in user units."""


@dataclass(frozen=True, slots=True)
class ScoreCell:
    """One mean with its 95 % interval; `bar` places (dot, from, to) on a bar of width `BAR`."""

    value: float | None
    text: str
    ci: Interval = None
    bar: tuple[float, float, float] | None = None

    @property
    def interval(self) -> str:
        """The interval in words; empty where there is none."""
        if self.ci is None:
            return ""
        low, high = self.ci
        digits = 2 if high > 1 else 3
        return f"{low:.{digits}f}\u2013{high:.{digits}f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreColumn:
    """A column of the headline table: one cell per run, in their order."""

    key: str
    title: str
    meaning: str
    cells: tuple[ScoreCell, ...]
    judged: bool = True
    lowest_first: bool = False

    @property
    def best(self) -> float | None:
        """The best value in the column; None where there is nothing to compare, or more is neither good nor bad."""
        values = [cell.value for cell in self.cells if cell.value is not None]
        if len(values) < 2 or not self.judged:
            return None
        return min(values) if self.lowest_first else max(values)


def headline_columns(runs: Sequence[PageRun]) -> list[ScoreColumn]:
    """The table's columns; a measure that some run lacks has an empty cell there, one that all lack no column."""
    metrics = runs[0].stored.metrics
    over = metrics.headline
    first = headline_measure([run.stored for run in runs])
    columns = []
    names = tuple(dict.fromkeys((first, *MEASURES)))
    by_run = [_means(run, names, over) for run in runs]
    for name in names:
        known = name not in UNREGISTERED and not name.endswith((CEILING, SHARE))
        meaning = Measure.parse(name).definition.meaning if known else ""
        found = [means.get(name) for means in by_run]
        if any(cell is not None for cell in found):
            columns.append(
                ScoreColumn(
                    key=name,
                    title=heading(name),
                    meaning=meaning,
                    cells=on_one_scale(found),
                    judged=name not in NEUTRAL,
                    lowest_first=lower_is_better(name),
                )
            )
        if name == first and all(run.stored.metrics.ceilings for run in runs):
            columns.append(_shares(runs, first))
    latency = [run.stored.timings.by_step().get("retrieve", []) for run in runs]
    if any(latency):
        cells = tuple(
            ScoreCell(median(times), f"{median(times):.2f} ms") if times else ScoreCell(None, "") for times in latency
        )
        meaning = (
            "Median time to search for one query, on the machine that ran it. A dense query's vector is known already, "
            "while BM25 still splits its query into terms, so this does not compare retrievers fairly."
        )
        columns.append(
            ScoreColumn(key="search", title="search", meaning=meaning, cells=cells, judged=False, lowest_first=True)
        )
    return columns


def _means(run: PageRun, names: Sequence[str], over: str) -> dict[str, tuple[float, Interval]]:
    """Mean and interval of each measure that the run has, all from one resampling."""
    values = {name: column for name in names if (column := run.values(name)) is not None}
    if not values:
        return {}
    table = np.column_stack(list(values.values()))
    means, intervals = mean_intervals(table, run.scores.clusters, run.scores.repos, over)
    stored = run.stored.metrics.over(over)
    # What eval stored is what is shown, to the last bit.
    found = zip(values, means, intervals, strict=True)
    return {name: (stored.get(name, mean), interval) for name, mean, interval in found}


def on_one_scale(found: Sequence[tuple[float, Interval] | None]) -> tuple[ScoreCell, ...]:
    """Cells whose bars share one scale: from the lowest end of all intervals to the highest."""
    ends = [end for each in found if each for end in (each[0], *(each[1] or ()))]
    low, high = min(ends, default=0.0), max(ends, default=0.0)
    scale = BAR / (high - low) if high > low else 0.0
    cells = []
    for each in found:
        if each is None:
            cells.append(ScoreCell(None, ""))
            continue
        value, interval = each
        text = f"{value:.2f}" if high > 1 else f"{value:.3f}"
        if interval is None:
            cells.append(ScoreCell(value, text))
            continue
        dot, start, end = (round((at - low) * scale, 1) for at in (value, *interval))
        cells.append(ScoreCell(value, text, interval, (dot, start, end)))
    return tuple(cells)


def _shares(runs: Sequence[PageRun], measure: str) -> ScoreColumn:
    shares = [run.stored.metrics.shares_of_ceiling.get(measure) for run in runs]
    cells = tuple(ScoreCell(None, "") if share is None else ScoreCell(share, f"{share:.1%}") for share in shares)
    meaning = f"{heading(measure)} over the best score that is known to be possible with these chunks."
    return ScoreColumn(key="share", title="% of ceiling", meaning=meaning, cells=cells)
