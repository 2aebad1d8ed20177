"""Measures of lines at a budget of non-whitespace characters: comparable between chunkers, unlike chunks."""

from functools import partial

from repoeval_bench.metrics.definition import measure
from repoeval_bench.metrics.judged_run import FloatArray, JudgedRun
from repoeval_bench.metrics.reading import BUDGETS, LineReading, area_under, read_lines

_at_budget = partial(
    measure,
    source="this project's protocol",
    cutoff="must",
    unit="nws",
    needs=frozenset({"ranking", "places", "gold", "line_nws"}),
    ceiling="lines",
)


@_at_budget(
    aliases=("lines",),
    formula="|collected and target| / |target|, over distinct non-blank lines, chunks read in order of rank",
    range="0..1; its ceiling depends on the chunker and B",
    avoid="B is far below the target's own characters: no chunker can then score; use lines R-prec or lines found",
)
def line_recall(run: JudgedRun, budget: int) -> FloatArray:
    """Share of the target's non-blank lines in the first B characters retrieved, without whitespace."""
    return _reading(run, budget).recall(budget)


@_at_budget(
    formula="|collected and target| / |collected|, over distinct non-blank lines",
    avoid="B is above the target's characters: precision then falls with B; read it beside lines@B",
)
def line_precision(run: JudgedRun, budget: int) -> FloatArray:
    """Share of target lines among the lines in the first B characters retrieved."""
    return _reading(run, budget).precision(budget)


@_at_budget(
    formula="|collected and target| / |collected or target|, over distinct non-blank lines",
    avoid="only one error, reading too much or missing target lines, matters: use line_precision or lines@B",
)
def line_iou(run: JudgedRun, budget: int) -> FloatArray:
    """Target lines in the first B characters retrieved, over the lines that are in either."""
    return _reading(run, budget).iou(budget)


@_at_budget(
    aliases=("lines_r_prec",),
    formula="lines@B with B = characters of the target",
    avoid="targets differ much in size and one budget is what will be paid: use lines@B",
    cutoff="none",
)
def line_rprec(run: JudgedRun, budget: None = None) -> FloatArray:  # noqa: ARG001 - takes no budget
    """Value of lines@B at a budget of the target's own characters: as much is read as the target has."""
    reading = _reading(run)
    return reading.recall(reading.gold_nws)


@_at_budget(
    aliases=("line_auc", "auc_line_recall", "lines_found"),
    formula="trapezoids from (0, 0) through B = 250, 500, 1000, 1500, 3000, 6000, 12000, over 12000",
    range="0..1; below 1, because nothing is read at B = 0",
    avoid="the budget is known: use lines@B; the area is mostly about the large budgets",
    cutoff="none",
)
def line_recall_auc(run: JudgedRun, budget: None = None) -> FloatArray:  # noqa: ARG001 - takes no budget
    """Area under lines@B as the budget grows to 12000 characters, as a share of the whole."""
    return area_under(_reading(run).recall, run.n_queries)


def _reading(run: JudgedRun, budget: int = 0) -> LineReading:
    limit = max(budget, BUDGETS[-1])

    def read() -> LineReading:
        assert run.context.line_nws is not None
        golds = map(run.gold, run.query_ids)
        return read_lines(map(run.read, run.query_ids), golds, run.context.line_nws, limit)

    return run.once(("lines", limit), read)
