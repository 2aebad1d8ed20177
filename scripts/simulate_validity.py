"""How often the intervals of `validity` hold the true correlation within queries, on RepoEval's own files.

python scripts/simulate_validity.py [--samples N]

Six runs over files with as many queries as RepoEval's (42, 35, 22, … 1). Within a query a run's completion follows its
retrieval by a slope that the query's file has, with noise; of `alike` of the queries all completions score the same.
The truth is that of a hundred times as many files. +- is two Monte-Carlo errors.
"""

from __future__ import annotations

import argparse
from math import sqrt

import numpy as np
from simulate_coverage import benchmark_layout

from repoeval_bench.analysis.validity import within_queries

RUNS, DRAWS = 6, 2_000
SLOPES = {"none": (0.0, 0.0), "weak": (0.2, 0.2), "strong": (0.8, 0.4)}
"""Name -> (mean slope, its deviation between files)."""


def drawn(
    rng: np.random.Generator, sizes: np.ndarray, slopes: tuple[float, float], alike: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(measure, target) of each query and run, float64 (n_queries, RUNS), and the file of each query."""
    files = np.repeat(np.arange(len(sizes)), sizes)
    slope = rng.normal(*slopes, len(sizes))[files]
    measure = rng.normal(size=(len(files), RUNS))
    target = slope[:, None] * measure + rng.normal(size=measure.shape)
    target[rng.random(len(files)) < alike] = 0.0
    return measure, target, files


def main() -> None:
    """Print a line for each setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1000)
    samples = parser.parse_args().samples
    sizes = benchmark_layout().sizes
    rng = np.random.default_rng(1)
    print(f"{'slope':<8}{'alike':>6}{'truth':>8}{'coverage of 95 %':>22}")
    for name, slopes in SLOPES.items():
        for alike in (0.0, 0.7):
            measure, target, files = drawn(rng, np.tile(sizes, 100), slopes, alike)
            truth = float(within_queries([measure], target, files.tolist(), rng, 1).values[0])
            held = 0
            for _ in range(samples):
                measure, target, files = drawn(rng, sizes, slopes, alike)
                found = within_queries([measure], target, files.tolist(), rng, DRAWS).interval(0)
                assert found is not None, "there are enough files"
                held += found[0] <= truth <= found[1]
            share = held / samples
            error = 2 * sqrt(share * (1 - share) / samples)
            print(f"{name:<8}{alike:>6.0%}{truth:>8.3f}{share:>14.1%} +- {error:.1%}", flush=True)


if __name__ == "__main__":
    main()
