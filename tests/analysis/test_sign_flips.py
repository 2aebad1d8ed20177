"""Sign flips: one set of flips gives the test and the interval."""

from itertools import product

import numpy as np
import pytest
import scipy
from hypothesis import assume, given
from hypothesis import strategies as st

from repoeval_bench.analysis.sign_flips import ALPHA, beyond_seen, fewest_clusters, flip_signs, near_alpha


def equal_weights(parts):
    return np.full(len(parts), 1 / len(parts))


def p_of(mean, parts, weights):
    """P of "the mean is `mean`", by the definition: every flip, sums compared."""
    moved = parts - mean * weights
    sums = np.array([np.dot(signs, moved) for signs in product((1, -1), repeat=len(moved))])
    return np.mean(np.abs(sums) >= abs(moved.sum()) - 1e-12)


@given(st.lists(st.integers(-5, 5), min_size=6, max_size=9), st.lists(st.integers(1, 9), min_size=9, max_size=9))
def test_the_interval_holds_the_means_that_the_test_does_not_reject(numerators, sizes):
    """Every flip is made: p is the definition's at 0, and p is 0.05 or more inside the interval, less outside."""
    sizes = np.array(sizes[: len(numerators)], dtype=float)
    weights = sizes / sizes.sum()
    parts = np.array(numerators) / 7 * weights
    assume(beyond_seen(parts / weights) == (np.inf, -np.inf))
    result = flip_signs(parts[:, None], weights, np.random.default_rng(0))
    assert result.p[0] == pytest.approx(p_of(0, parts, weights))
    assert result.error[0] == 0
    low, high = result.low[0], result.high[0]
    assert low <= parts.sum() + 1e-12
    assert high >= parts.sum() - 1e-12
    for end, outwards in ((low, -1), (high, 1)):
        if np.isfinite(end):
            inwards = -outwards * min(1e-6, (high - low) / 2)
            assert p_of(end + inwards, parts, weights) >= ALPHA
            assert p_of(end + outwards * 1e-6, parts, weights) < ALPHA


@given(st.integers(0, 2**32 - 1), st.floats(-0.6, 0.6))
def test_interval_and_test_never_contradict_each_other(seed, shift):
    """Of drawn flips too: 0 is outside the interval exactly where p is below 0.05."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 30, 25).astype(float)
    weights = sizes / sizes.sum()
    parts = (rng.normal(shift, 1, (25, 8)) - rng.exponential(0.3, (25, 8))) * weights[:, None]
    result = flip_signs(parts, weights, rng, first=500, most=2000)
    outside = (result.low > 0) | (result.high < 0)
    assert (outside == (result.p < ALPHA)).all()


@pytest.mark.slow
def test_the_verdict_is_the_same_for_eight_seeds():
    """Columns near the limit get more flips, until all seeds agree or the most flips are made."""
    rng = np.random.default_rng(7)
    sizes = np.array([42, 35, 22, 20, 14, 13, 12, 11, 10, 9, *[2] * 40, *[1] * 60], dtype=float)
    weights = sizes / sizes.sum()
    parts = (rng.normal(0, 1, (len(sizes), 60)) + np.linspace(0, 0.5, 60)) * weights[:, None]
    verdicts = set()
    for seed in range(8):
        result = flip_signs(parts, weights, np.random.default_rng(seed))
        borderline = near_alpha(result.p, result.error)
        verdicts.add(tuple(np.where(borderline, -1, result.p < ALPHA).tolist()))
    assert len(verdicts) == 1


def test_ends_reach_to_what_clusters_that_nobody_saw_may_bring():
    """Where nearly all clusters score alike, others may have been missed: ends are those of the others' share."""
    for n, others in ((6, []), (40, [0.0]), (40, [0.5, 0.0, 0.7]), (114, [0.0] * 9)):
        values = np.array([1.0] * (n - len(others)) + others)
        low, high = beyond_seen(values)
        most = scipy.stats.binomtest(len(others), n).proportion_ci(0.95).high
        assert low == pytest.approx(1 - most * np.mean([1 - value for value in others or [0.0]]))
        assert high == (-np.inf if others else 1.0)  # no cluster is above: the flips' own end stays
        result = flip_signs((values / n)[:, None], equal_weights(values), np.random.default_rng(0))
        assert result.low[0] <= low + 1e-12


def test_clusters_that_differ_from_each_other_tell_of_all():
    """Ten that are off, or no value that most have, leave the ends to the flips, and so does a value of 0."""
    for values in ([1.0] * 100 + [0.0] * 10, [1.0] * 5 + [0.9] * 5, np.linspace(0, 1, 20)):
        assert beyond_seen(np.array(values)) == (np.inf, -np.inf)
    assert beyond_seen(np.zeros(6)) == (0.0, 0.0)


@pytest.mark.parametrize(("n", "share"), [(12, 0.98), (40, 0.9)])
def test_an_interval_of_nearly_perfect_scores_holds_the_truth(n, share):
    """Files whose queries are found or missed together: flips alone hold the true share in 23 to 91 % of these."""
    rng = np.random.default_rng(n)
    hits = (rng.random((n, 400)) < share).astype(float)
    result = flip_signs(hits / n, np.full(n, 1 / n), rng, first=600, most=600)
    assert np.mean((result.low <= share + 1e-9) & (result.high >= share - 1e-9)) > 0.92


@given(st.lists(st.sampled_from([0, 0, 0, 0, 1, -1, 0.5]), min_size=15, max_size=40), st.sampled_from([0, 0.1, -0.1]))
def test_rare_differences_do_not_let_interval_and_test_contradict_each_other(values, shift):
    """Ends that are moved out do not cross 0 where the test tells the mean from it."""
    weights = equal_weights(values)
    parts = (np.array(values) + shift) * weights
    result = flip_signs(parts[:, None], weights, np.random.default_rng(0), first=500, most=500)
    assert (result.low[0] > 0 or result.high[0] < 0) == (result.p[0] < ALPHA)


@pytest.mark.parametrize("tests", [1, 2, 3, 6, 21, 200])
def test_as_many_clusters_as_one_of_several_tests_takes(tests):
    """Clusters that all differ alike pass Holm among so many tests, and one cluster fewer does not."""
    n = fewest_clusters(tests)
    for clusters, passes in ((n, True), (n - 1, False)):
        result = flip_signs(np.full((clusters, 1), 1 / clusters), np.full(clusters, 1 / clusters), None)
        assert (result.p[0] * tests < ALPHA) == passes


def test_a_column_does_not_depend_on_its_neighbours():
    """Columns share their flips: asked for alone, a column has the same numbers."""
    rng = np.random.default_rng(2)
    parts, weights = rng.normal(0, 1, (30, 4)) / 30, np.full(30, 1 / 30)
    together = flip_signs(parts, weights, np.random.default_rng(1), most=20_000)
    for column in range(4):
        alone = flip_signs(parts[:, [column]], weights, np.random.default_rng(1), most=20_000)
        ours, theirs = ((flips.p, flips.low, flips.high) for flips in (alone, together))
        # A matrix product of another shape may differ in the last bit.
        assert [end[0] for end in ours] == pytest.approx([end[column] for end in theirs], abs=1e-12)
