"""The dependence of verdicts on the seed: `compare` of stored runs with 16 seeds, all pairs and all measures.

python scripts/verdict_seeds.py FOLDER... [--seeds N]

A FOLDER holds runs of one question, as `eval -c … --out FOLDER` makes them. A verdict is what `compare` says, the file
that carries a difference included. It differs where two seeds say different things, unless it is borderline with every
seed: then that is the verdict. The runs that may be as good as the best are checked too.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench import choose, compare, find_run
from repoeval_bench.runs.records import MANIFEST

if TYPE_CHECKING:
    from repoeval_bench.analysis.pair_verdicts import PairVerdict

SEEDS = 16


def main() -> int:
    """Print how many verdicts differ between seeds; 1 where one does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="runs of one question")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="numbered from 0")
    options = parser.parse_args()
    differ = 0
    for folder in options.folders:
        runs = [find_run(str(path.parent), folder) for path in sorted(folder.glob(f"*/{MANIFEST}"))]
        if len(runs) < 2:
            sys.exit(f"error: {folder} holds {len(runs)} runs; give a folder with two or more of one question")
        verdicts: defaultdict[tuple[str, str, str], set[PairVerdict]] = defaultdict(set)
        close: set[tuple[str, ...]] = set()
        for seed in range(options.seeds):
            for each in compare(runs, seed=seed):
                verdicts[each.baseline, each.treatment, each.measure].add(each.verdict)
            close.add(tuple(each.run_id for each in choose(runs, seed=seed).close))
        moved = {
            key: found
            for key, found in verdicts.items()
            if len({_said(each) for each in found}) > 1 and not all(each.borderline for each in found)
        }
        undecided = sum(any(each.borderline for each in found) for found in verdicts.values())
        metrics = runs[0].metrics
        print(
            f"{metrics.protocol}, {len(runs)} runs, {metrics.counts.queries} queries: {len(moved)} of {len(verdicts)} "
            f"verdicts differ between {options.seeds} seeds ({undecided} borderline); sets of runs that may "
            f"be as good as the best: {len(close)}"
        )
        for (baseline, treatment, measure), found in moved.items():
            print(f"  {measure} of {treatment} minus {baseline}: {' | '.join(sorted(map(_said, found)))}")
        differ += len(moved) + (len(close) > 1)
    print(f"{differ} differ")
    return int(differ > 0)


def _said(verdict: PairVerdict) -> str:
    """The verdict without how near it is, and without the p of what carries it."""
    return f"{verdict.outcome} {verdict.carrier.name}" if verdict.carrier else verdict.outcome


if __name__ == "__main__":
    sys.exit(main())
