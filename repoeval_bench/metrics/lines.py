"""Measures of lines at a budget of non-whitespace characters: comparable between chunkers, unlike chunks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from repoeval_bench.metrics.definition import measure
from repoeval_bench.metrics.reading import BUDGETS, LineReading, area_under, read_lines

if TYPE_CHECKING:
    from repoeval_bench.metrics.judged_run import FloatArray, JudgedRun


_at_budget = partial(
    measure,
    source="this project's protocol",
    cutoff="must",
    unit="nws",
    needs=frozenset({"ranking", "places", "gold", "line_nws"}),
    ceiling="lines",
)


@_at_budget(
    name="line_recall",
    aliases=("lines",),
    meaning="Share of the target's non-blank lines in the first B characters retrieved, without whitespace.",
    formula="|collected and target| / |target|, over distinct non-blank lines, chunks read in order of rank",
    range="0..1; its ceiling depends on the chunker and B",
    avoid="B is far below the target's own characters: no chunker can then score; use lines R-prec or lines found",
)
def line_recall(run: JudgedRun, budget: int) -> FloatArray:
    """Distinct gold lines collected within the budget, over the gold lines: float64 (n_queries,)."""
    return _reading(run, budget).recall(budget)


@_at_budget(
    name="line_precision",
    meaning="Share of target lines among the lines in the first B characters retrieved.",
    formula="|collected and target| / |collected|, over distinct non-blank lines",
    range="0..1",
    avoid="B is above the target's characters: precision then falls with B; read it beside lines@B",
)
def line_precision(run: JudgedRun, budget: int) -> FloatArray:
    """Gold lines over all distinct lines collected within the budget: float64 (n_queries,)."""
    return _reading(run, budget).precision(budget)


@_at_budget(
    name="line_iou",
    meaning="Target lines in the first B characters retrieved, over the lines that are in either.",
    formula="|collected and target| / |collected or target|, over distinct non-blank lines",
    range="0..1",
    avoid="only one error, reading too much or missing target lines, matters: use line_precision or lines@B",
)
def line_iou(run: JudgedRun, budget: int) -> FloatArray:
    """Gold lines collected over the union of gold and collected lines: float64 (n_queries,)."""
    return _reading(run, budget).iou(budget)


@_at_budget(
    name="line_rprec",
    aliases=("lines_r_prec",),
    meaning="lines@B at a budget of the target's own characters: as much is read as the target has.",
    formula="lines@B with B = characters of the target",
    range="0..1",
    avoid="targets differ much in size and one budget is what will be paid: use lines@B",
    cutoff="none",
)
def line_rprec(run: JudgedRun, budget: None = None) -> FloatArray:  # noqa: ARG001 - takes no budget
    """Return the line_recall at a budget of the gold's own nws: float64 (n_queries,)."""
    reading = _reading(run)
    return reading.recall(reading.gold_nws)


@_at_budget(
    name="line_recall_auc",
    aliases=("line_auc", "auc_line_recall", "lines_found"),
    meaning="Share of the target lines retrieved, averaged over all budgets from 0 to 12,000 characters.",
    formula="trapezoids from (0, 0) through B = 250, 500, 1000, 1500, 3000, 6000, 12000, over 12000",
    range="0..1; below 1, because nothing is read at B = 0",
    avoid="the budget is known: use lines@B; the area is mostly about the large budgets",
    cutoff="none",
)
def line_recall_auc(run: JudgedRun, budget: None = None) -> FloatArray:  # noqa: ARG001 - takes no budget
    """Area under line_recall from budget 0 to the last of `BUDGETS`, divided by it: float64 (n_queries,)."""
    return area_under(_reading(run).recall, run.n_queries)


def _reading(run: JudgedRun, budget: int = 0) -> LineReading:
    limit = max(budget, BUDGETS[-1])

    def read() -> LineReading:
        assert run.context.line_nws is not None
        golds = map(run.gold, run.query_ids)
        return read_lines(map(run.read, run.query_ids), golds, run.context.line_nws, limit)

    return run.once(("lines", limit), read)
