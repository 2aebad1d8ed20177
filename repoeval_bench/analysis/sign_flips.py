"""Tests and intervals from one set of sign flips over clusters, so that they never contradict each other.

Under "no difference" a cluster's difference is as likely positive as negative. A flip changes the sign of some
clusters. For the hypothesis that the mean is m, a cluster's part p of the mean becomes p - m w, with w its weight. A
flip is then as extreme as the observation for all m in an interval. Its two ends are the mean of the clusters that were
flipped and the mean of the others. So p of "the mean is m" is the share of flips whose interval holds m. The 95 %
confidence interval is every m with p of at least 0.05 (Hartigan 1969 calls such ends typical values).

A verdict has a stricter test: `p_strict` divides the difference by 1 + `RESERVE` / sqrt(effective clusters) before it
is tested, and is at least the p of `unseen_p`.

More than `MOST_FLIPPED` clusters are dealt in turn into that many bundles, and a bundle is flipped as one cluster.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from math import ceil, comb, exp, floor, log2, sqrt
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.cores import usable_cores
from repoeval_bench.runs.query_scores import SAME

FloatArray = NDArray[np.float64]
Packed = NDArray[np.uint8]
"""Flipped clusters, one bit each, (n_flips, n_bytes)."""

_T = TypeVar("_T")

ALPHA = 0.05

# An adjusted p in here is borderline: the last bits of another processor's scores can move it over 0.05.
BORDERLINE = (0.04, 0.0625)


FLIPS = 100_000
"""Flips of a test."""

EXACT_CLUSTERS = 14
"""The most clusters for which all 2^n flips are computed, and nothing is drawn."""

MOST_FLIPPED = 2_000
"""Most clusters, or bundles of them, whose signs are flipped."""

# With fewer clusters no p is below 0.05, so no interval is bounded.
FEWEST_CLUSTERS = 6

# With fewer clusters an interval gets a warning: single ones decide it, and it holds the truth too seldom.
FEW_CLUSTERS = 20

# The strict test divides a difference by 1 + this / sqrt(effective clusters).
# Real files are few, of unequal size and skewed, and then p is too small. `scripts/simulate_coverage.py` measures how
# often the strict test errs.
RESERVE = 1.5

CERTAIN = 4.0
"""A p is taken to be within this many Monte-Carlo standard errors of the drawn one."""

# With fewer clusters off the most common value than this, `beyond_seen` moves the ends.
_FEW_OTHERS = 10

# How far a kind of cluster that was not seen is taken to lie on the other side of 0, in `unseen_p`.
_UNSEEN = 0.25

# Columns whose sums are held at once, under every flip.
_MOST_COLUMNS = 32

# Flips x columns that are worked on at once: arrays that stay in the processor's cache are faster.
_MOST_CELLS = 65_536

# Sums that are computed and looked up at once; more would leave the processor's cache.
_TABLE_CELLS = 500_000

# Relative rounding error of a sum: a sum in another order counts as equally extreme, and so does one within `SAME`.
_SLACK = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Flipped:
    """The result of sign flips for each column's mean, each (n_columns,).

    `p` is two-sided, of "the mean is 0". `low` and `high` are the ends of the 95 % interval, -inf and inf where the
    clusters are too few to bound it. `p_strict` is p of the stricter test that decides verdicts. It lies between
    `least` and `most`, Monte-Carlo error included.
    """

    p: FloatArray
    low: FloatArray
    high: FloatArray
    p_strict: FloatArray
    least: FloatArray
    most: FloatArray


def flip_signs(
    parts: FloatArray,
    weights: FloatArray,
    rng: np.random.Generator,
    *,
    pairs: NDArray[np.int64] | None = None,
    flips: int = FLIPS,
    intervals: bool = True,
) -> Flipped:
    """Flip the signs of clusters: up to `EXACT_CLUSTERS` of them in every way, else in `flips` ways that are drawn.

    `parts` is float64 (n_clusters, n_columns), what each cluster adds to the mean; `weights` (n_clusters,) are the
    clusters' weights, which sum to 1. With weights of 0 the strict test is the plain one. `pairs` are positions of
    columns, int64 (n_pairs, 2): the second column minus the first of each pair is flipped instead. Without `intervals`
    their ends are NaN.
    """
    exact = len(parts) <= EXACT_CLUSTERS
    bundled = _bundled(parts)
    every_subset = (np.arange(2 ** len(parts))[:, None] >> np.arange(len(parts))) & 1 if exact else None
    # Columns share their flips, so a column's numbers do not depend on the others.
    packed = _drawn_flips(rng, flips, len(bundled)) if every_subset is None else np.packbits(every_subset, axis=1)
    (of_weights,) = _sums(_bundled(weights[:, None]), packed)
    columns = np.arange(parts.shape[1])[:, None] if pairs is None else pairs
    results = np.full((5, len(columns)), np.nan)
    # A few columns at a time: the page of 21 runs has thousands, and their sums at once would take gigabytes.
    for positions in _groups(columns):
        used = np.unique(columns[positions])
        sums = dict(zip(used.tolist(), _sums(bundled[:, used], packed), strict=True))

        def test(position: int, sums: dict[int, FloatArray] = sums) -> None:
            *first, second = columns[position].tolist()
            own, flipped = parts[:, second], sums[second]
            if first:
                own, flipped = own - parts[:, first[0]], flipped - sums[first[0]]
            results[:, position] = _test(own, weights, flipped, of_weights, intervals=intervals)

        _on_cores(test, positions.tolist(), len(positions) * len(packed))
    p, low, high, strict, bound = results
    wide = CERTAIN * _errors(strict, len(packed), exact=exact)
    return Flipped(
        p=p,
        low=low,
        high=high,
        p_strict=np.minimum(strict, bound),
        least=np.clip(np.minimum(strict - wide, bound), 0.0, 1.0),
        most=np.clip(np.minimum(strict + wide, bound), 0.0, 1.0),
    )


def fewest_clusters(tests: int = 1) -> int:
    """Return the fewest clusters with which a difference can be significant, with any one of them left out too.

    The smallest p of n clusters is 2 / 2^n.
    """
    # Without one cluster it is 4 / 2^n, to be at most 0.05: that is less than 2 / 2^n at 0.04.
    return floor(log2(max(1, tests) / ALPHA)) + 3


def _test(
    own: FloatArray, weights: FloatArray, flipped: FloatArray, of_weights: FloatArray, *, intervals: bool
) -> tuple[float, float, float, float, float]:
    """Return a column's p, the ends of its interval, its strict p as flips show it, and a bound of that p.

    `own` is what each cluster adds to the mean. `flipped` and `of_weights` are the sums of these parts and of the
    weights under each flip.
    """
    mean, slack = float(own.sum()), SAME + _SLACK * float(np.abs(own).sum())
    p = np.count_nonzero(np.abs(flipped) >= abs(mean) - slack) / len(flipped)
    null = strict_null(mean, weights)
    tested = mean - null
    strict = np.count_nonzero(np.abs(flipped - null * of_weights) >= abs(tested) - slack) / len(flipped)
    low, high = _interval(own, weights, flipped, of_weights, slack) if intervals else (np.nan, np.nan)
    unseen = unseen_p(own / weights) if weights.all() else 0.0
    return p, low, high, max(strict, unseen), max(most_p(own - null * weights), unseen)


def strict_null(mean: FloatArray | float, weights: FloatArray) -> FloatArray:
    """Return what the strict test takes from each mean, so that the divided one is left."""
    return np.asarray(mean - mean / (1 + RESERVE * sqrt(float(np.square(weights).sum()))))


_Ends = TypeVar("_Ends", float, FloatArray)


def strict_ends(mean: _Ends, ends: tuple[_Ends, _Ends], effective: float) -> tuple[_Ends, _Ends]:
    """Return the ends of an interval, as far from the mean as the strict test takes them to be.

    `effective` is the number of effective clusters.
    """
    # On skewed differences a truth lies beyond a 95 % interval's end too often to claim that two means are equal, or
    # that two intervals are apart (`scripts/simulate_coverage.py`).
    factor = 1 + RESERVE / sqrt(effective)
    return mean + factor * (ends[0] - mean), mean + factor * (ends[1] - mean)


def _interval(
    own: FloatArray, weights: FloatArray, flipped: FloatArray, of_weights: FloatArray, slack: float
) -> tuple[float, float]:
    """Return the lowest and the highest mean with p of at least 0.05, moved out to what was not seen."""
    if len(own) > 1 and not own.any():
        return 0.0, 0.0  # no cluster of several differs by anything: a point, however few they are
    mean, n = float(own.sum()), len(flipped)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Means of the flipped clusters and of the others; undefined where nothing, or everything, is flipped.
        ends = (mean - flipped) / (1 - of_weights), (mean + flipped) / (1 + of_weights)
    low, high = np.minimum(*ends), np.maximum(*ends)
    whole = np.abs(of_weights) > 1 - _SLACK
    low[whole], high[whole] = -np.inf, np.inf
    # Below the mean p grows with m: it reaches 0.05 at the smallest end that enough others do not pass.
    position = max(ceil(ALPHA * n - _SLACK * n), 1) - 1
    lowest = float(np.partition(low, position)[position])
    highest = float(np.partition(high, n - 1 - position)[n - 1 - position])
    # An end that differs from 0 by rounding error alone is 0. The last bits depend on the processor.
    lowest, highest = (0.0 if abs(end) <= slack else round(end, 12) for end in (lowest, highest))
    least, most = beyond_seen(own / weights)
    # A difference that the test finds is not moved back to 0.
    if least < lowest and not least <= 0 < lowest:
        lowest = round(least, 12)
    if most > highest and not highest < 0 <= most:
        highest = round(most, 12)
    return lowest, highest


def most_p(own: FloatArray) -> float:
    """Return what p of a sum of parts, float64 (n_clusters,), does not pass."""
    # Under flips a sum S of parts a has P(|S| >= t) <= 2 exp(-t^2 / (2 sum a^2)) (Hoeffding 1963).
    bundled = _bundled(own)
    squares = float(np.square(bundled).sum())
    # More than 0, so that it has a factor to its adjusted p.
    return min(1.0, max(1e-300, 2 * exp(-(float(own.sum()) ** 2) / (2 * squares)))) if squares > 0 else 1.0


def _errors(p: FloatArray, n_flips: int, *, exact: bool) -> FloatArray:
    """Return the Monte-Carlo standard errors of shares of flips; those of 0 and 1 are not 0, unless flips are all."""
    error: FloatArray = np.sqrt(np.maximum(p * (1 - p), 1 / n_flips) / n_flips)
    return np.zeros_like(error) if exact else error


def _groups(columns: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield positions of tests that use few columns of sums together; `columns` is int64 (n_tests, 1 or 2)."""
    used: set[int] = set()
    group: list[int] = []
    for position in np.lexsort(columns.T[::-1]).tolist():
        more = used.union(columns[position].tolist())
        if group and len(more) > _MOST_COLUMNS:
            yield np.array(group)
            group, more = [], {*columns[position].tolist()}
        group.append(position)
        used = more
    if group:
        yield np.array(group)


def _drawn_flips(rng: np.random.Generator, flips: int, n: int) -> Packed:
    packed = rng.integers(0, 256, (flips, (n + 7) // 8), dtype=np.uint8)
    packed[0] = 0  # the flip that changes nothing, which is the observation
    return packed


# The signs that a byte of flips gives its eight clusters, float64 (256, 8).
_SIGNS = 1.0 - 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)


def _bundled(of_clusters: FloatArray) -> FloatArray:
    """Return the rows of clusters, or the sums of their bundles; neighbours are in different bundles."""
    if len(of_clusters) <= MOST_FLIPPED:
        return of_clusters
    # A sum of symmetric differences is symmetric, so the test stays exact, and that many decide what all would.
    return np.stack([of_clusters[first::MOST_FLIPPED].sum(axis=0) for first in range(MOST_FLIPPED)])


def _on_cores(function: Callable[[_T], object], items: Iterable[_T], cells: int) -> None:
    """Call a function for each item, on all cores; `cells` is how many numbers are worked on."""
    # Few are done before a thread has begun.
    if cells <= _MOST_CELLS:
        for item in items:
            function(item)
        return
    # Threads, as numpy leaves Python's lock to others.
    with ThreadPoolExecutor(usable_cores()) as pool:
        for _ in pool.map(function, items):
            pass


def _sums(parts: FloatArray, packed: Packed) -> FloatArray:
    """Return the sums of each column's parts under each flip, float64 (n_columns, n_flips)."""
    # For eight clusters at a time the sums under all 256 flips are made once and then looked up. Blocks of flips are
    # worked on by all cores; each flip's sum is added up in the order of the clusters, whoever does it.
    columns = parts.shape[1]
    filled = np.pad(parts, ((0, -len(parts) % 8), (0, 0))).reshape(-1, 8, columns)
    total = np.zeros((len(packed), columns))
    rows, groups = max(1, _MOST_CELLS // columns), max(1, _TABLE_CELLS // len(_SIGNS) // columns)
    for first in range(0, len(filled), groups):
        tables = _SIGNS @ filled[first : first + groups]
        _on_cores(partial(_add_up, total, packed, tables, first, rows), range(0, len(packed), rows), total.size)
    return np.ascontiguousarray(total.T)


def _add_up(total: FloatArray, packed: Packed, tables: FloatArray, first: int, rows: int, start: int) -> None:
    """Add the flipped clusters to a block of sums, from group `first` on; a table holds a group of eight."""
    sums, flips = total[start : start + rows], packed[start : start + rows]
    for group, table in enumerate(tables, start=first):
        np.add(sums, np.take(table, flips[:, group], axis=0), out=sums)


def beyond_seen(values: FloatArray) -> tuple[float, float]:
    """The lowest and highest mean with clusters that were not seen; inf and -inf if the seen ones are enough.

    `values` are the clusters' means.
    """
    usual, off = _usual_and_off(values)
    if usual is None:
        return np.inf, -np.inf
    n = len(values)
    if not off.any():
        # Unseen others are taken to score 0; a value of 0 stays as it is.
        ends = sorted((usual, usual - _most_of(0, n) * usual))
        return float(ends[0]), float(ends[1])
    # The mean is the usual value plus the share of the others times their distance, below and above it. The share is
    # taken at the upper end of its 97.5 % interval (Clopper & Pearson 1934).
    below, above = off[off < 0], off[off > 0]
    low = usual + _most_of(len(below), n) * below.mean() if len(below) else np.inf
    high = usual + _most_of(len(above), n) * above.mean() if len(above) else -np.inf
    return float(low), float(high)


def unseen_p(values: FloatArray) -> float:
    """Return how probable it is, twice over, that clusters which bring the mean to 0 are hardly among those seen.

    0 if the seen ones are enough.
    """
    usual, off = _usual_and_off(values)
    if not usual:
        return 0.0
    # The mean is 0 if a share of all clusters lies on the other side, as far from the usual value as those that were
    # seen there, or `_UNSEEN` beyond 0 if none was.
    other = off[off * usual < 0]
    distance = float(np.abs(other).mean()) if len(other) else _UNSEEN + abs(usual)
    share = min(1.0, abs(usual) / distance)
    return min(1.0, 2 * _at_most(len(other), len(values), share))


def _usual_and_off(values: FloatArray) -> tuple[float | None, FloatArray]:
    """Return the value that most clusters have, and how far each is off; None if none has, or many others exist."""
    rounded = np.round(values, 12)
    distinct, sizes = np.unique(rounded, return_counts=True)
    usual = float(distinct[sizes.argmax()])
    off = rounded - usual
    if 2 * sizes.max() <= len(values) or np.count_nonzero(off) >= _FEW_OTHERS:
        return None, off
    return usual, off


def _most_of(n_seen: int, n: int) -> float:
    """The largest share that gives at most `n_seen` of n with a chance of 2.5 %."""
    low, high = 0.0, 1.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if _at_most(n_seen, n, middle) > ALPHA / 2 else (low, middle)
    return middle


def _at_most(n_seen: int, n: int, share: float) -> float:
    """The probability that at most `n_seen` of n are of a kind with this share of all."""
    return sum(comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n_seen + 1))
