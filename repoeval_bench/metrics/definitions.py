"""Measures of the needed definitions that are read whole within a budget of non-whitespace characters."""

from __future__ import annotations

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
from repoeval_bench.metrics.reading import BUDGETS, Lines, area_under

_at_budget = partial(
    measure,
    source="this project's protocol `uses`",
    cutoff="must",
    unit="nws",
    needs=frozenset({"ranking", "places", "definitions", "line_nws"}),
    ceiling="definitions",
)


@_at_budget(
    name="definition_recall",
    aliases=("definitions",),
    meaning="Share of the needed definitions whose lines are all in the first B characters retrieved.",
    formula="|definitions read whole| / |definitions|; lines that the prompt shows use no budget and earn no score",
    range="0..1; its ceiling depends on the chunker and B",
    avoid="a part of a definition helps too: use lines@B",
)
def definition_recall(run: JudgedRun, budget: int) -> FloatArray:
    """Share of the definitions whose gold lines were all read within the budget: float64 (n_queries,)."""
    return _ends(run, budget).within(budget)


@_at_budget(
    name="definition_recall_auc",
    aliases=("definition_auc", "definitions_found"),
    meaning="Share of the needed definitions retrieved, averaged over all budgets from 0 to 12,000 characters.",
    formula="trapezoids from (0, 0) through B = 250, 500, 1000, 1500, 3000, 6000, 12000, over 12000",
    range="0..1; below 1, because nothing is read at B = 0",
    avoid="the budget is known: use definitions@B",
    cutoff="none",
)
def definition_recall_auc(run: JudgedRun, budget: None = None) -> FloatArray:  # noqa: ARG001 - takes no budget
    """Area under definition_recall from budget 0 to the last of `BUDGETS`, divided by it: float64 (n_queries,)."""
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
