"""The script that estimates the priors."""

import importlib
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.fixture
def script(monkeypatch):
    """Import a script by name."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module


def test_the_deviation_of_repositories_is_found_beside_their_noise(script):
    """Sets have means of their own: around these it is that within a set, around the mean of another set it is more."""
    priors, rng = script("_priors"), np.random.default_rng(3)
    errors = rng.uniform(0.01, 0.03, 300) ** 2
    sets = []
    for mean in rng.normal(0, 0.04, (2, 8)):
        own = mean + rng.normal(0, 0.02, (300, 8)) + rng.normal(0, np.sqrt(errors)[:, None], (300, 8))
        sets.append((own - own.mean(axis=1, keepdims=True), errors))
    assert priors.tau_around_others(sets) == pytest.approx(0.02, rel=0.05)
    (first, _), (second, _) = sets
    between = np.sqrt(((first.mean(axis=0) - second.mean(axis=0)) ** 2).sum() / 7)
    assert priors.tau_around(*sets[0], second.mean(axis=0)) == pytest.approx(np.hypot(0.02, between), rel=0.05)
    assert priors.tau_around_others([(0 * first, errors)]) == priors.LEAST_TAU
