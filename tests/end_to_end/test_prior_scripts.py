"""The scripts that estimate the priors, and try the bound of the loss on packages that are in no pack."""

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


def trial(bounds, loss):
    """A package of one split, whose loss is held by a bound of 0.01 or is not."""
    return (bounds.Trial(loss=loss, expected=0, bound=0.01, bound_with_noise=0.02, distance=1, stated_distance=1),)


def test_the_share_of_packages_has_an_exact_interval(script):
    bounds = script("try_bounds")
    tried = bounds.Tried((*[trial(bounds, 0.0)] * 18, trial(bounds, 0.015), trial(bounds, 0.03)))
    assert (tried.held(), tried.held(noise=True)) == (18, 19)
    assert tried.interval(18) == pytest.approx((0.683, 0.988), abs=1e-3)
    assert tried.interval(20) == pytest.approx((0.832, 1), abs=1e-3)


@pytest.mark.parametrize(
    ("held", "failed", "shown"),
    [
        ((25, 25), (1, 1), {"python", "typescript"}),
        ((25, 12), (1, 0), set()),  # fewer than 40 in all
        ((45, 12), (1, 9), set()),  # of all together 95 % is rejected
        ((90, 11), (2, 4), {"python"}),
        ((45, 5), (1, 0), {"python"}),  # five are too few of a language
    ],
)
def test_a_bound_is_shown_where_it_is_not_rejected(script, held, failed, shown):
    bounds = script("try_bounds")
    packages = [[trial(bounds, 0.0)] * n + [trial(bounds, 0.05)] * m for n, m in zip(held, failed, strict=True)]
    tried = {
        (language, ("uses",)): bounds.Tried(tuple(of_language))
        for language, of_language in (
            ("python", packages[0]),
            ("typescript", packages[1]),
            ("all", packages[0] + packages[1]),
        )
    }
    assert {case["language"] for case in bounds.bounds_of(tried)} == shown


def test_the_loss_on_unseen_files_is_not_raised_by_noise(script):
    """All candidates are equal: the best of one part is on average no better on the other."""
    rng = np.random.default_rng(4)
    first, second = rng.normal(0, 0.05, (2, 20_000, 6))
    losses = script("try_bounds").cross_fitted(first, second, 2)
    assert losses.mean() == pytest.approx(0, abs=0.002)
