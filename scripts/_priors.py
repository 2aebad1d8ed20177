"""Scores of candidates by repository, from stored runs, and the prior that repositories give.

Runs are those of `recommend PACK --out FOLDER`: each chunker at three sizes.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import t

from repoeval_bench.analysis.comparable import headline_measure
from repoeval_bench.analysis.evidence import SIZES, known_name
from repoeval_bench.analysis.shrinkage import smoothed_covariance
from repoeval_bench.analysis.statistics import Sample, robust_covariance
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.own.recommend.request import PASTED
from repoeval_bench.runs.query_scores import together
from repoeval_bench.runs.records import MANIFEST
from repoeval_bench.runs.view import RunView

FloatArray = NDArray[np.float64]

CHUNKERS = ("fixed", "ast", "recursive", "window", "chonkie", "langchain", "llama-index", "ast:header=stem")
GOLDS = ("lines", "exact", "definitions")
HEADER = ":header="
LEAST_TAU = 0.005
CANDIDATES = tuple((name, size) for size in SIZES for name in CHUNKERS)


class Estimate:
    """A mean over repositories, in percentage points, with Student's 95 % interval."""

    def __init__(self, values: Sequence[float]) -> None:
        self.values = 100 * np.array(values)
        self.mean = float(self.values.mean())
        half = float(t.ppf(0.975, len(values) - 1) * self.values.std(ddof=1) / np.sqrt(len(values)))
        self.low, self.high = self.mean - half, self.mean + half

    def __format__(self, digits: str) -> str:
        return " ".join([f"{self.mean:+{digits}}", f"[{self.low:+{digits}}, {self.high:+{digits}}]"])


def read_measured(folder: Path) -> list[tuple[Mapping[str, Any], dict[str, Any]]]:
    """Read the arrays and the facts of each history that validate_history.py measured."""
    loaded = [np.load(file) for file in sorted(folder.glob("*.npz"))]
    return [(arrays, json.loads(str(arrays["facts"]))) for arrays in loaded]


def print_priors(priors: dict[str, Any]) -> None:
    """Print data/priors.json, with each list of plain values on one line."""
    plain = re.compile(r"\[[^\[\]{}]*\]")
    print(plain.sub(lambda match: json.dumps(json.loads(match[0])), json.dumps(priors, indent=1)))


def read_questions(folder: Path) -> dict[str, list[Sample]]:
    """Return protocol -> each repository's headline scores, from the runs of a folder by one retriever.

    Scores are less each query's mean over the candidates, and a file is a cluster.
    """
    runs: defaultdict[str, list[RunView]] = defaultdict(list)
    for path in sorted(folder.glob(f"*/{MANIFEST}")):
        run = RunView.open(path.parent)
        runs[run.metrics.protocol].append(run)
    return {protocol: _repositories(of_protocol) for protocol, of_protocol in runs.items()}


def _repositories(runs: Sequence[RunView]) -> list[Sample]:
    by_name: defaultdict[str, list[RunView]] = defaultdict(list)
    for run in runs:
        by_name[known_name(run.metrics.chunker)].append(run)
    by_candidate = {
        (name, size): run
        for name, of_name in by_name.items()
        if name in CHUNKERS
        for size, run in zip(SIZES, sorted(_sized(of_name), key=lambda run: run.metrics.chunk_nws.mean), strict=True)
    }
    ordered = [by_candidate[candidate] for candidate in CANDIDATES]
    joined, measure = together([run.scores for run in ordered]), headline_measure(ordered)
    table = np.column_stack([scores.values[measure] for scores in joined])
    relative = table - table.mean(axis=1, keepdims=True)
    repos, files = np.array(joined[0].repos), np.array([str(cluster) for cluster in joined[0].clusters])
    masks = [repos == repo for repo in dict.fromkeys(joined[0].repos)]
    return [Sample.micro(relative[mask], files[mask].tolist()) for mask in masks]


def _sized(runs: Sequence[RunView]) -> Sequence[RunView]:
    """Return a chunker's runs at the three sizes, without those of the settings that people paste."""
    pasted = {make_chunker(spec).spec for spec in PASTED}
    return runs if len(runs) == len(SIZES) else [run for run in runs if run.metrics.chunker not in pasted]


def pooled_noise(samples: Sequence[Sample]) -> FloatArray:
    """Return the covariance of one query's scores around its repository's mean, pooled over repositories."""
    several = [sample for sample in samples if sample.n_clusters > 1]
    total = sum((sample.n_clusters - 1) * sample.counts.sum() * robust_covariance(sample) for sample in several)
    return np.asarray(total / sum(sample.n_clusters - 1 for sample in several))


def estimated_means(samples: Sequence[Sample], noise: FloatArray, tau: float) -> FloatArray:
    """Return what other repositories predict of the next one: means weighted by 1 / (tau^2 + s^2)."""
    own, errors = errors_of(samples, noise)
    weights = 1 / (tau**2 + errors)
    return np.asarray(weights @ own / weights.sum())


def errors_of(samples: Sequence[Sample], noise: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each repository's own means, (n, k), and s^2, (n,)."""
    traces = [float(np.trace(smoothed_covariance(sample, noise))) for sample in samples]
    return np.array([sample.mean() for sample in samples]), np.array(traces) / (len(noise) - 1)


def tau_around_others(sets: Sequence[tuple[FloatArray, FloatArray]]) -> float:
    """Return the tau at which repositories are on average as far from the mean of their set's others as expected.

    A set has its repositories' means and s^2. The expected squared distance is (k - 1) (tau^2 + s^2 + the variance of
    the others' mean).
    """

    def excess(tau: float) -> float:
        ratios = []
        for own, errors in sets:
            weights = 1 / (tau**2 + errors)
            more = weights.sum() - weights
            others = (weights @ own - weights[:, None] * own) / more[:, None]
            ratios.append(_ratios(own, others, tau**2 + errors + 1 / more))
        return float(np.concatenate(ratios).mean()) - 1

    return _root_of(excess)


def tau_around(own: FloatArray, errors: FloatArray, expected: FloatArray) -> float:
    """Return the same tau around a given mean."""
    return _root_of(lambda tau: float(_ratios(own, expected, tau**2 + errors).mean()) - 1)


def _ratios(own: FloatArray, expected: FloatArray, variance: FloatArray) -> FloatArray:
    """Return each repository's squared distance over its expectation."""
    return np.asarray(((own - expected) ** 2).sum(axis=1) / ((own.shape[1] - 1) * variance))


def _root_of(excess: Callable[[float], float]) -> float:
    """Return where a falling function of tau is 0; `LEAST_TAU` if it is not above 0 there."""
    return float(brentq(excess, LEAST_TAU, 1)) if excess(LEAST_TAU) > 0 else LEAST_TAU
