"""The dependence of verdicts on the seed: `compare` of stored runs with 16 seeds, all pairs and all measures.

python scripts/verdict_seeds.py FOLDER... [--seeds N]

A FOLDER has runs of one question, as `eval -c … --out FOLDER` makes them. A verdict is that of `compare`, with the file
that carries a difference. It differs if two seeds give different verdicts, unless it is borderline with every seed:
then "borderline" is the verdict. The runs that may be as good as the best are checked too.
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
    """Print how many verdicts differ between seeds; return 1 if one does."""
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
            for comparison in compare(runs, seed=seed):
                key = comparison.baseline, comparison.treatment, comparison.measure
                verdicts[key].add(comparison.verdict)
            close.add(tuple(candidate.run_id for candidate in choose(runs, seed=seed).close))
        changed = {
            key: by_seed
            for key, by_seed in verdicts.items()
            if len(set(map(_outcome, by_seed))) > 1 and not all(verdict.borderline for verdict in by_seed)
        }
        undecided = sum(any(verdict.borderline for verdict in by_seed) for by_seed in verdicts.values())
        metrics = runs[0].metrics
        print(
            f"{metrics.protocol}, {len(runs)} runs, {metrics.counts.queries} queries: {len(changed)} of "
            f"{len(verdicts)} verdicts differ between {options.seeds} seeds ({undecided} borderline); sets of runs "
            f"that may be as good as the best: {len(close)}"
        )
        for (baseline, treatment, measure), by_seed in changed.items():
            print(f"  {measure} of {treatment} minus {baseline}: {' | '.join(sorted(map(_outcome, by_seed)))}")
        differ += len(changed) + (len(close) > 1)
    print(f"{differ} differ")
    return int(differ > 0)


def _outcome(verdict: PairVerdict) -> str:
    """Return the outcome and what carries it, without `borderline` and p."""
    return f"{verdict.outcome} {verdict.carrier.name}" if verdict.carrier else verdict.outcome


if __name__ == "__main__":
    sys.exit(main())
