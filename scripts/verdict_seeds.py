"""The dependence of verdicts on the seed: `compare` of stored runs with 16 seeds, all pairs and all measures.

python scripts/verdict_seeds.py FOLDER... [--seeds N]

A FOLDER has runs of one question, as `eval -c … --out FOLDER` makes them. Two seeds contradict each other if one finds
a difference significant, and another does not, or not without one file. "borderline" contradicts nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

from repoeval_bench import compare, find_run
from repoeval_bench.analysis.pair_verdicts import Outcome
from repoeval_bench.runs.records import MANIFEST

SEEDS = 16


def main() -> int:
    """Print how many verdicts contradict each other, and how many words differ; return 1 if a verdict does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="runs of one question")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="numbered from 0")
    options = parser.parse_args()
    n_contradictions = 0
    for folder in options.folders:
        runs = [find_run(str(path.parent), folder) for path in sorted(folder.glob(f"*/{MANIFEST}"))]
        if len(runs) < 2:
            sys.exit(f"error: {folder} holds {len(runs)} runs; give a folder with two or more of one question")
        verdicts: defaultdict[tuple[str, str, str], set[Outcome]] = defaultdict(set)
        for seed in range(options.seeds):
            for comparison in compare(runs, seed=seed):
                key = comparison.baseline, comparison.treatment, comparison.measure
                verdicts[key].add(comparison.verdict.outcome)
        changed = {key: by_seed for key, by_seed in verdicts.items() if len(by_seed) > 1}
        contradictions = [key for key, by_seed in changed.items() if len(by_seed - {Outcome.BORDERLINE}) > 1]
        always = sum(by_seed == {Outcome.BORDERLINE} for by_seed in verdicts.values())
        metrics = runs[0].metrics
        print(
            f"{metrics.protocol}, {len(runs)} runs, {metrics.counts.queries} queries: of {len(verdicts)} verdicts by "
            f"{options.seeds} seeds {len(contradictions)} contradict each other, {always} are always borderline and "
            f"{len(changed)} sometimes",
            flush=True,
        )
        for baseline, treatment, measure in contradictions:
            words = " | ".join(sorted(verdicts[baseline, treatment, measure]))
            print(f"  {measure} of {treatment} minus {baseline}: {words}")
        n_contradictions += len(contradictions)
    return int(n_contradictions > 0)


if __name__ == "__main__":
    sys.exit(main())
