"""Error rates of the statistics, by simulation on the benchmark's own files.

python scripts/simulate_coverage.py [--samples N] [--runs RUN RUN [--measure NAME]]

Files have as many queries as RepoEval's (42, 35, 22, …, 1). In the lines for 20, 8 and 6 files, RepoEval's are drawn at
random. The difference of a query is the sum of a deviation of its file and one of its own. Both are normal, or both
exponential less their mean (skewness 2). With two stored runs both are drawn from these runs' differences, centred.
"whole files" are these runs' files with all their queries, drawn with replacement. +- is two Monte-Carlo errors. In the
last table all queries of a file score alike, and few files differ from the others, or few differ by much.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
from collections import Counter
from dataclasses import dataclass
from itertools import product
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri, stdtrit

from repoeval_bench.analysis.new_repositories import half_prediction
from repoeval_bench.analysis.pair_verdicts import ties_suffice
from repoeval_bench.analysis.robust_errors import effective_clusters, minimum_detectable, robust_error
from repoeval_bench.analysis.sign_flips import ALPHA, FEWEST_CLUSTERS, flip_signs
from repoeval_bench.analysis.statistics import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

INDEX = Path(__file__).resolve().parents[1] / "data" / "index" / "tasks-function-2k-codex.tsv"
SAMPLES = 10_000
BATCH = 500
"""Data sets of different values that share their flips, as columns."""
FLIPS = 4_000
FILE_DEVIATION, QUERY_DEVIATION = 0.1, 0.2
REPOSITORY_CORRELATION = 0.1
DRAWN_FILES, FEW_FILES = 20, 8
WHOLE_FILES = (6, 8, 12, 20, 40)
RARE = 0.04
"""Share of files that differ from the others, if few do."""
FROM_LIMIT = (-0.5, 0.0, 0.5, 1.0, 1.5)
"""True values of gated runs, in detectable differences from the limit."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Files with their numbers of queries, int64 (n_files,), and their repositories, from 0."""

    sizes: NDArray[np.int64]
    repositories: NDArray[np.int64]

    def sample(self, sums: FloatArray, over: str) -> Sample:
        """Return sums per file, float64 (n_files, n_columns), as a sample of the mean over queries or repositories."""
        counts = self.sizes.astype(np.float64)
        groups = self.repositories if over == "macro" else np.zeros_like(self.repositories)
        return Sample(sums, counts, groups)

    def drawn(self, rng: np.random.Generator, n_files: int) -> Layout:
        """Return files drawn at random, as one repository."""
        index = rng.choice(len(self.sizes), n_files, replace=False)
        return Layout(self.sizes[index], np.zeros(n_files, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Residuals:
    """The differences of two runs around their mean: of files, and of queries around their file."""

    files: FloatArray
    queries: FloatArray


def benchmark_layout() -> Layout:
    """Return the layout of RepoEval's own files."""
    with INDEX.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader((line for line in stream if not line.startswith("#")), delimiter="\t"))
    counts = Counter((row["task_id"].rpartition("/")[0], row["path"]) for row in rows)
    names = list(dict.fromkeys(repo for repo, _ in counts))
    return Layout(np.array(list(counts.values())), np.array([names.index(repo) for repo, _ in counts]))


def whole_files(sample: Sample, n_files: int, rng: np.random.Generator) -> tuple[int, int, int]:
    """Draw BATCH data sets of files from a sample of one column, moved to the true mean 0.

    Return how many intervals contain 0, how many tests reject it, and how many CR2 intervals by Student's t contain it.
    Each data set has files, and so weights, of its own.
    """
    around = sample.sums[:, 0] - sample.counts * sample.mean()[0]
    covered = rejected = by_t = 0
    for _ in range(BATCH):
        index = rng.integers(0, sample.n_clusters, n_files)
        drawn = Sample(around[index, None], sample.counts[index], np.zeros(n_files, dtype=np.int64))
        result = flip_signs(*drawn.parts(), rng, first=FLIPS, most=FLIPS)
        covered += bool(result.low[0] <= 0 <= result.high[0])
        rejected += bool(result.p[0] < ALPHA)
        robust = robust_error(drawn)
        by_t += bool(abs(drawn.mean()[0]) <= stdtrit(robust.df, 1 - ALPHA / 2) * robust.error[0])
    return covered, rejected, by_t


def simulate(rng: np.random.Generator, layout: Layout, kind: str, residuals: Residuals | None) -> FloatArray:
    """Return sums per file of BATCH data sets whose true mean is 0, float64 (n_files, BATCH)."""
    n_files, sizes = len(layout.sizes), layout.sizes

    def deviations(n: int, pool: FloatArray | None, scale: float) -> FloatArray:
        if kind == "normal":
            return scale * rng.normal(0, 1, (n, BATCH))
        if kind == "exponential":
            return scale * (rng.exponential(1, (n, BATCH)) - 1)
        assert pool is not None
        return pool[rng.integers(0, len(pool), (n, BATCH))]

    of_files = deviations(n_files, residuals and residuals.files, FILE_DEVIATION)
    of_queries = deviations(int(sizes.sum()), residuals and residuals.queries, QUERY_DEVIATION)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return sizes[:, None] * of_files + np.add.reduceat(of_queries, starts, axis=0)


def share(hits: float, samples: int) -> str:
    """Return a share with its Monte-Carlo error, as `94.1 +- 0.5 %`."""
    p = hits / samples
    return f"{100 * p:5.1f} +- {200 * sqrt(p * (1 - p) / samples):.1f} %"


def measure(
    layouts: Callable[[], Layout],
    over: str,
    draw: Callable[[Layout], FloatArray],
    rng: np.random.Generator,
    samples: int,
) -> tuple[list[str], list[str]]:
    """Measure how often intervals and verdicts are wrong, and how often gates pass.

    Return for intervals coverage, false verdicts, power at the detectable difference, and false equality at the margin;
    for gates how often one passes at each distance of the true value from its limit, in detectable differences.
    """
    covered = wrong = shown = equal = 0
    passed = np.zeros(len(FROM_LIMIT))
    for _ in range(samples // BATCH):
        layout = layouts()
        sample = layout.sample(draw(layout), over)
        parts, weights = sample.parts()
        result = flip_signs(parts, weights, rng, first=FLIPS, most=FLIPS)
        covered += int(((result.low <= 0) & (result.high >= 0)).sum())
        wrong += int((result.p < ALPHA).sum())
        detectable = float(np.mean([mde for mde in minimum_detectable(sample) if mde is not None]))
        moved = flip_signs(parts + detectable * weights[:, None], weights, rng, first=FLIPS, most=FLIPS)
        shown += int((moved.p < ALPHA).sum())
        # The true mean is at the margin, 1.5 times the detectable difference: "equal" is wrong.
        margin = 1.5 * detectable
        equal += int(((result.low + margin > -margin) & (result.high + margin < margin)).sum())
        equal += int(((result.low - margin > -margin) & (result.high - margin < margin)).sum())
        # The limit is 0: a gate passes if the lower end reaches it.
        passed += [int((result.low + step * detectable >= 0).sum()) for step in FROM_LIMIT]
    verdicts = [share(covered, samples), share(wrong, samples), share(shown, samples), share(equal / 2, samples)]
    return verdicts, [share(hits, samples) for hits in passed]


RARE_KINDS = {
    "hit in 96 % of files": lambda u: (u >= RARE).astype(float),
    "gain in 4 %": lambda u: (u < RARE).astype(float),
    "gain in 4 %, loss in 4 %": lambda u: (u < RARE).astype(float) - (u > 1 - RARE),
    "gain in 10 %, loss in 5 %": lambda u: (u < 0.1).astype(float) - (u > 0.95),
    "lognormal": lambda u: (np.exp(ndtri(u)) - sqrt(np.e)) / sqrt((np.e - 1) * np.e),
}
"""Name -> function from a uniform number to the score or difference of all queries of a file."""
RARE_FILES = (6, 12, 20, 40, 114)
RARE_MEANS = (1 - RARE, RARE, 0.0, 0.05, 0.0)


def rare(layouts: Callable[[], Layout], kind: str, truth: float, rng: np.random.Generator, samples: int) -> list[str]:
    """Return coverage, intervals wholly above and below the true mean, false verdicts, false equality at the margin."""
    result = np.zeros(5)
    for _ in range(samples // BATCH):
        layout = layouts()
        values = RARE_KINDS[kind](rng.random((len(layout.sizes), BATCH)))
        parts, weights = layout.sample(values * layout.sizes[:, None], "micro").parts()
        flipped = flip_signs(parts, weights, rng, first=FLIPS, most=FLIPS)
        above, below = flipped.low > truth + 1e-9, flipped.high < truth - 1e-9
        enough = values.any(axis=0) | ties_suffice(len(values), abs(truth))
        equal = enough & (-abs(truth) < flipped.low) & (flipped.high < abs(truth))
        shown = (flipped.p < ALPHA) & (truth == 0)
        result += [(~above & ~below).sum(), above.sum(), below.sum(), shown.sum(), equal.sum()]
    cells = [share(hits, samples) for hits in result]
    return [*cells[:3], cells[3] if truth == 0 else "", "" if truth == 0 else cells[4]]


def new_repositories(layout: Layout, rng: np.random.Generator, samples: int) -> str:
    """Return how often the intervals contain the mean of new repositories, if repositories vary too."""
    variance = FILE_DEVIATION**2 + QUERY_DEVIATION**2
    deviation = sqrt(variance * REPOSITORY_CORRELATION / (1 - REPOSITORY_CORRELATION))
    n_repositories = int(layout.repositories.max()) + 1
    by_files = by_repositories = two_levels = predicted = 0
    others = np.random.default_rng(13)
    weights_r = np.full(n_repositories, 1 / n_repositories)
    t = float(stdtrit(n_repositories - 1, 0.975))
    for _ in range(samples // BATCH):
        effects = deviation * rng.normal(0, 1, (n_repositories, BATCH))
        sums = simulate(rng, layout, "normal", None) + layout.sizes[:, None] * effects[layout.repositories]
        sample = layout.sample(sums, "macro")
        result = flip_signs(*sample.parts(), rng, first=FLIPS, most=FLIPS)
        by_files += int(((result.low <= 0) & (result.high >= 0)).sum())
        means = np.array([(s.sum(axis=0) / n.sum()) for s, n in sample.members()])
        over = flip_signs(means * weights_r[:, None], weights_r, rng)
        by_repositories += int(((over.low <= 0) & (over.high >= 0)).sum())
        errors = np.array([robust_error(one).error for one in by_repository(layout, sums)])
        spread, within = means.var(axis=0, ddof=1), (errors**2).mean(axis=0)
        half = t * np.sqrt(np.maximum(spread, within) / n_repositories)
        two_levels += int((np.abs(means.mean(axis=0)) <= half).sum())
        pairs = zip(spread.tolist(), within.tolist(), strict=True)
        ahead = [half_prediction(between, inside, n_repositories) for between, inside in pairs]
        off = np.abs(means.mean(axis=0) - deviation * others.normal(0, 1, BATCH))
        predicted += int((off <= np.maximum(half, ahead)).sum())
    return (
        f"interval over files {share(by_files, samples)}, over repositories {share(by_repositories, samples)}, "
        f"two-level {share(two_levels, samples)}; "
        f"a new repository lies where it is predicted {share(predicted, samples)}"
    )


def by_repository(layout: Layout, sums: FloatArray) -> list[Sample]:
    """Return the files of each repository as a sample of their own."""
    return [
        Layout(layout.sizes[inside], np.zeros(int(inside.sum()), dtype=np.int64)).sample(sums[inside], "micro")
        for inside in (layout.repositories == i for i in range(int(layout.repositories.max()) + 1))
    ]


def heterogeneity(layout: Layout, kind: str, residuals: Residuals | None, samples: int) -> str:
    """Return how often the intervals of the lowest and the highest repository lie apart without a true difference."""
    rng = np.random.default_rng(21)
    apart = 0
    for _ in range(samples // BATCH):
        results = [
            (one.mean(), flip_signs(*one.parts(), rng, first=FLIPS, most=FLIPS))
            for one in by_repository(layout, simulate(rng, layout, kind, residuals))
            if one.n_clusters >= FEWEST_CLUSTERS
        ]
        means = np.array([mean for mean, _ in results])
        columns = np.arange(BATCH)
        below = np.array([flipped.high for _, flipped in results])[means.argmin(axis=0), columns]
        above = np.array([flipped.low for _, flipped in results])[means.argmax(axis=0), columns]
        apart += int((below < above).sum())
    return share(apart, samples)


def stored_differences(runs: Sequence[str], name: str) -> tuple[FloatArray, list[Hashable]]:
    """Return the differences of two stored runs, and each query's file."""
    from repoeval_bench.runs.naming import find_run

    first, second = (find_run(run, Path("results")).scores for run in runs)
    return second.values[name] - first.values[name], list(first.clusters)


def residuals_of(differences: FloatArray, clusters: Sequence[Hashable]) -> Residuals:
    """Return the residuals of files, and of queries within files that have several."""
    sample = Sample.micro(differences, clusters)
    means = sample.sums[:, 0] / sample.counts
    order = {cluster: i for i, cluster in enumerate(dict.fromkeys(clusters))}
    index = np.array([order[cluster] for cluster in clusters])
    own = (differences - means[index])[sample.counts[index] > 1]
    return Residuals(means - means.mean(), own - own.mean())


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=SAMPLES, help=f"data sets a line, in multiples of {BATCH}")
    parser.add_argument("--runs", nargs=2, metavar="RUN", help="stored runs whose differences give the real residuals")
    parser.add_argument("--measure", default="line_recall_auc", help="the measure of these runs")
    options = parser.parse_args()
    samples = max(BATCH, options.samples // BATCH * BATCH)
    stored = stored_differences(options.runs, options.measure) if options.runs else None
    residuals = residuals_of(*stored) if stored else None
    layout = benchmark_layout()
    micro = layout.sample(np.zeros((len(layout.sizes), 1)), "micro")
    macro = layout.sample(np.zeros((len(layout.sizes), 1)), "macro")
    print(
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores; {samples:,} samples a line, {FLIPS:,} flips"
    )
    print(
        f"{len(layout.sizes)} files, {int(layout.sizes.sum())} queries; "
        f"effective files {effective_clusters(micro):.1f}; "
        f"degrees of freedom micro {robust_error(micro).df:.1f}, macro {robust_error(macro).df:.1f}"
    )
    print(
        f"{'files':>5}  {'mean':5}  {'residuals':11}  {'interval holds':>15}  {'false verdict':>15}  "
        f"{'power':>15}  {'false equality':>15}"
    )
    kinds = ("normal", "exponential", *(("real",) if residuals else ()))
    lines = [(over, kind, len(layout.sizes)) for over in ("micro", "macro") for kind in kinds]
    lines += [("micro", kind, n_files) for n_files in (DRAWN_FILES, FEW_FILES, FEWEST_CLUSTERS) for kind in kinds]
    gates = []
    for over, kind, n_files in lines:
        rng = np.random.default_rng([n_files, len(kind), len(over)])
        whole = n_files == len(layout.sizes)
        cells, passes = measure(
            lambda whole=whole, rng=rng, n_files=n_files: layout if whole else layout.drawn(rng, n_files),
            over,
            lambda drawn, rng=rng, kind=kind: simulate(rng, drawn, kind, residuals),
            rng,
            samples,
        )
        print(f"{n_files:>5}  {over:5}  {kind:11}  " + "  ".join(f"{cell:>15}" for cell in cells), flush=True)
        gates.append((n_files, over, kind, passes))
    for n_files in WHOLE_FILES if stored else ():
        rng = np.random.default_rng([n_files, 3])
        sample = Sample.micro(*stored)
        counts = np.sum([whole_files(sample, n_files, rng) for _ in range(samples // BATCH)], axis=0)
        covered, rejected, by_t = (share(count, samples) for count in counts)
        print(f"{n_files:>5}  micro  whole files  {covered:>15}  {rejected:>15}  Student's t holds {by_t}")
    print("a gate passes, the true value being so many detectable differences from its limit:")
    print(f"{'files':>5}  {'mean':5}  {'residuals':11}  " + "  ".join(f"{step:>+15.1f}" for step in FROM_LIMIT))
    for n_files, over, kind, passes in gates:
        print(f"{n_files:>5}  {over:5}  {kind:11}  " + "  ".join(f"{cell:>15}" for cell in passes))
    false = ", ".join(f"{kind} {heterogeneity(layout, kind, residuals, samples)}" for kind in kinds)
    print(f"no heterogeneity between repositories, and yet two intervals lie apart: {false}")
    rng = np.random.default_rng(8)
    print(
        f"new repositories, correlation within one {REPOSITORY_CORRELATION}: {new_repositories(layout, rng, samples)}"
    )
    print(
        f"{'files':>5}  {'queries of a file score':26}  {'interval holds':>15}  {'wholly above':>15}  "
        f"{'wholly below':>15}  {'false verdict':>15}  {'false equality':>15}"
    )
    for (kind, truth), n_files in product(zip(RARE_KINDS, RARE_MEANS, strict=True), RARE_FILES):
        rng = np.random.default_rng([n_files, len(kind)])
        whole = n_files == len(layout.sizes)
        cells = rare(
            lambda whole=whole, rng=rng, n_files=n_files: layout if whole else layout.drawn(rng, n_files),
            kind,
            truth,
            rng,
            samples,
        )
        print(f"{n_files:>5}  {kind:26}  " + "  ".join(f"{cell:>15}" for cell in cells).rstrip(), flush=True)


if __name__ == "__main__":
    main()
