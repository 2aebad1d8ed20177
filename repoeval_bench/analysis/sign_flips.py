"""Tests and intervals from one set of sign flips over clusters, so that the two cannot contradict each other.

Under "no difference" a cluster's difference is as likely positive as negative. A flip changes the sign of some
clusters. For the hypothesis that the mean is m, a cluster's part p of the mean becomes p - m w, with w its weight. A
flip is then as extreme as the observation for all m in an interval, whose two ends are means of the clusters that
were flipped and of those that were not. So p of "the mean is m" is the share of flips whose interval holds m, and the
95 % confidence interval is every m with p of at least 0.05 (Hartigan 1969 calls such ends typical values).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]
    BoolArray = NDArray[np.bool_]

ALPHA = 0.05

FIRST_FLIPS = 20_000
"""Flips that every column gets."""

MOST_FLIPS = 1_000_000
"""Flips after which a column that is still undecided is reported as it is."""

EXACT_CLUSTERS = 14
"""Up to so many clusters all 2^n flips are made, and nothing is drawn."""

FEWEST_CLUSTERS = 6
"""Fewer clusters have no p below 0.05, so that they bound no interval."""

CERTAIN = 4.0
"""Monte-Carlo standard errors between p and a limit from which the verdict at that limit is decided."""

_BLOCK = 1024
"""Flips that are worked on at once: arrays that stay in the processor's cache are faster than fresh memory."""

_MOST_CELLS = 4_000_000
"""Never more flips x clusters at once than that: 32 MB an array."""

_SLACK = 1e-12
"""Relative rounding error of a sum: the same sum in another order is as extreme all the same."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Flipped:
    """What sign flips say of each column's mean.

    `p` is two-sided, of "the mean is 0". `error` is its Monte-Carlo standard error, 0 where all flips were made. `low`
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
    undecided: Callable[[FloatArray, FloatArray], BoolArray] | None = None,
    first: int = FIRST_FLIPS,
    most: int = MOST_FLIPS,
) -> Flipped:
    """Flip the signs of clusters until every column is decided.

    `parts` is float64 (n_clusters, n_columns), what each cluster adds to the mean; `weights` (n_clusters,) are the
    clusters' weights, which sum to 1. `undecided(p, error)` says which columns need more flips, (n_columns,) bools; by
    default those whose p is within `CERTAIN` errors of 0.05. Every column gets the `first` flips, and an undecided one
    up to `most`. Columns share their flips, so a column's numbers do not depend on which others are asked for, except
    through how many flips it gets.
    """
    moved = np.asarray((np.abs(parts).max(axis=0) > 0) | (len(parts) < 2))
    if len(parts) <= EXACT_CLUSTERS:
        lows, highs = _ends(parts, weights, _all_flips(len(parts)))
        return _summary(moved, {i: (lows[:, i], highs[:, i]) for i in range(len(moved))}, exact=True)
    undecided = undecided or near_alpha
    lows, highs = _ends(parts, weights, _drawn_flips(rng, first, len(parts)))
    kept = {column: (lows[:, column], highs[:, column]) for column in range(parts.shape[1])}
    found = _summary(moved, kept, exact=False)
    n_flips = first
    while n_flips < most and (open_ := np.flatnonzero(undecided(found.p, found.error))).size:
        more = min(n_flips, most - n_flips)
        lows, highs = _ends(parts[:, open_], weights, _drawn_flips(rng, more, len(parts)))
        for position, column in enumerate(open_.tolist()):
            # A column that was decided for a while may be open again: it has missed flips, and takes these.
            low, high = kept[column]
            kept[column] = np.concatenate([low, lows[:, position]]), np.concatenate([high, highs[:, position]])
        found = _summary(moved, kept, exact=False)
        n_flips += more
    return found


def near_alpha(p: FloatArray, error: FloatArray) -> BoolArray:
    """Which p are too near to 0.05 to say on which side they are, (n_columns,)."""
    return np.abs(p - ALPHA) < CERTAIN * error


def _all_flips(n: int) -> Iterator[FloatArray]:
    numbers = np.arange(2**n)
    for start in range(0, len(numbers), _BLOCK):
        yield _signs((numbers[start : start + _BLOCK, None] >> np.arange(n)) & 1)


def _drawn_flips(rng: np.random.Generator, flips: int, n: int) -> Iterator[FloatArray]:
    """The flip that changes nothing, which is the observation, and drawn ones."""
    yield np.ones((1, n))
    block = max(1, min(_BLOCK, _MOST_CELLS // n))
    for start in range(1, flips, block):
        rows = min(block, flips - start)
        bits = np.unpackbits(np.frombuffer(rng.bytes(rows * ((n + 7) // 8)), dtype=np.uint8).reshape(rows, -1), axis=1)
        yield _signs(bits[:, :n])


def _signs(flipped: NDArray[Any]) -> FloatArray:
    return np.asarray(1.0 - 2.0 * flipped, dtype=np.float64)


def _ends(parts: FloatArray, weights: FloatArray, flips: Iterator[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Ends of the interval of means for which each flip is as extreme as the observation, (n_flips, n_columns) each."""
    mean = parts.sum(axis=0)
    both = np.column_stack([parts, weights])
    slack = _SLACK * np.abs(parts).sum(axis=0)
    lows, highs = [], []
    with np.errstate(divide="ignore", invalid="ignore"):
        for signs in flips:
            sums = signs @ both
            total, weight = sums[:, :-1], sums[:, -1:]
            # Means of the flipped clusters and of the others; there is none where nothing, or everything, is flipped.
            ends = [(mean - total) / (1 - weight), (mean + total) / (1 + weight)]
            whole = np.abs(weight) > 1 - _SLACK
            low = np.where(whole, -np.inf, np.minimum(*ends))
            high = np.where(whole, np.inf, np.maximum(*ends))
            # An end that differs from 0 by rounding error alone is 0.
            lows.append(np.where(np.abs(low) <= slack, 0.0, low))
            highs.append(np.where(np.abs(high) <= slack, 0.0, high))
    return np.concatenate(lows), np.concatenate(highs)


def _summary(moved: BoolArray, kept: dict[int, tuple[FloatArray, FloatArray]], *, exact: bool) -> Flipped:
    """Give p and ends of each column from those of its flips; `moved` says which columns are not 0 in every cluster."""
    n_columns = len(moved)
    p, error, low, high = (np.empty(n_columns) for _ in range(4))
    n_flips = np.empty(n_columns, dtype=np.int64)
    for column, (lows, highs) in kept.items():
        n = len(lows)
        p[column] = np.count_nonzero((lows <= 0) & (highs >= 0)) / n
        error[column] = 0.0 if exact else sqrt(max(p[column] * (1 - p[column]), 1 / n) / n)
        # Below the mean p grows with m: it reaches 0.05 at the smallest end that enough others do not pass.
        position = max(ceil(ALPHA * n - _SLACK * n), 1) - 1
        # The last bits depend on the processor, and would bring the end of a share above 1.
        low[column] = np.round(np.partition(lows, position)[position], 12)
        high[column] = np.round(-np.partition(-highs, position)[position], 12)
        n_flips[column] = n
        if not moved[column]:
            # No cluster of several differs by anything: the interval is a point, however few they are.
            low[column] = high[column] = 0.0
    return Flipped(p=p, error=error, low=low, high=high, n_flips=n_flips)
