"""How far to trust the statistics, by simulation: coverage of the interval, false positives and power of the test.

python scripts/simulate_coverage.py [--samples N]

Files have 1 + geometric(0.25) queries; a query's difference is a deviation that its file shares plus its own, both
normal or both exponential less their mean (skewness 2). Every line holds `samples` data sets of each kind; +- is two
Monte-Carlo errors.
"""

from __future__ import annotations

import argparse
import os
import platform
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.analysis.statistics import ALPHA, DRAWS, Sample, bca_intervals, minimum_detectable, sign_flip_p

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILES = (8, 20, 50, 100, 200)
SAMPLES = 10_000
BATCH = 500
"""Data sets that share their files' sizes and the draws, as columns; each has values of its own."""
FILE_DEVIATION, QUERY_DEVIATION = 0.1, 0.2


def simulate(rng: np.random.Generator, n_files: int, *, skewed: bool) -> Sample:
    """BATCH data sets of `n_files` files whose true mean is 0, one a column."""
    sizes = 1 + rng.geometric(0.25, n_files)
    files = np.repeat(np.arange(n_files), sizes)

    def deviations(n: int) -> NDArray[np.float64]:
        return rng.exponential(1, (n, BATCH)) - 1 if skewed else rng.normal(0, 1, (n, BATCH))

    values = FILE_DEVIATION * deviations(n_files)[files] + QUERY_DEVIATION * deviations(len(files))
    return Sample.micro(values, files.tolist())


def shifted(sample: Sample, effect: float) -> Sample:
    """The same data with a true mean of `effect`."""
    return Sample(sample.sums + effect * sample.counts[:, None], sample.counts, sample.groups)


def share(hits: int, samples: int) -> str:
    """`94.1 +- 0.5 %`."""
    p = hits / samples
    return f"{100 * p:.1f} +- {200 * sqrt(p * (1 - p) / samples):.1f} %"


def measure(rng: np.random.Generator, n_files: int, samples: int, *, skewed: bool) -> list[str]:
    """Coverage, false positives, power at the detectable difference: each a share of the samples."""
    first = [mde for _ in range(10) for mde in minimum_detectable(simulate(rng, n_files, skewed=skewed))]
    detectable = np.mean([mde for mde in first if mde is not None])
    covered = wrong = shown = 0
    for _ in range(samples // BATCH):
        sample = simulate(rng, n_files, skewed=skewed)
        covered += sum(ends is not None and ends[0] <= 0 <= ends[1] for ends in bca_intervals(sample, rng))
        wrong += int((sign_flip_p(sample, rng) < ALPHA).sum())
        shown += int((sign_flip_p(shifted(sample, float(detectable)), rng) < ALPHA).sum())
    return [share(hits, samples) for hits in (covered, wrong, shown)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=SAMPLES, help=f"data sets a line, in multiples of {BATCH}")
    samples = max(BATCH, parser.parse_args().samples // BATCH * BATCH)
    print(
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores; {samples:,} samples a line, {DRAWS:,} draws"
    )
    print(f"{'files':>5}  {'':7}  {'interval holds the truth':>24}  {'shown without difference':>24}  {'power':>14}")
    for n_files in FILES:
        for skewed in (False, True):
            rng = np.random.default_rng([n_files, skewed])
            cells = measure(rng, n_files, samples, skewed=skewed)
            kind = "skewed" if skewed else "normal"
            print(f"{n_files:>5}  {kind:7}  {cells[0]:>24}  {cells[1]:>24}  {cells[2]:>14}", flush=True)


if __name__ == "__main__":
    main()
