"""Scores of candidates by repository, from stored runs, and the prior that repositories give: for two scripts.

Runs are those of `recommend PACK --out FOLDER`: each chunker at three sizes. A folder's scores are kept beside it in a
file of NumPy, so that they are read once.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from repoeval_bench.analysis.comparable import headline_measure
from repoeval_bench.analysis.evidence import SIZES
from repoeval_bench.analysis.robust_errors import robust_covariance
from repoeval_bench.analysis.shrinkage import smoothed_covariance
from repoeval_bench.analysis.statistics import Sample
from repoeval_bench.core.spec import Spec
from repoeval_bench.runs.query_scores import together
from repoeval_bench.runs.records import MANIFEST
from repoeval_bench.runs.view import RunView

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

CHUNKERS = ("fixed", "ast", "recursive", "window", "chonkie", "langchain", "llama-index")
LEAST_TAU = 0.005
CANDIDATES = tuple((name, size) for size in SIZES for name in CHUNKERS)


@dataclass(frozen=True)
class Repository:
    """One repository's scores less each query's mean over the candidates, a cluster for each file."""

    name: str
    sample: Sample


@dataclass(frozen=True)
class Question:
    """The results of one protocol and retriever: the repositories, and each candidate's mean chunk in characters."""

    protocol: str
    retriever: str
    repositories: tuple[Repository, ...]
    sizes: tuple[float, ...]


@dataclass(frozen=True)
class Estimate:
    """A prediction for the next repository from the others; the means are less that over the candidates."""

    means: FloatArray
    tau: float
    noise: FloatArray


def read_questions(folder: Path) -> list[Question]:
    """The questions of a folder of runs."""
    kept = folder.with_name(folder.name + ".npz")
    if not kept.is_file():
        columns: dict[str, Any] = dict(_columns(folder))
        np.savez_compressed(kept, **columns)
    stored = np.load(kept)
    results = []
    for name in dict.fromkeys(each.rpartition("/")[0] for each in stored.files):
        table, files, repositories, sizes = (stored[f"{name}/{part}"] for part in ("scores", "files", "of", "sizes"))
        protocol, retriever = name.split("/")
        relative = table - table.mean(axis=1, keepdims=True)
        members = [np.flatnonzero(repositories == each) for each in dict.fromkeys(repositories.tolist())]
        samples = [
            Repository(str(repositories[index[0]]), Sample.micro(relative[index], files[index].tolist()))
            for index in members
        ]
        results.append(Question(protocol, retriever, tuple(samples), tuple(sizes.tolist())))
    return results


def _columns(folder: Path) -> dict[str, NDArray[np.generic]]:
    """The headline's scores of each question's runs, (n_queries, n_candidates), with files, repositories and sizes."""
    runs: defaultdict[str, list[RunView]] = defaultdict(list)
    for path in sorted(folder.glob(f"*/{MANIFEST}")):
        run = RunView.open(path.parent)
        runs[f"{run.metrics.protocol}/{Spec.parse(run.metrics.retriever).name}"].append(run)
    results: dict[str, NDArray[np.generic]] = {}
    for question, made in runs.items():
        by_name: defaultdict[str, list[RunView]] = defaultdict(list)
        for run in made:
            by_name[Spec.parse(run.metrics.chunker).name].append(run)
        placed = {
            (name, size): run
            for name, of_name in by_name.items()
            for size, run in zip(SIZES, sorted(of_name, key=_chunk_size), strict=True)
        }
        chosen = [placed[candidate] for candidate in CANDIDATES]
        joined = together([run.scores for run in chosen])
        measure = headline_measure(chosen)
        results |= {
            f"{question}/scores": np.column_stack([each.values[measure] for each in joined]),
            f"{question}/files": np.array([str(each) for each in joined[0].clusters]),
            f"{question}/of": np.array(joined[0].repos),
            f"{question}/sizes": np.array([_chunk_size(run) for run in chosen]),
        }
    return results


def _chunk_size(run: RunView) -> float:
    assert run.metrics.chunk_nws is not None
    return run.metrics.chunk_nws.mean


def pooled_noise(samples: Sequence[Sample]) -> FloatArray:
    """The covariance of one query's scores around its repository's mean, from all repositories by their files."""
    told = [each for each in samples if each.n_clusters > 1]
    total = sum((each.n_clusters - 1) * each.counts.sum() * robust_covariance(each) for each in told)
    return np.asarray(total / sum(each.n_clusters - 1 for each in told))


def estimate(samples: Sequence[Sample], noise: FloatArray, tau: float | None = None) -> Estimate:
    """Means with the weight of 1 / (tau^2 + s^2); tau is solved for where none is given."""
    own, errors = errors_of(samples, noise)
    tau = tau_around_others([(own, errors)]) if tau is None else tau
    weights = 1 / (tau**2 + errors)
    return Estimate(np.asarray(weights @ own / weights.sum()), tau, noise)


def errors_of(samples: Sequence[Sample], noise: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Each repository's own means, (n, k), and s^2, (n,)."""
    return np.array([sample.mean() for sample in samples]), np.array([_error(sample, noise) for sample in samples])


def tau_around_others(sets: Sequence[tuple[FloatArray, FloatArray]]) -> float:
    """The tau at which each repository is as far from the mean of its set's others as it should be, on average.

    A set has its repositories' means and s^2. The squared distance should be (k - 1) (tau^2 + s^2 + the variance of
    the others' mean).
    """

    def excess(tau: float) -> float:
        ratios: list[float] = []
        for own, errors in sets:
            weights = 1 / (tau**2 + errors)
            total, summed = weights.sum(), weights @ own
            for mean, error, weight in zip(own, errors, weights, strict=True):
                others = (summed - weight * mean) / (total - weight)
                should = (len(mean) - 1) * (tau**2 + error + 1 / (total - weight))
                ratios.append(float(((mean - others) ** 2).sum() / should))
        return float(np.mean(ratios)) - 1

    return _root_of(excess)


def tau_around(sets: Sequence[tuple[FloatArray, FloatArray, FloatArray]]) -> float:
    """The same around an expected mean that is given for each set after its means and s^2."""

    def excess(tau: float) -> float:
        ratios = [
            ((own - expected) ** 2).sum(axis=1) / ((own.shape[1] - 1) * (tau**2 + errors))
            for own, errors, expected in sets
        ]
        return float(np.concatenate(ratios).mean()) - 1

    return _root_of(excess)


def _root_of(excess: Callable[[float], float]) -> float:
    """Return where a falling function of tau is 0, by bisection; `LEAST_TAU` where it is below 0 from the start."""
    low, high = LEAST_TAU, 1.0
    if excess(low) < 0:
        return low
    for _ in range(40):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return low


def _error(sample: Sample, noise: FloatArray) -> float:
    return float(np.trace(smoothed_covariance(sample, noise))) / (len(noise) - 1)
