"""Reading a ranking line by line until a budget is spent: the same documents, lines, for every chunker.

Pure: places in, counts out. Who retrieved the chunks, and for what, is not known here.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.errors import MetricError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from repoeval_bench.metrics.context import Place

    IntArray = NDArray[np.int64]

_HEADER = np.array([-1], dtype=np.int64)
"""Stands for a header where lines stand by number: it costs and is no line."""

BUDGETS = (250, 500, 1000, 1500, 3000, 6000, 12000)
"""Budgets in nws at which line measures are given; the area under line_recall runs through them."""


@dataclass(frozen=True, slots=True)
class LineWalk:
    """What has been collected as a ranking is read, one position per line that was charged.

    `spent[i]` is the nws charged up to line i, `collected[i]` the distinct non-blank lines by then, `found[i]` those
    of them that are gold. `n_gold` and `gold_nws` are the gold's own non-blank lines and their nws. Read no budget
    above `limit`: there the walk ended.
    """

    spent: tuple[int, ...]
    collected: tuple[int, ...]
    found: tuple[int, ...]
    n_gold: int
    gold_nws: int
    limit: float

    def at(self, budget: float) -> tuple[int, int]:
        """(distinct lines collected, gold lines among them) when the first line does not fit the budget."""
        if budget > self.limit:
            raise ValueError(f"the walk ended at {self.limit} nws, before the budget {budget}")
        end = bisect_right(self.spent, budget)
        return (self.collected[end - 1], self.found[end - 1]) if end else (0, 0)

    def recall(self, budget: float) -> float:
        """Gold lines collected over gold lines; 0 where the gold has no non-blank line."""
        return self.at(budget)[1] / self.n_gold if self.n_gold else 0.0

    def precision(self, budget: float) -> float:
        """Gold lines collected over lines collected; 0 where nothing was."""
        collected, found = self.at(budget)
        return found / collected if collected else 0.0

    def iou(self, budget: float) -> float:
        """Gold lines collected over the union of gold and collected lines; 0 where both are empty."""
        collected, found = self.at(budget)
        union = collected + self.n_gold - found
        return found / union if union else 0.0

    def recall_at_gold(self) -> float:
        """Recall at a budget of the gold's own nws."""
        return self.recall(self.gold_nws)

    def recall_area(self) -> float:
        """Area under recall from (0, 0) through `BUDGETS`, trapezoids, over the last budget: 0..1."""
        points = [(0.0, 0.0), *((float(budget), self.recall(budget)) for budget in BUDGETS)]
        area = sum((right - left) * (low + high) / 2 for (left, low), (right, high) in pairwise(points))
        return area / BUDGETS[-1]


class LineTable:
    """The lines of every file as arrays, made once for many walks; `line_nws` is file -> nws of each line."""

    def __init__(self, line_nws: Mapping[str, Sequence[int]]) -> None:
        self._line_nws = line_nws
        self._files: dict[str, tuple[int, IntArray]] = {}
        self._lines = 0
        self._read: dict[Place, tuple[IntArray, IntArray]] = {}

    def read(self, place: Place) -> tuple[IntArray, IntArray]:
        """(numbers, nws) of the place's non-blank lines, int64; a line has one number, whatever chunk it is in.

        A file that is not there, or a span beyond its last line, is a MetricError.
        """
        if place not in self._read:
            if place.file not in self._files:
                nws = np.asarray(_table_of(place.file, self._line_nws), dtype=np.int64)
                self._files[place.file] = self._lines, nws
                self._lines += len(nws)
            first, nws = self._files[place.file]
            _check_span(place, len(nws))
            part = nws[place.lines.start : place.lines.end]
            filled = np.flatnonzero(part)
            self._read[place] = filled + (first + place.lines.start), part[filled]
        return self._read[place]


def walk_lines(
    ranking: Iterable[Place], gold: Place, line_nws: Mapping[str, Sequence[int]] | LineTable, limit: float = inf
) -> LineWalk:
    """Read the chunks in order, each line whole, until the first that would spend more than `limit` nws.

    A header is charged before its chunk's lines; a line met again is charged again; blank lines neither cost nor
    count. A file without `line_nws`, or a span beyond its last line, is a MetricError.
    """
    table = line_nws if isinstance(line_nws, LineTable) else LineTable(line_nws)
    gold_lines, gold_sizes = table.read(gold)
    gold_nws = int(gold_sizes.sum())
    limit = max(limit, gold_nws)
    numbers: list[IntArray] = []
    sizes: list[IntArray] = []
    cost = 0
    for place in ranking:
        if place.header_nws:
            numbers.append(_HEADER)
            sizes.append(np.array([place.header_nws], dtype=np.int64))
        lines, nws = table.read(place)
        numbers.append(lines)
        sizes.append(nws)
        cost += place.header_nws + int(nws.sum())
        if cost > limit:
            break
    if not numbers:
        return LineWalk((), (), (), len(gold_lines), gold_nws, limit)
    spent = np.cumsum(np.concatenate(sizes))
    end = int(np.searchsorted(spent, limit, side="right"))
    line = np.concatenate(numbers)[:end]
    first_met = np.zeros(end, dtype=np.bool_)
    first_met[np.unique(line, return_index=True)[1]] = True
    new = first_met & (line != _HEADER)
    # Lines of a file are numbered in their order, so the gold's are those between its first and its last.
    found = new & (line >= gold_lines[0]) & (line <= gold_lines[-1]) if len(gold_lines) else np.zeros_like(new)
    return LineWalk(
        tuple(spent[:end].tolist()),
        tuple(np.cumsum(new).tolist()),
        tuple(np.cumsum(found).tolist()),
        len(gold_lines),
        gold_nws,
        limit,
    )


def greedy(chunks: Mapping[str, Place], gold: Place, line_nws: Mapping[str, Sequence[int]]) -> list[str]:
    """The chunk ids in the order of most new gold lines per nws, as long as there are any: what a ceiling reads.

    `chunks` is chunk_id -> Place. A chunk costs its header and all its non-blank lines. Of equals the earlier in the
    file comes first.
    """
    wanted = {line for line, nws in _lines(gold, line_nws) if nws}
    left: dict[str, tuple[set[int], int]] = {}
    for chunk_id, place in sorted(chunks.items(), key=lambda item: (item[1].lines, item[0])):
        held = [(line, nws) for line, nws in _lines(place, line_nws) if nws] if place.lines.overlaps(gold.lines) else ()
        if place.file == gold.file and held:
            left[chunk_id] = {line for line, _ in held}, place.header_nws + sum(nws for _, nws in held)
    order: list[str] = []
    while wanted and left:
        best = max(left, key=lambda chunk_id: len(left[chunk_id][0] & wanted) / left[chunk_id][1])
        new = left.pop(best)[0] & wanted
        if not new:
            break
        order.append(best)
        wanted -= new
    return order


def _lines(place: Place, line_nws: Mapping[str, Sequence[int]]) -> Iterable[tuple[int, int]]:
    table = _table_of(place.file, line_nws)
    _check_span(place, len(table))
    return zip(place.lines, table[place.lines.start : place.lines.end], strict=True)


def _table_of(file: str, line_nws: Mapping[str, Sequence[int]]) -> Sequence[int]:
    table = line_nws.get(file)
    if table is None:
        raise MetricError(f"line_nws has no file {file!r}; give the lines of every file that has a chunk or gold")
    return table


def _check_span(place: Place, n_lines: int) -> None:
    if place.lines.end > n_lines:
        raise MetricError(
            f"{place.file}: lines [{place.lines.start}, {place.lines.end}) pass the file's {n_lines} lines; "
            "count lines with str.splitlines()"
        )
