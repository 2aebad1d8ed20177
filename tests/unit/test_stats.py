"""Statistics over clusters: known answers, and agreement with brute force."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.stats import bca_interval, cluster_sums, holm, sign_flip_p


def rng():
    return np.random.default_rng(7)


def test_cluster_sums():
    """Values are summed and counted per cluster, in order of first appearance."""
    sums, counts = cluster_sums([1.0, 2.0, 4.0], ["b", "a", "b"])
    assert sums.tolist() == [5.0, 2.0]
    assert counts.tolist() == [2.0, 1.0]


def test_sign_flip_is_exact_for_few_clusters():
    """With few clusters p is the share of all sign assignments at least as extreme."""
    sums = np.array([0.5, 1.0, -0.25, 2.0, 0.75])
    observed = sums.sum()
    totals = [np.dot(signs, sums) for signs in product((-1, 1), repeat=5)]
    expected = 2 * min(
        np.mean([t >= observed - 1e-12 for t in totals]), np.mean([t <= observed + 1e-12 for t in totals])
    )
    assert sign_flip_p(sums, rng()) == pytest.approx(min(1, expected))


def test_clusters_flip_as_one():
    """Forty queries of one file are one observation: they cannot make a difference significant."""
    sums, _ = cluster_sums([0.3] * 40, ["one file"] * 40)
    assert sign_flip_p(sums, rng()) == 1.0


def test_no_difference_has_p_one_and_a_point_interval():
    """Identical runs: p = 1, interval [0, 0]."""
    sums, counts = cluster_sums([0.0] * 6, list("aabbcc"))
    assert sign_flip_p(sums, rng()) == 1.0
    assert bca_interval(sums, counts, rng()) == (0.0, 0.0)


def test_interval_covers_the_mean_it_was_drawn_from():
    """Over 200 clustered samples, close to 95 % of the intervals hold the true mean."""
    source = np.random.default_rng(1)
    hits = 0
    for _ in range(200):
        effects = source.normal(0.2, 0.5, size=40)
        sizes = source.integers(1, 9, size=40)
        sums = effects * sizes
        low, high = bca_interval(sums, sizes.astype(float), source, draws=500)
        hits += low <= 0.2 <= high
    assert 0.88 <= hits / 200 <= 0.99


def test_queries_of_one_file_widen_the_interval():
    """The interval over files is wider than one that takes the queries for independent."""
    source = np.random.default_rng(3)
    effects = np.repeat(source.normal(0, 1, size=20), 10)
    clustered = bca_interval(*cluster_sums(effects.tolist(), np.repeat(np.arange(20), 10).tolist()), rng())
    naive = bca_interval(*cluster_sums(effects.tolist(), list(range(200))), rng())
    assert clustered[1] - clustered[0] > 2 * (naive[1] - naive[0])


def test_same_seed_same_numbers():
    """Randomness comes in as an argument."""
    sums, counts = np.array([0.1, 0.5, -0.2] * 8), np.ones(24)
    assert bca_interval(sums, counts, rng()) == bca_interval(sums, counts, rng())
    assert sign_flip_p(sums, rng()) == sign_flip_p(sums, rng())


def test_holm_known_answer():
    """p = .01, .04, .03 over three tests: .03, .06, .06."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_bounds(p_values):
    """Adjusted p are never below the raw ones, never above 1, and keep their order."""
    adjusted = holm(p_values)
    assert all(p <= a <= 1 for p, a in zip(p_values, adjusted, strict=True))
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    assert all(adjusted[a] <= adjusted[b] for a, b in pairwise(order))
