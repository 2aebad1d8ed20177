"""Reading rankings line by line until a budget is spent: the same documents, lines, for every chunker.

Pure: places in, counts out. Who retrieved the chunks, and for what, is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from repoeval_bench.core.errors import MetricError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from repoeval_bench.metrics.context import Place

    IntArray = NDArray[np.int64]
    FloatArray = NDArray[np.float64]

_HEADER = -1
"""Stands for a header where lines stand by number: it costs and is no line."""

_AT_ONCE = 4096
"""Queries whose lines are counted together: many, so that arrays do the work; not all, for a log may have millions."""

BUDGETS = (250, 500, 1000, 1500, 3000, 6000, 12000)
"""Budgets in nws at which line measures are given; the area under line_recall runs through them."""


@dataclass(frozen=True, slots=True, eq=False)
class LineWalks:
    """What has been collected as rankings are read, an entry for each line that was charged, query after query.

    Query i has the entries from `starts[i]` up to `starts[i + 1]`, int64 (n_queries + 1,). `rising` is the nws charged
    up to a line, and i times `step` more, so that it rises throughout. `collected` are the distinct non-blank lines by
    then, `found` those of them that are gold; a 0 stands in front of both. `n_gold` and `gold_nws` (one entry per
    query) are the gold's own non-blank lines and their nws. Read no budget above a query's `limit`: there its walk
    ended.
    """

    starts: IntArray
    rising: FloatArray
    step: float
    collected: NDArray[np.int32]
    found: NDArray[np.int32]
    n_gold: IntArray
    gold_nws: IntArray
    limit: FloatArray

    def at(self, budget: float | IntArray) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(distinct lines collected, gold lines among them) when the first line does not fit a query's budget.

        `budget` is one for all queries, or one for each.
        """
        budgets = np.broadcast_to(np.asarray(budget, dtype=np.float64), self.limit.shape)
        if (budgets > self.limit).any():
            i = int(np.argmax(budgets > self.limit))
            raise ValueError(f"the walk ended at {self.limit[i]:g} nws, before the budget {budgets[i]:g}")
        within = np.minimum(budgets, self.step - 1) + np.arange(len(budgets)) * self.step
        end = np.searchsorted(self.rising, within, side="right")
        last = np.where(end > self.starts[:-1], end, 0)
        return self.collected[last], self.found[last]

    def recall(self, budget: float | IntArray) -> FloatArray:
        """Gold lines collected over gold lines; 0 where the gold has no non-blank line."""
        return _ratio(self.at(budget)[1], self.n_gold)

    def precision(self, budget: float | IntArray) -> FloatArray:
        """Gold lines collected over lines collected; 0 where nothing was."""
        collected, found = self.at(budget)
        return _ratio(found, collected)

    def iou(self, budget: float | IntArray) -> FloatArray:
        """Gold lines collected over the union of gold and collected lines; 0 where both are empty."""
        collected, found = self.at(budget)
        return _ratio(found, collected + self.n_gold - found)

    def recall_at_gold(self) -> FloatArray:
        """Recall at a budget of the gold's own nws."""
        return self.recall(self.gold_nws)

    def recall_area(self) -> FloatArray:
        """Area under recall from (0, 0) through `BUDGETS`, trapezoids, over the last budget: 0..1."""
        points = [(0.0, np.zeros(len(self.limit))), *((float(budget), self.recall(budget)) for budget in BUDGETS)]
        area = sum((right - left) * (low + high) / 2 for (left, low), (right, high) in pairwise(points))
        return np.asarray(area / BUDGETS[-1], dtype=np.float64)


def _ratio(part: NDArray[np.integer], whole: NDArray[np.integer]) -> FloatArray:
    ratio: FloatArray = np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
    return ratio


class _Read(NamedTuple):
    """A place's non-blank lines, a header in front: their numbers, which no other file's lines have, and their nws."""

    lines: IntArray
    nws: IntArray
    cost: int


class _File(NamedTuple):
    """A file's non-blank lines: number and nws of each, and for every line how many, and what nws, are before it."""

    lines: IntArray
    nws: IntArray
    before: list[int]
    nws_before: list[int]


class Lines(Mapping[str, "Sequence[int]"]):
    """File -> nws of each line, looked up in arrays that are made once for however many walks read them."""

    def __init__(self, line_nws: Mapping[str, Sequence[int]]) -> None:
        self._line_nws = line_nws
        self._files: dict[str, _File] = {}
        self._read: dict[Place, _Read] = {}
        self.n_lines = 0

    @classmethod
    def of(cls, line_nws: Mapping[str, Sequence[int]]) -> Self:
        """The lines as they are, or made of a table."""
        return line_nws if isinstance(line_nws, cls) else cls(line_nws)

    def __getitem__(self, file: str) -> Sequence[int]:
        return self._line_nws[file]

    def __iter__(self) -> Iterator[str]:
        return iter(self._line_nws)

    def __len__(self) -> int:
        return len(self._line_nws)

    def read(self, place: Place) -> _Read:
        """The lines of a place; a MetricError where the file is not there, or the span passes its last line."""
        read = self._read.get(place)
        if read is None:
            file = self._file(place)
            some = slice(file.before[place.lines.start], file.before[place.lines.end])
            lines, nws = file.lines[some], file.nws[some]
            if place.header_nws:
                lines, nws = np.append(_HEADER, lines), np.append(place.header_nws, nws)
            read = self._read[place] = _Read(lines, nws, self.cost(place))
        return read

    def cost(self, place: Place) -> int:
        """The nws of a place's header and lines; errors as `read` has them."""
        before = self._file(place).nws_before
        return place.header_nws + before[place.lines.end] - before[place.lines.start]

    def shared(self, place: Place, gold: Place) -> frozenset[int]:
        """The numbers of the non-blank lines that both hold; errors as `read` has them."""
        if place.file != gold.file:
            return frozenset()
        file = self._file(place)
        first, last = max(place.lines.start, gold.lines.start), min(place.lines.end, gold.lines.end)
        return frozenset(file.lines[file.before[first] : file.before[last]].tolist() if first < last else ())

    def _file(self, place: Place) -> _File:
        file = self._files.get(place.file)
        if file is None:
            table = self._line_nws.get(place.file)
            if table is None:
                raise MetricError(
                    f"line_nws has no file {place.file!r}; give the lines of every file that has a chunk or gold"
                )
            nws = np.asarray(table, dtype=np.int64)
            filled = np.flatnonzero(nws)
            before, nws_before = (np.append(0, np.cumsum(each)).tolist() for each in (nws > 0, nws))
            file = self._files[place.file] = _File(filled + self.n_lines, nws[filled], before, nws_before)
            self.n_lines += len(nws)
        if place.lines.end >= len(file.before):
            raise MetricError(
                f"{place.file}: lines [{place.lines.start}, {place.lines.end}) pass the file's "
                f"{len(file.before) - 1} lines; count lines with str.splitlines()"
            )
        return file


def walk_lines(
    rankings: Iterable[Iterable[Place]],
    golds: Iterable[Place],
    line_nws: Mapping[str, Sequence[int]],
    limit: float = inf,
) -> LineWalks:
    """Read each ranking's chunks in order, each line whole, until the first that would spend more than `limit` nws.

    A gold that is larger is read up to its own size. A header is charged before its chunk's lines; a line met again is
    charged again; blank lines neither cost nor count. A file without `line_nws`, or a span beyond its last line, is a
    MetricError.
    """
    table = Lines.of(line_nws)
    wanted = [table.read(gold) for gold in golds]
    gold_nws = np.array([gold.cost for gold in wanted], dtype=np.int64)
    limits = np.maximum(limit, gold_nws)
    blocks: list[tuple[IntArray, ...]] = []
    reads: list[_Read] = []
    ends: list[int] = []

    def count() -> None:
        last = len(blocks) * _AT_ONCE + len(ends)
        some = slice(last - len(ends), last)
        blocks.append(_count(reads, ends, wanted[some], limits[some], table.n_lines))
        reads.clear()
        ends.clear()

    for ranking, most in zip(rankings, limits.tolist(), strict=True):
        spent = 0
        for place in ranking:
            read = table.read(place)
            reads.append(read)
            spent += read.cost
            if spent > most:
                break
        ends.append(len(reads))
        if len(ends) == _AT_ONCE:
            count()
    count()
    lengths, charged, collected, found = (np.concatenate(each) for each in zip(*blocks, strict=True))
    step = float(charged.max(initial=0)) + 1
    return LineWalks(
        np.append(0, np.cumsum(lengths)),
        charged + np.repeat(np.arange(len(lengths)), lengths) * step,
        step,
        np.append(0, collected).astype(np.int32),
        np.append(0, found).astype(np.int32),
        np.array([len(gold.lines) for gold in wanted], dtype=np.int64),
        gold_nws,
        limits,
    )


def _count(
    reads: Sequence[_Read], ends: Sequence[int], wanted: Sequence[_Read], limits: FloatArray, n_lines: int
) -> tuple[IntArray, ...]:
    """(entries of each query; for each entry: spent, collected, found) of queries, whose reads end at `ends`."""
    empty = np.zeros(0, dtype=np.int64)
    line = np.concatenate([empty, *(read.lines for read in reads)])
    nws = np.concatenate([empty, *(read.nws for read in reads)])
    up_to = np.cumsum([0, *(len(read.lines) for read in reads)])[[0, *ends]]
    query = np.repeat(np.arange(len(ends)), np.diff(up_to))
    spent = _running(nws, up_to)
    fits = spent <= limits[query]
    line, spent, query = line[fits], spent[fits], query[fits]
    lengths = np.bincount(query, minlength=len(ends))
    new = np.zeros(len(line), dtype=np.int64)
    new[np.unique(query * (n_lines + 1) + line, return_index=True)[1]] = 1
    new[line == _HEADER] = 0
    # Lines of a file are numbered in their order, so the gold's are those between its first and its last.
    low, high = (np.array([g.lines[i] if len(g.lines) else _HEADER for g in wanted], dtype=np.int64) for i in (0, -1))
    found = new * ((line >= low[query]) & (line <= high[query]))
    starts = np.append(0, np.cumsum(lengths))
    return lengths, spent, _running(new, starts), _running(found, starts)


def _running(counts: IntArray, starts: IntArray) -> IntArray:
    """Running sums that begin anew at each start but the last, which is the end."""
    total = np.append(0, np.cumsum(counts))
    return np.asarray(total[1:] - np.repeat(total[starts[:-1]], np.diff(starts)), dtype=np.int64)


def greedy(chunks: Mapping[str, Place], gold: Place, lines: Lines) -> list[str]:
    """The chunk ids in the order of most new gold lines per nws, as long as there are any: what a ceiling reads.

    `chunks` is chunk_id -> Place. A chunk costs its header and all its non-blank lines. Of equals the earlier in the
    file comes first.
    """
    wanted = lines.shared(gold, gold)
    held = {chunk_id: lines.shared(place, gold) for chunk_id, place in chunks.items()}
    # Python's max takes the first of equals.
    near = sorted((chunks[chunk_id].lines, chunk_id) for chunk_id, shared in held.items() if shared)
    left = {chunk_id: (held[chunk_id], lines.cost(chunks[chunk_id])) for _, chunk_id in near}
    order: list[str] = []
    while wanted and left:
        best = max(left, key=lambda chunk_id: len(left[chunk_id][0] & wanted) / left[chunk_id][1])
        new = left.pop(best)[0] & wanted
        if not new:
            break
        order.append(best)
        wanted -= new
    return order
