"""Compare stored runs in both orders, and print what changes: nothing should.

python scripts/argument_order.py RUN RUN [RUN …] [--out FOLDER]

Each pair is compared as A, B and as B, A. A line has the largest difference of any p and of any mirrored interval end,
and how many verdicts differ, over all measures.
"""

from __future__ import annotations

import argparse
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench import compare, find_run

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Comparison


def main() -> None:
    """Compare each pair in both orders, and print a line for it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", nargs="+", metavar="RUN")
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    runs = [find_run(name, options.out) for name in options.runs]
    print(f"{'tests':>5}  {'p differs by':>12}  {'interval by':>11}  {'verdicts':>8}  pair")
    for a, b in combinations(runs, 2):
        reversed_order = {comparison.measure: comparison for comparison in compare([b, a])}
        both = [(comparison, reversed_order[comparison.measure]) for comparison in compare([a, b])]
        p = max(abs((one.p_adjusted or 0) - (other.p_adjusted or 0)) for one, other in both)
        ends = max((_apart(one, other) for one, other in both), default=0.0)
        verdicts = sum(one.verdict.reversed() != other.verdict for one, other in both)
        print(f"{len(both):5}  {p:12.2g}  {ends:11.2g}  {verdicts:8}  {both[0][0].baseline} | {both[0][0].treatment}")


def _apart(one: Comparison, other: Comparison) -> float:
    """Return how far an interval is from the mirror image of the other; infinite if only one of them is known."""
    if one.ci is None or other.ci is None:
        return 0.0 if one.ci is other.ci else float("inf")
    return max(abs(one.ci[0] + other.ci[1]), abs(one.ci[1] + other.ci[0]))


if __name__ == "__main__":
    main()
