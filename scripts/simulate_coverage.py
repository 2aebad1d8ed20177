"""Error rates of the statistics, by simulation on the benchmark's own files.

python scripts/simulate_coverage.py [--samples N] [--runs FOLDER ...]

First table: intervals and gates. Files have as many queries as RepoEval's (42, 35, 22, …, 1), or are drawn from these.
The difference of a query is the sum of a deviation of its file and one of its own. Both are normal, or both exponential
less their mean (skewness 2), or both drawn from the differences of the first two runs of the first FOLDER, centred. A
gate passes if the interval's lower end reaches its limit; its columns say how many standard errors the truth is above.
"swapped" is the same gate on the opposite differences, those of run and baseline exchanged. "false equal" is how often
two means are called equal if their true difference is the margin, the more frequent of the two directions.

Second table: verdicts on four equal runs. A FOLDER has four or more stored runs of one question. A sample draws four of
them, and files with all their queries, with replacement. "equal on average": each run's mean is subtracted from its
scores, so that all have the true mean 0. "runs interchangeable": each file deals the runs' scores to the runs in random
order. A false verdict is any `better` or `worse` among the six pairs. "pairs found" is the share of pairs with a
verdict where nothing is centred. Verdicts have no Monte-Carlo margin here, so the tool gives slightly fewer. +- is two
Monte-Carlo errors.
"""

import argparse
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from repoeval_bench import find_run
from repoeval_bench.analysis.comparable import headline_measure
from repoeval_bench.analysis.influence import influence
from repoeval_bench.analysis.sign_flips import BORDERLINE, flip_signs, strict_ends
from repoeval_bench.analysis.statistics import Sample, effective_clusters, holm, robust_error
from repoeval_bench.dataset.index import coordinates
from repoeval_bench.dataset.repoeval import FUNCTION, task_sets
from repoeval_bench.runs.query_scores import FloatArray, together
from repoeval_bench.runs.records import MANIFEST

BATCH = 500
"""Data sets of different values that share their flips, as columns."""
FLIPS = 4_000
FILE_DEVIATION, QUERY_DEVIATION = 0.1, 0.2
FEW_FILES = (20, 8)
ABOVE = (-1, 0, 1, 2, 3, 4, 5)
"""True values of gated runs, in standard errors above the limit."""
SWAPPED = (-1, 0)
"""The same of gates on the opposite differences."""
WHOLE_FILES = (12, 20, 40)
"""Numbers of files of a sample, beside as many as there are."""
EQUAL_RUNS = 4


@dataclass(frozen=True, slots=True)
class Layout:
    """Files with their numbers of queries, int64 (n_files,), and their repositories, from 0."""

    sizes: NDArray[np.int64]
    repositories: NDArray[np.int64]

    def sample(self, sums: FloatArray, over: str) -> Sample:
        """Return sums per file, float64 (n_files, n_columns), as a sample of the mean over queries or repositories."""
        groups = self.repositories if over == "macro" else np.zeros_like(self.repositories)
        return Sample(sums, self.sizes.astype(np.float64), groups)

    def drawn(self, rng: np.random.Generator, n_files: int) -> Self:
        """Return files drawn at random, as one repository; all files as they are."""
        if n_files == len(self.sizes):
            return self
        index = rng.choice(len(self.sizes), n_files, replace=False)
        return type(self)(self.sizes[index], np.zeros(n_files, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Stored:
    """The scores of stored runs by their headline: sums of files (n_files, n_runs), and the files' sizes."""

    name: str
    values: FloatArray
    file: NDArray[np.int64]

    @property
    def sizes(self) -> FloatArray:
        """Queries of each file."""
        return np.bincount(self.file).astype(np.float64)

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of each file, float64 (n_files, n_columns)."""
        return np.stack([np.bincount(self.file, column) for column in values.T], axis=1)


def benchmark_layout() -> Layout:
    """Return the layout of RepoEval's own files."""
    counts = Counter((row.task.repo, row.task.path) for row in coordinates(task_sets(FUNCTION)[0]))
    names = list(dict.fromkeys(repo for repo, _ in counts))
    return Layout(np.array(list(counts.values())), np.array([names.index(repo) for repo, _ in counts]))


def stored(folder: Path) -> Stored:
    """Read the runs of a folder."""
    runs = [find_run(str(path.parent), folder) for path in sorted(folder.glob(f"*/{MANIFEST}"))]
    measure, scores = headline_measure(runs), together([run.scores for run in runs])
    _, file = np.unique([str(cluster) for cluster in scores[0].clusters], return_inverse=True)
    metrics = runs[0].metrics
    name = f"{metrics.dataset.name}, {metrics.protocol}, {metrics.retriever.partition(':')[0]}"
    return Stored(name, np.column_stack([of_run.values[measure] for of_run in scores]), file)


def share(hits: float, samples: int) -> str:
    """Return a share with its Monte-Carlo error, as `94.1 +- 0.5`."""
    p = hits / samples
    return f"{100 * p:5.1f} +- {200 * sqrt(p * (1 - p) / samples):.1f}"


def differences(rng: np.random.Generator, layout: Layout, pools: tuple[FloatArray, FloatArray] | str) -> FloatArray:
    """Return sums per file of BATCH data sets whose true mean is 0, float64 (n_files, BATCH)."""

    def deviations(n: int, position: int) -> FloatArray:
        scale = (FILE_DEVIATION, QUERY_DEVIATION)[position]
        if pools == "normal":
            return scale * rng.normal(0, 1, (n, BATCH))
        if isinstance(pools, str):
            return scale * (rng.exponential(1, (n, BATCH)) - 1)
        return pools[position][rng.integers(0, len(pools[position]), (n, BATCH))]

    sizes = layout.sizes
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    of_queries = np.add.reduceat(deviations(int(sizes.sum()), 1), starts, axis=0)
    return sizes[:, None] * deviations(len(sizes), 0) + of_queries


def residuals(runs: Stored) -> tuple[FloatArray, FloatArray]:
    """Return the residuals of the first two runs' difference: of files, and of queries within files of several."""
    of_query = runs.values[:, 1] - runs.values[:, 0]
    means = runs.sums(of_query[:, None])[:, 0] / runs.sizes
    own = (of_query - means[runs.file])[runs.sizes[runs.file] > 1]
    return means - means.mean(), own - own.mean()


def print_intervals(samples: int, real: Stored | None) -> None:
    """Print how often an interval holds the truth, and how often a gate passes."""
    layout = benchmark_layout()
    head = "  ".join([f"gate at {above:+}" for above in ABOVE] + [f"swapped {above:+}" for above in SWAPPED])
    print(f"files  mean   differences  interval contains true value, %  {head}  false equal")
    kinds = {"normal": "normal", "exponential": "exponential"} | ({"real": residuals(real)} if real else {})
    every = len(layout.sizes)
    lines = [(over, every) for over in ("micro", "macro")] + [("micro", n_files) for n_files in FEW_FILES]
    for over, n_files in lines:
        for kind, pools in kinds.items():
            rng, covered, equal = np.random.default_rng([n_files, len(kind), len(over)]), 0, np.zeros(2)
            passed, swapped = np.zeros(len(ABOVE)), np.zeros(len(SWAPPED))
            for _ in range(samples // BATCH):
                drawn = layout.drawn(rng, n_files)
                sample = drawn.sample(differences(rng, drawn, pools), over)
                result = flip_signs(*sample.parts(), rng, flips=FLIPS)
                covered += int(((result.low <= 0) & (result.high >= 0)).sum())
                error = float(np.sqrt(np.mean(robust_error(sample)[0] ** 2)))
                passed += [int((result.low + above * error >= 0).sum()) for above in ABOVE]
                swapped += [int((result.high - above * error <= 0).sum()) for above in SWAPPED]
                low, high = strict_ends(sample.mean(), (result.low, result.high), effective_clusters(sample))
                equal += [int((low > 0).sum()), int((high < 0).sum())]
            shares = [*passed, *swapped, equal.max()]
            cells = "  ".join(f"{100 * hits / samples:8.1f} %" for hits in shares)
            print(f"{n_files:>5}  {over}  {kind:11}  {share(covered, samples):>31}  {cells}", flush=True)


def verdicts(sums: FloatArray, sizes: FloatArray, rng: np.random.Generator) -> int:
    """Return how many pairs of runs get `better` or `worse`; `sums` of files are (n_files, n_runs)."""
    pairs = np.array([*combinations(range(sums.shape[1]), 2)])
    sample = Sample(sums[:, pairs[:, 1]] - sums[:, pairs[:, 0]], sizes, np.zeros(len(sizes), dtype=np.int64))
    strict = flip_signs(*sample.parts(), rng, flips=FLIPS, intervals=False).p_strict
    n_found = 0
    for i, adjusted in enumerate(holm(strict.tolist())):
        if adjusted <= BORDERLINE[0]:
            of_pair = Sample(sample.sums[:, [i]], sizes, sample.groups)
            names = list(map(str, range(len(sizes))))
            without = influence(of_pair, names, adjusted / strict[i], lambda: np.random.default_rng(0))
            n_found += without is not None and without.rests_on is None and not without.doubtful
    return n_found


def print_verdicts(samples: int, runs: Stored) -> None:
    """Print how often one of four equal runs gets a verdict, and how many pairs of the real ones do."""
    print(f"{runs.name}: {runs.values.shape[1]} runs, {len(runs.sizes)} files, {len(runs.values)} queries")
    kinds = "false verdicts, equal on average, %  false verdicts, runs interchangeable, %"
    print(f"files  effective  {kinds}  pairs found, %")
    tables = {"centred": runs.values - runs.values.mean(axis=0), "exchanged": runs.values, "real": runs.values}
    for n_files in (*(n for n in WHOLE_FILES if n < len(runs.sizes)), len(runs.sizes)):
        cells, effective = [], 0.0
        for kind, values in tables.items():
            rng, hits, of_files = np.random.default_rng([n_files, len(kind)]), 0, runs.sums(values)
            for _ in range(samples):
                files = rng.integers(0, len(of_files), n_files)
                chosen = rng.permutation(of_files.shape[1])[:EQUAL_RUNS]
                sums, sizes = of_files[files][:, chosen], runs.sizes[files]
                if kind == "exchanged":
                    sums = rng.permuted(sums, axis=1)
                n_found = verdicts(sums, sizes, rng)
                hits += n_found if kind == "real" else n_found > 0
                effective += sizes.sum() ** 2 / np.square(sizes).sum() / samples / len(tables)
            cells.append(share(hits / (6 if kind == "real" else 1), samples))
        print(f"{n_files:>5}  {effective:>9.0f}  {cells[0]:>35}  {cells[1]:>39}  {cells[2]:>14}", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=2_000, help=f"data sets a line, in multiples of {BATCH}")
    parser.add_argument(
        "--runs", type=Path, nargs="+", default=[], metavar="FOLDER", help="stored runs of one question"
    )
    options = parser.parse_args()
    samples = max(BATCH, options.samples // BATCH * BATCH)
    layout = benchmark_layout()
    micro = layout.sample(np.zeros((len(layout.sizes), 1)), "micro")
    effective = effective_clusters(micro)
    print(f"{samples:,} samples a line; RepoEval's {len(layout.sizes)} files count like {effective:.1f}")
    folders = list(map(stored, options.runs))
    print_intervals(samples, folders[0] if folders else None)
    for runs in folders:
        print()
        print_verdicts(samples, runs)


if __name__ == "__main__":
    main()
