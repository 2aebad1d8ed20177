"""The scripts run, and the one that estimates the priors finds what it looks for."""

from pathlib import Path

import numpy as np
import pytest

from support.command import python

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_parts_of_the_benchmark_run():
    """Those that need no data, at small sizes, whatever the figures: a part that fails ends `make bench` with 1."""
    # By the path that make gives: what workers import of the script's folder depends on it.
    done = python("scripts/bench.py", "--quick", cwd=CHECKOUT, PYTHONPATH=str(CHECKOUT))
    assert done.code == 0, done.out[-3000:] + done.err[-1000:]


def test_the_deviation_of_repositories_is_found_beside_their_noise():
    """Sets have means of their own: around these it is that within a set, around the mean of another set it is more."""
    from _priors import LEAST_TAU, tau_around, tau_around_others

    rng = np.random.default_rng(3)
    errors = rng.uniform(0.01, 0.03, 300) ** 2
    sets = []
    for mean in rng.normal(0, 0.04, (2, 8)):
        own = mean + rng.normal(0, 0.02, (300, 8)) + rng.normal(0, np.sqrt(errors)[:, None], (300, 8))
        sets.append((own - own.mean(axis=1, keepdims=True), errors))
    assert tau_around_others(sets) == pytest.approx(0.02, rel=0.05)
    (first, _), (second, _) = sets
    between = np.sqrt(((first.mean(axis=0) - second.mean(axis=0)) ** 2).sum() / 7)
    assert tau_around(*sets[0], second.mean(axis=0)) == pytest.approx(np.hypot(0.02, between), rel=0.05)
    assert tau_around_others([(0 * first, errors)]) == LEAST_TAU
