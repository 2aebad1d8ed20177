"""Measures of lines, and of definitions that are read whole, at a budget of non-whitespace characters.

They are comparable between chunkers, unlike those of chunks.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from math import inf

import numpy as np

from repoeval_bench.core.spans import Gold
from repoeval_bench.metrics.definition import measure
from repoeval_bench.metrics.judged_run import ChunkPlace, FloatArray, JudgedRun, look_up, share
from repoeval_bench.metrics.reading import BUDGETS, LineReading, Lines, area_under, read_lines

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
    """Share of the target's non-blank lines that are in the first B non-whitespace characters retrieved."""
    return _reading(run, budget).recall(budget)


@_at_budget(
    formula="|collected and target| / |collected|, over distinct non-blank lines",
    avoid="B is above the target's characters: precision then falls with B; read it beside lines@B",
)
def line_precision(run: JudgedRun, budget: int) -> FloatArray:
    """Share of target lines among the lines in the first B non-whitespace characters retrieved."""
    return _reading(run, budget).precision(budget)


@_at_budget(
    formula="|collected and target| / |collected or target|, over distinct non-blank lines",
    avoid="only one error, reading too much or missing target lines, matters: use line_precision or lines@B",
)
def line_iou(run: JudgedRun, budget: int) -> FloatArray:
    """Target lines in the first B non-whitespace characters, over the lines that are targets, retrieved, or both."""
    return _reading(run, budget).iou(budget)


@_at_budget(
    aliases=("lines_r_prec",),
    formula="lines@B with B = characters of the target",
    avoid="targets differ much in size and one budget is what will be paid: use lines@B",
    cutoff="none",
)
def line_rprec(run: JudgedRun, budget: None = None) -> FloatArray:  # noqa: ARG001 - takes no budget
    """R-precision for text: lines@B, with B the number of non-whitespace characters in the target."""
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
    """Share of the target lines retrieved, averaged over budgets from 0 to 12,000 non-whitespace characters."""
    return area_under(_reading(run).recall, run.n_queries)


def _reading(run: JudgedRun, budget: int = 0) -> LineReading:
    limit = max(budget, BUDGETS[-1])

    def read() -> LineReading:
        assert run.context.line_nws is not None
        golds = map(run.gold, run.query_ids)
        return read_lines(map(run.read, run.query_ids), golds, run.context.line_nws, limit)

    return run.once(("lines", limit), read)


_of_definitions = partial(
    _at_budget,
    source="this project's protocol `uses`",
    needs=frozenset({"ranking", "places", "definitions", "line_nws"}),
    ceiling="definitions",
)


@_of_definitions(
    aliases=("definitions",),
    formula="|definitions read whole| / |definitions|; lines that the prompt shows use no budget and earn no score",
    range="0..1; its ceiling depends on the chunker and B",
    avoid="a part of a definition helps too: use lines@B",
)
def definition_recall(run: JudgedRun, budget: int) -> FloatArray:
    """Share of the target definitions whose lines are all in the first B non-whitespace characters retrieved."""
    return _read_whole(run, budget)


@_of_definitions(
    aliases=("definition_auc", "definitions_found"),
    formula="trapezoids from (0, 0) through B = 250, 500, 1000, 1500, 3000, 6000, 12000, over 12000",
    range="0..1; below 1, because nothing is read at B = 0",
    avoid="the budget is known: use definitions@B",
    cutoff="none",
)
def definition_recall_auc(run: JudgedRun, budget: None = None) -> FloatArray:  # noqa: ARG001 - takes no budget
    """Share of the target definitions retrieved, averaged over budgets from 0 to 12,000 non-whitespace characters."""
    return area_under(partial(_read_whole, run), run.n_queries)


def _read_whole(run: JudgedRun, budget: float) -> FloatArray:
    """Return the share of each query's definitions that are read within a budget, 0 without any: (n_queries,)."""
    context, limit = run.context, max(budget, BUDGETS[-1])
    lines = Lines.of(context.line_nws or {})

    def read(query_id: str) -> list[float]:
        needed = look_up("definitions", context.definitions, query_id, "query")
        return read_definitions(run.read(query_id), needed, lines, limit)

    ends = run.once(("definitions", limit), lambda: [read(query_id) for query_id in run.query_ids])
    whole = np.array([sum(end <= budget for end in of_query) for of_query in ends])
    return share(whole, np.array([len(of_query) for of_query in ends]))


def read_definitions(
    ranking: Iterable[ChunkPlace], definitions: Sequence[Gold], lines: Lines, limit: float
) -> list[float]:
    """Return the nws spent when the last gold line of each definition was read; infinite beyond `limit`.

    Chunks are read as for line measures: in order, line by line, up to the first line that does not fit. Definitions
    without a non-blank line are left out.
    """
    needed = [numbers for gold in definitions if (numbers := lines.all_of(gold))]
    sought: frozenset[int] = frozenset().union(*needed)
    reached: dict[int, int] = {}
    spent = 0
    for location in ranking:
        chunk = lines.read(location)
        if sought.intersection(lines.numbers(location)):  # few chunks hold a needed line
            costs = (np.cumsum(chunk.nws) + spent).tolist()
            for number, cost in zip(chunk.lines.tolist(), costs, strict=True):
                if number in sought and cost <= limit:
                    reached.setdefault(number, cost)
        spent += chunk.cost
        if spent > limit or len(reached) == len(sought):
            break
    return [max(reached.get(number, inf) for number in numbers) for numbers in needed]
