"""One chunker in several cuts that differ in nothing which should matter: how far scores differ by luck alone.

Its arms have to be of one size, as chunkers that are compared have to be: otherwise their spread shows sizes.
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
"""Lines within which offsets lie: half of a chunk of 1500 nws, so that no first chunk becomes twice as large."""

TOLERANCE = 0.05
"""An arm whose realised mean is farther from the baseline's, as a share of it, is not a placebo."""

_AIM = 0.01


@dataclass(frozen=True, slots=True)
class PlaceboArm:
    """The baseline from another line on: its size as matched, and how many chunks it makes of the files.

    `matched` says whether its realised mean is within TOLERANCE of the baseline's, on every judged set of files.
    """

    size: SizeMatch
    n_chunks: int
    matched: bool


def placebo_problems(n: int) -> list[str]:
    """Return what is wrong with a number of arms, in a sentence; nothing with 0, or 2 to SPAN."""
    if n == 0 or 2 <= n <= SPAN:
        return []
    return [f"a placebo band of {n} arms cannot be measured; give placebo=2 to {SPAN}, or 0 for none"]


def placebo_arms(
    baseline: str, n: int, parts: Sequence[Sequence[SourceFile]], executor: Executor = IN_PROCESS
) -> list[PlaceboArm]:
    """`fixed` started at `n` lines spread over SPAN, each at the size whose realised mean is nearest to the baseline's.

    `baseline` is a spec of `fixed`; the first arm has its offset 0. Sizes are matched on the largest of `parts`, the
    sets of files that are judged, and checked on all. Arms that cannot be matched (few files, long lines) are among
    those returned.
    """
    targets = [mean_nws(make_chunker(baseline), part) for part in parts]
    return list(executor.map([partial(_arm, f"{baseline},offset={SPAN * i // n}", parts, targets) for i in range(n)]))


def _arm(spec: str, parts: Sequence[Sequence[SourceFile]], targets: Sequence[float]) -> PlaceboArm:
    files, target = max(zip(parts, targets, strict=True), key=lambda pair: len(pair[0]))
    size = match_size(spec, target, files, _AIM)
    chunker = make_chunker(size.spec)
    matched = all(
        abs(mean_nws(chunker, part) - of_part) <= TOLERANCE * of_part
        for part, of_part in zip(parts, targets, strict=True)
    )
    return PlaceboArm(size, sum(len(chunker.chunk(file)) for file in files), matched)


def describe(shifts: Sequence[PlaceboArm]) -> str:
    """Return how well the arms match, in words: how many do, their realised means and numbers of chunks."""
    matched = [shifted for shifted in shifts if shifted.matched]
    target = shifts[0].size.target
    said = (
        f"placebo band: {len(matched)} of {len(shifts)} arms within {TOLERANCE:.0%} of the baseline's mean of "
        f"{target:.0f} characters"
    )
    if len(matched) < 2:
        return f"{said}, too few to measure it"
    means = [shifted.size.realised for shifted in matched]
    counts = [shifted.n_chunks for shifted in matched]
    return f"{said}, means {min(means):.0f} to {max(means):.0f}, {min(counts):,} to {max(counts):,} chunks"
