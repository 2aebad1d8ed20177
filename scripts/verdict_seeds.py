"""Whether verdicts depend on the seed: `compare` of stored runs with 16 seeds, all pairs and all measures.

python scripts/verdict_seeds.py FOLDER... [--seeds N]

A FOLDER holds runs of one question, as `eval -c … --out FOLDER` makes them. A verdict is what `compare` prints, "rests
on FILE" included. It differs where two seeds say different things, unless it says "borderline" with every seed: then
that is the verdict. The runs that `choose` cannot tell apart are checked too.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

from repoeval_bench import choose, compare, find_run
from repoeval_bench.runs.records import MANIFEST

SEEDS = 16
MARK = ", borderline"


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
        verdicts: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
        alike: set[tuple[str, ...]] = set()
        for seed in range(options.seeds):
            for each in compare(runs, seed=seed):
                verdicts[each.baseline, each.treatment, each.measure].add(each.verdict)
            alike.add(tuple(each.run_id for each in choose(runs, seed=seed).alike))
        moved = {
            key: found
            for key, found in verdicts.items()
            if len({each.removesuffix(MARK) for each in found}) > 1 and not all(each.endswith(MARK) for each in found)
        }
        undecided = sum(any(each.endswith(MARK) for each in found) for found in verdicts.values())
        metrics = runs[0].metrics
        print(
            f"{metrics.protocol}, {len(runs)} runs, {metrics.counts.queries} queries: {len(moved)} of {len(verdicts)} "
            f"verdicts differ between {options.seeds} seeds ({undecided} borderline); sets of runs that cannot be told "
            f"apart: {len(alike)}"
        )
        for (baseline, treatment, measure), found in moved.items():
            print(f"  {measure} of {treatment} minus {baseline}: {' | '.join(sorted(found))}")
        differ += len(moved) + (len(alike) > 1)
    print(f"{differ} differ")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
