"""Reading a ranking line by line until a budget is spent: the same documents, lines, for every chunker.

Pure: places in, counts out. Who retrieved the chunks, and for what, is not known here.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

from repoeval_bench.errors import MetricError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from repoeval_bench.metrics.context import Place

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


def walk_lines(
    ranking: Iterable[Place], gold: Place, line_nws: Mapping[str, Sequence[int]], limit: float = inf
) -> LineWalk:
    """Read the chunks in order, each line whole, until the first that would spend more than `limit` nws.

    A header is charged before its chunk's lines; a line met again is charged again; blank lines neither cost nor
    count. A file without `line_nws`, or a span beyond its last line, is a MetricError.
    """
    gold_lines = {line: nws for line, nws in _lines(gold, line_nws) if nws}
    gold_nws = sum(gold_lines.values())
    limit = max(limit, gold_nws)
    met: set[tuple[str, int]] = set()
    spent: list[int] = []
    collected: list[int] = []
    found: list[int] = []
    cost = hits = 0

    def charge(nws: int) -> bool:
        nonlocal cost
        cost += nws
        if cost <= limit:
            spent.append(cost)
            collected.append(len(met))
            found.append(hits)
        return cost <= limit

    for place in ranking:
        if place.header_nws and not charge(place.header_nws):
            break
        for line, nws in _lines(place, line_nws):
            if not nws:
                continue
            if cost + nws <= limit and (place.file, line) not in met:
                met.add((place.file, line))
                hits += place.file == gold.file and line in gold_lines
            if not charge(nws):
                break
        if cost > limit:
            break
    return LineWalk(tuple(spent), tuple(collected), tuple(found), len(gold_lines), gold_nws, limit)


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
    table = line_nws.get(place.file)
    if table is None:
        raise MetricError(f"line_nws has no file {place.file!r}; give the lines of every file that has a chunk or gold")
    if place.lines.end > len(table):
        raise MetricError(
            f"{place.file}: lines [{place.lines.start}, {place.lines.end}) pass the file's {len(table)} lines; "
            "count lines with str.splitlines()"
        )
    return zip(place.lines, table[place.lines.start : place.lines.end], strict=True)
