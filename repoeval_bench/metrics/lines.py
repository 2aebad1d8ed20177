"""Measures of lines, and of definitions that are read whole, at a budget of non-whitespace characters.

They are comparable between chunkers, unlike those of chunks.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from math import inf
from typing import NamedTuple

import numpy as np

from repoeval_bench.core.places import Gold
from repoeval_bench.metrics.context import ChunkPlace, look_up
from repoeval_bench.metrics.definition import measure
from repoeval_bench.metrics.judged_run import FloatArray, IntArray, JudgedRun, share
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
    """Share of the target lines retrieved, averaged over all budgets from 0 to 12,000 characters."""
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
    """Share of the needed definitions whose lines are all in the first B characters retrieved."""
    return _ends(run, budget).within(budget)


@_of_definitions(
    aliases=("definition_auc", "definitions_found"),
    formula="trapezoids from (0, 0) through B = 250, 500, 1000, 1500, 3000, 6000, 12000, over 12000",
    range="0..1; below 1, because nothing is read at B = 0",
    avoid="the budget is known: use definitions@B",
    cutoff="none",
)
def definition_recall_auc(run: JudgedRun, budget: None = None) -> FloatArray:  # noqa: ARG001 - takes no budget
    """Share of the needed definitions retrieved, averaged over all budgets from 0 to 12,000 characters."""
    return area_under(_ends(run).within, run.n_queries)


class _Ends(NamedTuple):
    """The nws spent when each definition was read, float64, with its query; and how many a query needs."""

    spent: FloatArray
    query: IntArray
    needed: IntArray

    def within(self, budget: float) -> FloatArray:
        """Return the share of each query's definitions that are read within a budget, 0 without any."""
        return share(np.bincount(self.query[self.spent <= budget], minlength=len(self.needed)), self.needed)


def _ends(run: JudgedRun, budget: int = 0) -> _Ends:
    limit = max(budget, BUDGETS[-1])
    return run.once(("definitions", limit), lambda: _read(run, limit))


def _read(run: JudgedRun, limit: int) -> _Ends:
    context = run.context
    lines = Lines.of(context.line_nws or {})
    ends = [
        read_definitions(
            run.read(query_id), look_up("definitions", context.definitions, query_id, "query"), lines, limit
        )
        for query_id in run.query_ids
    ]
    needed = np.array(list(map(len, ends)), dtype=np.int64)
    spent = np.array(list(chain.from_iterable(ends)), dtype=np.float64)
    return _Ends(spent, np.repeat(np.arange(len(ends)), needed), needed)


def read_definitions(
    ranking: Iterable[ChunkPlace], definitions: Sequence[Gold], lines: Lines, limit: float
) -> list[float]:
    """Return the nws spent when the last gold line of each definition was read; infinite beyond `limit`.

    Chunks are read as for line measures: in order, line by line, up to the first line that does not fit. Definitions
    without a non-blank line are left out.
    """
    unread = [set(lines.all_of(gold)) for gold in definitions]
    unread = [numbers for numbers in unread if numbers]
    ends = [inf] * len(unread)
    needed_by: dict[int, list[int]] = defaultdict(list)
    for i, numbers in enumerate(unread):
        for number in numbers:
            needed_by[number].append(i)
    ascending = sorted(needed_by)
    spent = 0
    for location in ranking:
        chunk = lines.read(location)
        numbers_read = lines.numbers(location)
        first = bisect_left(ascending, numbers_read.start)
        if first < len(ascending) and ascending[first] < numbers_read.stop:  # few chunks hold a needed line
            needed = [index for index, number in enumerate(chunk.lines.tolist()) if number in needed_by]
            reached = (np.cumsum(chunk.nws) + spent).tolist() if needed else []
            for index in needed:
                number, cost = int(chunk.lines[index]), reached[index]
                if cost > limit:
                    break
                for i in needed_by.pop(number):
                    unread[i].discard(number)
                    if not unread[i]:
                        ends[i] = cost
        spent += chunk.cost
        if spent > limit or not needed_by:
            break
    return ends
