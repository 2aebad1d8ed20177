"""Reading of rankings line by line until a budget is spent: lines are the same documents for every chunker.

A budget and a cost are numbers of non-whitespace characters (`nws`).
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from math import inf
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.errors import MetricError
from repoeval_bench.core.spans import Gold, Place, join
from repoeval_bench.metrics.judged_run import ChunkPlace, FloatArray, IntArray, share

# The number of a header, which costs characters as a line does and is no line of the file.
_HEADER = -1

# Chunks whose cost is kept: more than one run usually reads, and few enough for the memory of a worker.
_MOST_CHUNKS = 1 << 15

# Queries whose lines are counted together: enough for fast arrays, few enough for a log of millions.
_AT_ONCE = 4096

BUDGETS = (250, 500, 1000, 1500, 3000, 6000, 12000)
"""Budgets in nws at which line measures are given; the area under line_recall runs through them."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LineReading:
    """The lines that are collected as rankings are read: one entry for each line read, query after query.

    Query i has the entries from `starts[i]` up to `starts[i + 1]`, int64 (n_queries + 1,). `rising` is the nws spent up
    to a line, plus i times `step`. `collected` counts the distinct non-blank lines up to there, `gold` those of them
    that are gold; both begin with a 0. `n_gold` and `gold_nws` (one entry per query) are the gold's own non-blank lines
    and their nws. A query's reading ended at its `limit`: no budget above it can be looked up.
    """

    starts: IntArray
    # One rising array for all queries, so that one search looks all of them up.
    rising: FloatArray
    step: float
    collected: NDArray[np.int32]
    gold: NDArray[np.int32]
    n_gold: IntArray
    gold_nws: IntArray
    limit: FloatArray

    def within(self, budget: float | IntArray) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return (distinct lines collected, gold lines among them) up to the first line that exceeds a query's budget.

        `budget` is one for all queries, or one for each.
        """
        budgets = np.broadcast_to(np.asarray(budget, dtype=np.float64), self.limit.shape)
        if (budgets > self.limit).any():
            i = int(np.argmax(budgets > self.limit))
            raise ValueError(f"the reading ended at {self.limit[i]:g} characters, before the budget {budgets[i]:g}")
        within = np.minimum(budgets, self.step - 1) + np.arange(len(budgets)) * self.step
        end = np.searchsorted(self.rising, within, side="right")
        last = np.where(end > self.starts[:-1], end, 0)
        return self.collected[last], self.gold[last]

    def recall(self, budget: float | IntArray) -> FloatArray:
        """Gold lines collected over gold lines; 0 where the gold has no non-blank line."""
        return share(self.within(budget)[1], self.n_gold)

    def precision(self, budget: float | IntArray) -> FloatArray:
        """Gold lines collected over lines collected; 0 where nothing was."""
        collected, gold = self.within(budget)
        return share(gold, collected)

    def iou(self, budget: float | IntArray) -> FloatArray:
        """Gold lines collected over the union of gold and collected lines; 0 where both are empty."""
        collected, gold = self.within(budget)
        return share(gold, collected + self.n_gold - gold)


def area_under(recall: Callable[[float], FloatArray], n_queries: int) -> FloatArray:
    """Area under a recall from (0, 0) through `BUDGETS`, trapezoids, over the last budget: float64 (n_queries,)."""
    points = [(0.0, np.zeros(n_queries)), *((float(budget), recall(budget)) for budget in BUDGETS)]
    area = sum((right - left) * (low + high) / 2 for (left, low), (right, high) in pairwise(points))
    return np.asarray(area / BUDGETS[-1], dtype=np.float64)


class _Chunk(NamedTuple):
    """A chunk's non-blank lines, a header first: their numbers, which no other file's lines have, and their nws."""

    lines: NDArray[np.integer]
    nws: NDArray[np.integer]
    cost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """A file's non-blank lines: number and nws of each, and for every line how many, and what nws, are before it.

    `first` is the number of its first line.
    """

    # All numbers have 4 bytes, because each task may have a copy of its file.
    first: int
    lines: NDArray[np.int32]
    nws: NDArray[np.int32]
    before: Sequence[int]
    nws_before: Sequence[int]


class Lines(Mapping[str, "Sequence[int]"]):
    """File -> nws of each line, with arrays that are built once and shared by all readings.

    `copies` are further files that can be looked up but are not listed: name -> the file it copies, and the lines that
    are blank in it.
    """

    def __init__(self, line_nws: Mapping[str, Sequence[int]], copies: Mapping[str, Place] | None = None) -> None:
        self._line_nws = line_nws
        self._copies = copies or {}
        self._files: dict[str, _File] = {}
        self._chunks: dict[ChunkPlace, _Chunk] = {}
        # Numbered here and not on first use: two threads would give the lines of two files the same numbers.
        sizes = {file: len(nws) for file, nws in line_nws.items()}
        sizes |= {name: sizes[copy.file] for name, copy in self._copies.items()}
        self._first = dict(zip(sizes, accumulate(sizes.values(), initial=0), strict=False))
        self.n_lines = sum(sizes.values())

    @classmethod
    def of(cls, line_nws: Mapping[str, Sequence[int]]) -> Self:
        """Return the lines as they are, or build them from a table."""
        return line_nws if isinstance(line_nws, cls) else cls(line_nws)

    def __getitem__(self, file: str) -> Sequence[int]:
        if (copy := self._copies.get(file)) is None:
            return self._line_nws[file]
        sizes = array("L", self._line_nws[copy.file])
        sizes[copy.lines.start : copy.lines.end] = array("L", bytes(sizes.itemsize * len(copy.lines)))
        return sizes

    def __iter__(self) -> Iterator[str]:
        return iter(self._line_nws)

    def __len__(self) -> int:
        return len(self._line_nws)

    def read(self, location: ChunkPlace) -> _Chunk:
        """Return the cost of reading a chunk; a MetricError where the file or a line of the span is not there."""
        chunk = self._chunks.get(location)
        if chunk is None:
            file = self._file(location)
            some = slice(file.before[location.lines.start], file.before[location.lines.end])
            lines, nws = file.lines[some], file.nws[some]
            if location.header_nws:
                lines, nws = np.append(_HEADER, lines), np.append(location.header_nws, nws)
            if len(self._chunks) == _MOST_CHUNKS:
                self._chunks.clear()
            chunk = self._chunks[location] = _Chunk(lines, nws, location.header_nws + self.nws(location))
        return chunk

    def nws(self, location: Place) -> int:
        """Return the nws of a place's lines; errors as in `read`."""
        before = self._file(location).nws_before
        return before[location.lines.end] - before[location.lines.start]

    def n_filled(self, location: Place) -> int:
        """Return how many of a place's lines are not blank; errors as in `read`."""
        before = self._file(location).before
        return before[location.lines.end] - before[location.lines.start]

    def numbers(self, location: Place) -> range:
        """Return the numbers of a place's lines, blank ones included; errors as in `read`."""
        first = self._file(location).first
        return range(first + location.lines.start, first + location.lines.end)

    def all_of(self, gold: Gold) -> frozenset[int]:
        """Return the numbers of a gold's non-blank lines; errors as in `read`."""
        places = ((self._file(location), location.lines) for location in gold if location.lines)
        numbers = (file.lines[file.before[lines.start] : file.before[lines.end]].tolist() for file, lines in places)
        return frozenset(chain.from_iterable(numbers))

    def _file(self, location: Place) -> _File:
        file = self._files.get(location.file)
        if file is None:
            table = self.get(location.file)
            if table is None:
                raise MetricError(
                    f"line_nws has no file {location.file!r}; give the lines of every file that has a chunk or gold"
                )
            nws, first = np.array(table, dtype=np.int32), self._first[location.file]
            filled = np.flatnonzero(nws)
            file = self._files[location.file] = _File(
                first=first,
                lines=(filled + first).astype(np.int32),
                nws=nws[filled],
                before=_sums(nws > 0),
                nws_before=_sums(nws),
            )
        if location.lines.end >= len(file.before):
            raise MetricError(
                f"{location.file}: lines [{location.lines.start}, {location.lines.end}) pass the file's "
                f"{len(file.before) - 1} lines; count lines with str.splitlines()"
            )
        return file


def read_lines(
    rankings: Iterable[Iterable[ChunkPlace]],
    golds: Iterable[Gold],
    line_nws: Mapping[str, Sequence[int]],
    limit: float = inf,
) -> LineReading:
    """Read each ranking's chunks in order, each line whole, until the first that would spend more than `limit` nws.

    Where the gold is larger, its own size is the limit. A header is charged before its chunk's lines; a line met again
    is charged again; blank lines use no budget and earn no score. A file without `line_nws`, or a span beyond its last
    line, is a MetricError.
    """
    table = Lines.of(line_nws)
    gold_places = [join(gold) for gold in golds]
    gold_nws = np.array([sum(map(table.nws, gold)) for gold in gold_places], dtype=np.int64)
    limits = np.maximum(limit, gold_nws)
    blocks: list[tuple[IntArray, ...]] = []
    chunks: list[_Chunk] = []
    ends: list[int] = []

    def count() -> None:
        last = len(blocks) * _AT_ONCE + len(ends)
        some = slice(last - len(ends), last)
        blocks.append(_count(chunks, ends, gold_places[some], limits[some], table))
        chunks.clear()
        ends.clear()

    for ranking, most in zip(rankings, limits.tolist(), strict=True):
        spent = 0
        for location in ranking:
            chunk = table.read(location)
            chunks.append(chunk)
            spent += chunk.cost
            if spent > most:
                break
        ends.append(len(chunks))
        if len(ends) == _AT_ONCE:
            count()
    count()
    lengths, charged, collected, n_found = (np.concatenate(columns) for columns in zip(*blocks, strict=True))
    step = float(charged.max(initial=0)) + 1
    return LineReading(
        starts=np.append(0, np.cumsum(lengths)),
        rising=charged + np.repeat(np.arange(len(lengths)), lengths) * step,
        step=step,
        collected=np.append(0, collected).astype(np.int32),
        gold=np.append(0, n_found).astype(np.int32),
        n_gold=np.array([sum(map(table.n_filled, gold)) for gold in gold_places], dtype=np.int64),
        gold_nws=gold_nws,
        limit=limits,
    )


def _count(
    chunks: Sequence[_Chunk], ends: Sequence[int], golds: Sequence[Gold], limits: FloatArray, table: Lines
) -> tuple[IntArray, ...]:
    """Return (entries of each query; of each entry: spent, collected, of_gold); a query's chunks end at `ends`."""
    empty = np.zeros(0, dtype=np.int64)
    line = np.concatenate([empty, *(chunk.lines for chunk in chunks)])
    nws = np.concatenate([empty, *(chunk.nws for chunk in chunks)])
    up_to = np.cumsum([0, *(len(chunk.lines) for chunk in chunks)])[[0, *ends]]
    query = np.repeat(np.arange(len(ends)), np.diff(up_to))
    spent = _running(nws, up_to)
    fits = spent <= limits[query]
    line, spent, query = line[fits], spent[fits], query[fits]
    lengths = np.bincount(query, minlength=len(ends))
    # A line is counted once a query. A header's number is before the query's first line, in no gold.
    width = table.n_lines + 1
    distinct, first = np.unique(query * width + line, return_index=True)
    new, of_gold = np.zeros((2, len(line)), dtype=np.int64)
    new[first] = 1
    new[line == _HEADER] = 0
    numbers = [(i * width, table.numbers(location)) for i, gold in enumerate(golds) for location in gold]
    of_gold[first] = _inside(distinct, [n + r.start for n, r in numbers], [n + r.stop for n, r in numbers])
    starts = np.append(0, np.cumsum(lengths))
    return lengths, spent, _running(new, starts), _running(of_gold, starts)


def _inside(ascending: IntArray, starts: Sequence[int], ends: Sequence[int]) -> IntArray:
    """Return 1 for each number in one of the half-open ranges, which do not overlap, else 0."""
    n = len(ascending)
    first, last = np.searchsorted(ascending, np.array([starts, ends], dtype=np.int64))
    edges = np.bincount(first, minlength=n + 1) - np.bincount(last, minlength=n + 1)
    return np.asarray(np.cumsum(edges[:n]), dtype=np.int64)


def _sums(counts: NDArray[np.integer | np.bool_]) -> Sequence[int]:
    """The sum of the counts before each, and of all: one more than counts."""
    return array("i", np.cumsum(np.append(0, counts), dtype=np.int32).tobytes())


def _running(counts: IntArray, starts: IntArray) -> IntArray:
    """Running sums that begin again at each start but the last, which is the end."""
    total = np.append(0, np.cumsum(counts))
    return np.asarray(total[1:] - np.repeat(total[starts[:-1]], np.diff(starts)), dtype=np.int64)
