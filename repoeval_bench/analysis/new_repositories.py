"""What a difference says of repositories that nobody has measured: repositories vary, not only their files.

"On these repositories" resamples files within the repositories at hand. "On new repositories" takes each repository's
mean difference as one observation, whatever the number of its tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.analysis.records import NewRepositories, RepositoryEffect
from repoeval_bench.analysis.robust_errors import robust_error
from repoeval_bench.analysis.sign_flips import flip_signs
from repoeval_bench.analysis.statistics import Sample, bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray


LEVEL = 0.95


def new_repositories(
    differences: NDArray[np.float64],
    files: Sequence[Hashable],
    repositories: Sequence[str],
    rng: Callable[[], np.random.Generator],
) -> NewRepositories:
    """Judge paired differences, float64 (n_queries,), with each query's file and repository; `rng` makes generators."""
    names = list(dict.fromkeys(repositories))
    at = np.array([names.index(name) for name in repositories])
    file_list = list(files)
    effects, errors = [], []
    for i, name in enumerate(names):
        chosen = np.flatnonzero(at == i)
        sample = Sample.micro(differences[chosen], [file_list[j] for j in chosen.tolist()])
        flipped = flip_signs(*sample.parts(), rng())
        effects.append(
            RepositoryEffect(
                repository=name,
                difference=float(sample.mean()[0]),
                ci=bounded(float(flipped.low[0]), float(flipped.high[0])),
                n_queries=len(chosen),
                n_files=sample.n_clusters,
            )
        )
        errors.append(float(robust_error(sample).error[0]))
    means = np.array([effect.difference for effect in effects])
    weights = np.full(len(means), 1 / len(means))
    flipped = flip_signs((means * weights)[:, None], weights, rng())
    deviation, prediction, two_level = _between(means, np.array(errors))
    return NewRepositories(
        difference=float(means.mean()),
        ci=bounded(float(flipped.low[0]), float(flipped.high[0])),
        p=float(flipped.p[0]),
        deviation=deviation,
        prediction=prediction,
        two_level=two_level,
        repositories=tuple(effects),
    )


def _between(
    means: NDArray[np.float64], errors: NDArray[np.float64]
) -> tuple[float | None, tuple[float, float] | None, tuple[float, float] | None]:
    """(deviation, prediction, two-level interval) of repositories with these means and errors; None of fewer than 3."""
    n = len(means)
    if n < 3:
        return None, None, None
    from scipy.special import stdtrit

    spread = float(means.var(ddof=1))
    known = errors[~np.isnan(errors)]
    # A repository of one file tells nothing of its own error; it is taken from the others.
    within = float((known**2).mean()) if known.size else 0.0
    between = max(0.0, spread - within)
    times, middle = float(stdtrit(n - 1, (1 + LEVEL) / 2)), float(means.mean())

    def around(variance: float) -> tuple[float, float]:
        half = times * float(np.sqrt(variance))
        return middle - half, middle + half

    return float(np.sqrt(between)), around(between + spread / n), around((between + within) / n)
