"""Tests and intervals from one set of sign flips over clusters, so that they never contradict each other.

Under "no difference" a cluster's difference is as likely positive as negative. A flip changes the sign of some
clusters. For the hypothesis that the mean is m, a cluster's part p of the mean becomes p - m w, with w its weight. A
flip is then as extreme as the observation for all m in an interval. Its two ends are the mean of the clusters that were
flipped and the mean of the others. So p of "the mean is m" is the share of flips whose interval holds m. The 95 %
confidence interval is every m with p of at least 0.05 (Hartigan 1969 calls such ends typical values).

More than `MOST_FLIPPED` clusters are dealt in turn into that many bundles, and a bundle is flipped as one cluster. A
sum of symmetric differences is symmetric, so the test stays exact. That many bundles decide what all clusters would.

Flips know only the clusters that were seen. If nearly all have one value and a few do not, the share of such clusters
is uncertain. Then the ends are moved out to the limits of this share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from math import ceil, floor, log2
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.analysis.special import special
from repoeval_bench.core.cores import usable_cores
from repoeval_bench.runs.query_scores import SAME

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Packed = NDArray[np.uint8]
"""Flipped clusters, one bit each, (n_flips, n_bytes)."""

_T = TypeVar("_T")
_R = TypeVar("_R")

ALPHA = 0.05

FIRST_FLIPS = 20_000
"""Flips that every column gets."""

MOST_FLIPS = 1_000_000
"""Flips after which a column that is zero undecided is reported as it is."""

EXACT_CLUSTERS = 14
"""The most clusters for which all 2^n flips are computed, and nothing is drawn."""

MOST_FLIPPED = 10_000
"""Most clusters, or bundles of them, whose signs are flipped."""

FEWEST_CLUSTERS = 6
"""With fewer clusters no p is below 0.05, so no interval is bounded."""

FEW_CLUSTERS = 20
"""With fewer clusters an interval gets a warning: single ones decide it, and it holds the truth too seldom."""

_FEW_OTHERS = 10
"""With fewer clusters off the most common value than this, `beyond_seen` moves the ends."""

CERTAIN = 4.0
"""A verdict is decided once p is this many Monte-Carlo standard errors from the limit."""

_MOST_CELLS = 65_536
"""Flips x columns that are worked on at once: arrays that stay in the processor's cache are faster."""

_MOST_BYTES = 128_000_000
"""Bytes of packed flips in a block; the table of sums is computed once for each block."""

_TABLE_CELLS = 500_000
"""Sums that are computed and looked up at once; more would leave the processor's cache."""

_SLACK = 1e-12
"""Relative rounding error of a sum: a sum in another order counts as equally extreme, and so does one within `SAME`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Flipped:
    """The result of sign flips for each column's mean.

    `p` is two-sided, of "the mean is 0". `error` is its Monte-Carlo standard error, 0 if all flips were computed. `low`
    and `high` are the ends of the 95 % interval, -inf and inf where the clusters are too few to bound it. `n_flips` is
    how many flips the column got. All are (n_columns,).
    """

    p: FloatArray
    error: FloatArray
    low: FloatArray
    high: FloatArray
    n_flips: NDArray[np.int64]


def flip_signs(
    parts: FloatArray,
    weights: FloatArray,
    rng: np.random.Generator,
    *,
    pairs: NDArray[np.int64] | None = None,
    undecided: Callable[[FloatArray, FloatArray], BoolArray] | None = None,
    first: int = FIRST_FLIPS,
    most: int = MOST_FLIPS,
) -> Flipped:
    """Flip the signs of clusters until every column is decided.

    `parts` is float64 (n_clusters, n_columns), what each cluster adds to the mean; `weights` (n_clusters,) are the
    clusters' weights, which sum to 1. `undecided(p, error)` says which columns need more flips, (n_columns,) bools; by
    default those whose p is within `CERTAIN` errors of 0.05. Every column gets the `first` flips, and an undecided one
    up to `most`. Columns share their flips, so the other columns change a column's numbers only by how many flips it
    gets. `pairs` are positions of columns, int64 (n_pairs, 2): the second column minus the first of each pair is
    flipped instead. A column's sums are added up once for all its pairs.
    """
    sample = _Sample(parts, weights, pairs)
    exact = len(parts) <= EXACT_CLUSTERS
    lows, highs = sample.ends(_all_flips(len(parts)) if exact else _drawn_flips(rng, first, sample.n_flipped))
    p, error = _p_of(lows, highs)
    undecided = undecided or near_alpha
    n_drawn = most if exact else first
    while n_drawn < most and (open_ := np.flatnonzero(undecided(p, error))).size:
        more = min(n_drawn, most - n_drawn)
        ends = sample.columns(open_).ends(_drawn_flips(rng, more, sample.n_flipped))
        for column, more_lows, more_highs in zip(open_.tolist(), *ends, strict=True):
            # A column that was decided for a while may be open again: it missed some flips, and gets these.
            lows[column] = np.concatenate([lows[column], more_lows])
            highs[column] = np.concatenate([highs[column], more_highs])
        p[open_], error[open_] = _p_of([lows[column] for column in open_], [highs[column] for column in open_])
        n_drawn += more
    low, high = sample.intervals(lows, highs)
    n_flips = np.array([len(ends) for ends in lows], dtype=np.int64)
    return Flipped(p=p, error=np.zeros(len(p)) if exact else error, low=low, high=high, n_flips=n_flips)


def _p_of(lows: Sequence[FloatArray], highs: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return p of each column and its Monte-Carlo standard error from the ends of its flips, both (n_columns,)."""
    n = np.array([len(ends) for ends in lows])
    hits = [np.count_nonzero((low <= 0) & (high >= 0)) for low, high in zip(lows, highs, strict=True)]
    p = np.array(hits) / n
    return p, _error_of(p, n)


def _error_of(p: FloatArray, n_flips: NDArray[np.int64]) -> FloatArray:
    """Return the Monte-Carlo standard error of shares of flips, (n_columns,); that of 0 and 1 is not 0."""
    error: FloatArray = np.sqrt(np.maximum(p * (1 - p), 1 / n_flips) / n_flips)
    return error


def fewest_clusters(tests: int = 1) -> int:
    """Return the fewest clusters with which a test can pass Holm: the smallest p of n clusters is 2 / 2^n."""
    return floor(log2(max(1, tests) / ALPHA)) + 2


def near_alpha(p: FloatArray, error: FloatArray) -> BoolArray:
    """Return which p are too near to 0.05 to be on a sure side of it, (n_columns,)."""
    return np.abs(p - ALPHA) < CERTAIN * error


def near_holm(p: FloatArray, error: FloatArray, families: Sequence[Sequence[int]]) -> BoolArray:
    """Return which p are too near to their limit by Holm to be on a sure side of it, (n_columns,)."""
    near = np.zeros(len(p), dtype=np.bool_)
    for family in families:
        order = sorted(family, key=lambda i: p[i])
        for step, i in enumerate(order):
            near[i] = abs(p[i] - ALPHA / (len(order) - step)) < CERTAIN * error[i]
    return near


def flip_pairs(
    parts: FloatArray,
    weights: FloatArray,
    pairs: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    undecided: Callable[[FloatArray, FloatArray], BoolArray] = near_alpha,
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return p of the difference of each pair of columns, and how many flips it got, both (n_pairs,).

    The p are those of `flip_signs` on the differences, without intervals. Sums are added up once for each column of
    `parts`, float64 (n_clusters, n_columns), and none is stored. `pairs` are positions, int64 (n_pairs, 2).
    """
    exact = len(parts) <= EXACT_CLUSTERS
    differences = np.array([_difference_and_slack(parts, a, b) for a, b in pairs])
    least = np.abs(differences[:, 0]) - differences[:, 1]
    hits, n_flips = np.zeros(len(pairs)), np.zeros(len(pairs), dtype=np.int64)
    open_, n_drawn, first = np.arange(len(pairs)), 0, FIRST_FLIPS
    while open_.size and (n_drawn == 0 or (n_drawn < MOST_FLIPS and not exact)):
        more = min(n_drawn or first, MOST_FLIPS - n_drawn)
        columns, positions = np.unique(pairs[open_], return_inverse=True)
        sample, (a, b) = _Sample(parts[:, columns], weights), positions.reshape(-1, 2).T
        for packed in _all_flips(len(parts)) if exact else _drawn_flips(rng, more, sample.n_flipped):
            for sums in sample.flipped(packed):
                moved = np.abs(sums[:, b] - sums[:, a])
                hits[open_] += np.count_nonzero(moved >= least[open_], axis=0)
        n_drawn += more
        n_flips[open_] += 2 ** len(parts) if exact else more
        p = hits / n_flips
        open_ = np.flatnonzero(undecided(p, _error_of(p, n_flips)))
    return hits / n_flips, n_flips


def flip_columns(parts: FloatArray, rng: np.random.Generator, limits: FloatArray) -> FloatArray:
    """Return p of each column's mean, (n_columns,), flipped until it is on a sure side of the column's limit.

    A column gets up to `MOST_FLIPS` flips. It gets none if a bound is already below its limit; the bound is then its p.
    Under flips a sum S of parts a has P(|S| >= t) <= 2 exp(-t^2 / (2 sum a^2)) (Hoeffding 1963).
    """
    squares = 2 * np.square(parts).sum(axis=0)
    exponents = np.divide(parts.sum(axis=0) ** 2, squares, out=np.zeros(parts.shape[1]), where=squares > 0)
    p: FloatArray = 2 * np.exp(-exponents)
    if (open_ := np.flatnonzero(p >= limits)).size:
        zero = np.zeros(len(parts))
        pairs = np.column_stack([np.zeros(open_.size, dtype=np.int64), np.arange(1, open_.size + 1)])
        p[open_], _ = flip_pairs(
            np.column_stack([zero, parts[:, open_]]),
            zero,
            pairs,
            rng,
            undecided=lambda p, error: np.abs(p - limits[open_]) < CERTAIN * error,
        )
    return p


def _difference_and_slack(parts: FloatArray, first: int, second: int) -> tuple[float, float]:
    moved = parts[:, second] - parts[:, first]
    return float(moved.sum()), SAME + _SLACK * float(np.abs(moved).sum())


def _all_flips(n: int) -> Iterator[Packed]:
    """Every subset of the clusters."""
    yield np.packbits((np.arange(2**n)[:, None] >> np.arange(n)) & 1, axis=1)


def _drawn_flips(rng: np.random.Generator, flips: int, n: int) -> Iterator[Packed]:
    """Yield the flip that changes nothing, which is the observation, and then drawn ones."""
    size = (n + 7) // 8
    yield np.zeros((1, size), dtype=np.uint8)
    rows = max(1, _MOST_BYTES // size // 4) * 4  # whole words of the generator, so that blocks do not move the draws
    for start in range(1, flips, rows):
        drawn = min(rows, flips - start)
        yield np.frombuffer(rng.bytes(drawn * size), dtype=np.uint8).reshape(drawn, size)


_SIGNS = 1.0 - 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
"""The signs that a byte of flips gives its eight clusters, float64 (256, 8)."""


def _bundled(of_clusters: FloatArray) -> FloatArray:
    """Return the rows of clusters, or the sums of their bundles; neighbours are in different bundles."""
    if len(of_clusters) <= MOST_FLIPPED:
        return of_clusters
    return np.stack([of_clusters[first::MOST_FLIPPED].sum(axis=0) for first in range(MOST_FLIPPED)])


def _on_cores(function: Callable[[_T], _R], parts: Sequence[_T], cells: int) -> list[_R]:
    """Return the result for each part, on all cores: numpy leaves Python's lock to others.

    `cells` is how many numbers are worked on; few are done before a thread has begun.
    """
    if cells <= _MOST_CELLS or len(parts) < 2:
        return [function(part) for part in parts]
    with ThreadPoolExecutor(usable_cores()) as pool:
        return [*pool.map(function, parts)]


def _typical_ends(ends: tuple[FloatArray, FloatArray]) -> tuple[float, float]:
    """Return the lowest and the highest mean with p of at least 0.05, from the ends of the flips' intervals."""
    n = len(ends[0])
    # Below the mean p grows with m: it reaches 0.05 at the smallest end that enough others do not pass.
    position = max(ceil(ALPHA * n - _SLACK * n), 1) - 1
    low, high = np.partition(ends[0], position)[position], np.partition(ends[1], n - 1 - position)[n - 1 - position]
    # The last bits depend on the processor, and would bring the end of a share above 1.
    return float(np.round(low, 12)), float(np.round(high, 12))


def _add_up(tables: FloatArray, first: int, blocks: Sequence[tuple[FloatArray, Packed]]) -> None:
    """Add the flipped clusters to each block's sums, from group `first` on; a table holds a group of eight."""
    for sums, flips in blocks:
        for group, table in enumerate(tables, start=first):
            np.add(sums, np.take(table, flips[:, group], axis=0), out=sums)


def beyond_seen(values: FloatArray) -> tuple[float, float]:
    """The lowest and highest mean with clusters that were not seen; inf and -inf if the seen ones are enough.

    `values` are the clusters' means. Suppose most have one value and fewer than `_FEW_OTHERS` another. The mean is then
    the usual value plus the share of the others times their distance, below and above it. The share is taken at the
    upper end of its 97.5 % interval (Clopper & Pearson 1934). If all have one value, unseen others are taken to score
    0; a value of 0 stays as it is.
    """
    distinct, sizes = np.unique(np.round(values, 12), return_counts=True)
    usual, n = distinct[sizes.argmax()], len(values)
    off = np.repeat(distinct, sizes) - usual
    if 2 * sizes.max() <= n or np.count_nonzero(off) >= _FEW_OTHERS:
        return np.inf, -np.inf
    if len(distinct) == 1:
        ends = sorted((usual, usual - _most_of(0, n) * usual))
        return float(ends[0]), float(ends[1])
    below, above = off[off < 0], off[off > 0]
    low = usual + _most_of(len(below), n) * below.mean() if len(below) else np.inf
    high = usual + _most_of(len(above), n) * above.mean() if len(above) else -np.inf
    return float(low), float(high)


def _most_of(n_seen: int, n: int) -> float:
    """The largest share that gives at most `n_seen` of n with a chance of 2.5 %."""
    return float(special().betaincinv(n_seen + 1, n - n_seen, 1 - ALPHA / 2))


class _Sample:
    """The part that each cluster adds to the means, (n_clusters, n_columns), and its weight, (n_clusters,).

    `n_flipped` is how many signs a flip has, one for each cluster or bundle.
    """

    def __init__(self, parts: FloatArray, weights: FloatArray, pairs: NDArray[np.int64] | None = None) -> None:
        self._all, self._weights, self._pairs = parts, weights, pairs
        self._both = np.column_stack([_bundled(parts), _bundled(weights)])
        self.n_flipped = len(self._both)
        sums, sizes = parts.sum(axis=0), np.abs(parts).sum(axis=0)
        self._mean = sums if pairs is None else np.array([self._parts(i).sum() for i in range(len(pairs))])
        self._slack = SAME + _SLACK * (sizes if pairs is None else sizes[pairs].sum(axis=1))
        moved = [len(parts) < 2 or bool(self._parts(i).any()) for i in range(len(self._mean))]
        self._moved = np.array(moved, dtype=np.bool_)  # without a type an array of no column is of floats

    def _parts(self, column: int) -> FloatArray:
        if self._pairs is None:
            return np.asarray(self._all[:, column])
        first, second = self._pairs[column]
        return np.asarray(self._all[:, second] - self._all[:, first])

    def columns(self, positions: NDArray[np.int64]) -> Self:
        """The same clusters with these columns only."""
        return type(self)(np.column_stack([self._parts(column) for column in positions]), self._weights)

    def ends(self, flips: Iterator[Packed]) -> tuple[list[FloatArray], list[FloatArray]]:
        """Ends of the interval of means for which each flip is as extreme as the observation: (n_flips,) a column."""
        blocks = [ends for packed in flips for ends in self._ends_of(packed)]
        lows, highs = (np.concatenate(ends) for ends in zip(*blocks, strict=True))
        return [*lows.T], [*highs.T]

    def flipped(self, packed: Packed) -> Iterator[FloatArray]:
        """Sums over the clusters under each flip, (n_flips, n_columns + 1), the weights' last, in blocks of flips.

        For eight clusters at a time the sums under all 256 flips are made once and then looked up. Blocks are worked
        on by all cores; each flip's sum is added up in the order of the clusters, whoever does it.
        """
        columns = self._both.shape[1]
        filled = np.pad(self._both, ((0, -len(self._both) % 8), (0, 0))).reshape(-1, 8, columns)
        rows = max(1, _MOST_CELLS // columns)
        total = np.zeros((len(packed), columns))
        blocks = [(total[start : start + rows], packed[start : start + rows]) for start in range(0, len(packed), rows)]
        groups = max(1, _TABLE_CELLS // len(_SIGNS) // columns)

        shares = [blocks[i :: usable_cores()] for i in range(min(len(blocks), usable_cores()))]
        for first in range(0, len(filled), groups):
            _on_cores(partial(_add_up, _SIGNS @ filled[first : first + groups], first), shares, total.size)
        for sums, _ in blocks:
            yield sums

    def _ends_of(self, packed: Packed) -> list[tuple[FloatArray, FloatArray]]:
        """Return the ends of each block of flips."""
        blocks = [*self.flipped(packed)]
        return _on_cores(self._ends, blocks, sum(block.size for block in blocks))

    def _ends(self, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        total, weight = sums[:, :-1], sums[:, -1:]
        if self._pairs is not None:
            total = total[:, self._pairs[:, 1]] - total[:, self._pairs[:, 0]]
        with np.errstate(divide="ignore", invalid="ignore"):
            # Means of the flipped clusters and of the others; undefined where nothing, or everything, is flipped.
            ends = [(self._mean - total) / (1 - weight), (self._mean + total) / (1 + weight)]
        low, high = np.minimum(*ends), np.maximum(*ends)
        whole = np.abs(weight[:, 0]) > 1 - _SLACK
        low[whole], high[whole] = -np.inf, np.inf
        # An end that differs from 0 by rounding error alone is 0.
        low[np.abs(low) <= self._slack] = 0.0
        high[np.abs(high) <= self._slack] = 0.0
        return low, high

    def intervals(self, lows: Sequence[FloatArray], highs: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Return the ends of each column's interval, both (n_columns,), from the ends of its flips."""
        both = [*zip(lows, highs, strict=True)]
        low, high = np.array(_on_cores(_typical_ends, both, sum(map(len, lows)))).reshape(-1, 2).T
        for column in range(len(lows)):
            least, most = beyond_seen(self._parts(column) / self._weights)
            # A difference that the test finds is not moved back to 0.
            if least < low[column] and not least <= 0 < low[column]:
                low[column] = round(least, 12)
            if most > high[column] and not high[column] < 0 <= most:
                high[column] = round(most, 12)
        # Where no cluster of several differs by anything, the interval is a point, however few they are.
        low[~self._moved] = high[~self._moved] = 0.0
        return low, high
