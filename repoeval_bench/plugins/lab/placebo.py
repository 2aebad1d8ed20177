"""The placebo: one chunker whose chunks start at other lines, which should not matter, shows differences by luck alone.

All offsets must have one size, like chunkers that are compared; otherwise their spread would show the effect of size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.sizes import SizeMatch, match_size, mean_nws
from repoeval_bench.core.source import SourceFile
from repoeval_bench.runs.executors import IN_PROCESS, Executor

SPAN = 20
"""Offsets are below this many lines, half of a chunk of 1500 nws, so that no first chunk becomes twice as large."""

TOLERANCE = 0.05
"""An offset counts if its mean chunk differs from the baseline's by at most this share of it."""

_AIM = 0.01


@dataclass(frozen=True, slots=True)
class PlaceboOffset:
    """The baseline started at another line: its matched size, and its number of chunks.

    `matched`: its realised mean is within TOLERANCE of the baseline's on every judged set of files.
    """

    size: SizeMatch
    n_chunks: int
    matched: bool


def placebo_problems(n: int) -> list[str]:
    """Return what is wrong with a number of offsets, in a sentence; empty for 0, and for 2 to SPAN."""
    if n == 0 or 2 <= n <= SPAN:
        return []
    return [f"a placebo band of {n} offsets cannot be measured; give placebo=2 to {SPAN}, or 0 for none"]


def placebo_offsets(
    baseline: str, n: int, parts: Sequence[Sequence[SourceFile]], executor: Executor = IN_PROCESS
) -> list[PlaceboOffset]:
    """Start `fixed` at `n` lines spread over SPAN, each at the size whose realised mean is nearest to the baseline's.

    `baseline` is a spec of `fixed`; the first offset is 0. Sizes are matched on the largest of `parts`, the sets
    of files that are judged, and checked on all. Those that cannot be matched (few files, long lines) are returned too.
    """
    targets = [mean_nws(make_chunker(baseline), part) for part in parts]
    return list(
        executor.map([partial(_at_offset, f"{baseline},offset={SPAN * i // n}", parts, targets) for i in range(n)])
    )


def _at_offset(spec: str, parts: Sequence[Sequence[SourceFile]], targets: Sequence[float]) -> PlaceboOffset:
    files, target = max(zip(parts, targets, strict=True), key=lambda pair: len(pair[0]))
    size = match_size(spec, target, files, _AIM)
    chunker = make_chunker(size.spec)
    matched = all(
        abs(mean_nws(chunker, part) - expected) <= TOLERANCE * expected
        for part, expected in zip(parts, targets, strict=True)
    )
    return PlaceboOffset(size, sum(len(chunker.chunk(file)) for file in files), matched)


def describe(offsets: Sequence[PlaceboOffset]) -> str:
    """Return in words how many offsets have that size, with their mean chunks and numbers of chunks."""
    matched = [offset for offset in offsets if offset.matched]
    sentence = (
        f"placebo band: {len(matched)} of {len(offsets)} offsets within {TOLERANCE:.0%} of the baseline's mean of "
        f"{offsets[0].size.target:.0f} characters"
    )
    if len(matched) < 2:
        return f"{sentence}, too few to measure it"
    means = [offset.size.realised for offset in matched]
    counts = [offset.n_chunks for offset in matched]
    return f"{sentence}, means {min(means):.0f} to {max(means):.0f}, {min(counts):,} to {max(counts):,} chunks"
