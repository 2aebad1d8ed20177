"""Sign flips: one set of flips gives the test and the interval."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
import scipy
from hypothesis import assume, given
from hypothesis import strategies as st

from repoeval_bench.analysis.records import AdjustedP, Outcome
from repoeval_bench.analysis.sign_flips import (
    ALPHA,
    BORDERLINE,
    beyond_seen,
    fewest_clusters,
    flip_signs,
    strict_ends,
    unseen_p,
)
from repoeval_bench.analysis.statistics import holm


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
    result = flip_signs(parts, weights, rng, flips=2000)
    outside = (result.low > 0) | (result.high < 0)
    assert (outside == (result.p < ALPHA)).all()


@pytest.mark.parametrize("n_tests", [1, 60])
def test_no_two_seeds_contradict_each_other(n_tests):
    """Whatever the p and its rank in Holm: a test that is significant by one seed is significant or borderline by all."""
    rng = np.random.default_rng(7)
    sizes = np.array([42, 35, 22, 20, 14, 13, 12, 11, 10, 9, *[2] * 40, *[1] * 60], dtype=float)
    weights = sizes / sizes.sum()
    parts = (rng.normal(0, 1, (len(sizes), 60)) + np.linspace(0, 1.5, 60)) * weights[:, None]
    outcomes = []
    for seed in range(6):
        flipped = flip_signs(parts, weights, np.random.default_rng(seed), flips=2_000, intervals=False)
        families = [range(i, i + n_tests) for i in range(0, 60, n_tests)]
        ends = [
            [p for family in families for p in holm(of_all[family].tolist())]
            for of_all in (flipped.p_strict, flipped.least, flipped.most)
        ]
        outcomes.append([AdjustedP(*of_one).outcome() for of_one in zip(*ends, strict=True)])
    by_column = [{*of_column} - {Outcome.BORDERLINE} for of_column in zip(*outcomes, strict=True)]
    assert {len(of_column) for of_column in by_column} <= {0, 1}
    assert set().union(*by_column) == {Outcome.BETTER, Outcome.NOT_SIGNIFICANT}


def test_the_strict_p_is_that_of_a_smaller_difference():
    """By the definition over all flips: of parts whose mean is divided by 1 + 1.5 / sqrt(effective clusters)."""
    sizes = np.array([5.0, 3, 2, 1, 1, 1, 1, 1])
    weights = sizes / sizes.sum()
    parts = np.random.default_rng(4).normal(0.6, 1, (8, 5)) * weights[:, None]
    result = flip_signs(parts, weights, np.random.default_rng(0))
    factor = 1 + 1.5 * np.sqrt(np.square(weights).sum())
    expected = [p_of(column.sum() * (1 - 1 / factor), column, weights) for column in parts.T]
    assert result.p_strict == pytest.approx(expected)
    assert (result.p_strict >= result.p).all()
    assert result.least.tolist() == result.most.tolist() == result.p_strict.tolist()


def test_a_value_that_nearly_all_clusters_share_is_no_evidence_of_a_mean():
    """One small value in all of 20 files: few files on the other side would bring the mean to 0."""
    assert unseen_p(np.full(20, 0.1)) == pytest.approx(2 * (1 - 0.1 / 0.35) ** 20)
    assert unseen_p(np.full(20, 0.005)) == 1
    assert unseen_p(np.array([-0.1] * 18 + [0.3, 0.3])) == pytest.approx(2 * scipy.stats.binom.cdf(2, 20, 0.1 / 0.4))
    assert unseen_p(np.zeros(20)) == unseen_p(np.linspace(0, 1, 20)) == unseen_p(np.array([0.0] * 18 + [1, 1])) == 0


def test_memory_does_not_grow_with_the_number_of_tests():
    """The sums of few columns are held at once: eight times the tests take less than twice the memory."""
    peaks = []
    for n_columns in (40, 320):
        parts = np.random.default_rng(0).normal(0, 1, (60, n_columns)) / 60
        tracemalloc.start()
        flip_signs(parts, np.full(60, 1 / 60), np.random.default_rng(0), flips=5_000)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2 * peaks[0]


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
    result = flip_signs(hits / n, np.full(n, 1 / n), rng, flips=600)
    assert np.mean((result.low <= share + 1e-9) & (result.high >= share - 1e-9)) > 0.92


@given(st.lists(st.sampled_from([0, 0, 0, 0, 1, -1, 0.5]), min_size=15, max_size=40), st.sampled_from([0, 0.1, -0.1]))
def test_rare_differences_do_not_let_interval_and_test_contradict_each_other(values, shift):
    """Ends that are moved out do not cross 0 where the test tells the mean from it."""
    weights = equal_weights(values)
    parts = (np.array(values) + shift) * weights
    result = flip_signs(parts[:, None], weights, np.random.default_rng(0), flips=500)
    assert (result.low[0] > 0 or result.high[0] < 0) == (result.p[0] < ALPHA)


@pytest.mark.parametrize("tests", [1, 2, 3, 6, 21, 200])
def test_as_many_clusters_as_one_of_several_tests_takes(tests):
    """If all clusters favour one run, p by Holm is low enough, also without one cluster. One fewer is too few."""

    def smallest(n):
        return tests * flip_signs(np.full((n, 1), 1 / n), np.full(n, 1 / n), None).p[0]

    n = fewest_clusters(tests)
    assert [smallest(of) < BORDERLINE[0] and smallest(of - 1) <= ALPHA for of in (n, n - 1)] == [True, False]


@pytest.mark.parametrize("sizes", [[1] * 10, [1] * 25, [30, 20, 10, *[3] * 20]])
def test_a_claim_of_equality_keeps_its_level_on_skewed_differences(sizes):
    """Few files differ by far more than the others: plain intervals end before the true mean in 6 to 9 %."""
    rng = np.random.default_rng(9)
    weights = np.array(sizes) / sum(sizes)
    values = rng.exponential(1, (len(sizes), 1_500))
    result = flip_signs(values * weights[:, None], weights, rng, flips=2_000)
    _, high = strict_ends(weights @ values, (result.low, result.high), 1 / np.square(weights).sum())
    assert np.mean(high < 1) <= 0.05 < np.mean(result.high < 1)


def test_a_column_does_not_depend_on_its_neighbours():
    """Columns share their flips: asked for alone, a column has the same numbers."""
    rng = np.random.default_rng(2)
    parts, weights = rng.normal(0, 1, (30, 4)) / 30, np.full(30, 1 / 30)
    together = flip_signs(parts, weights, np.random.default_rng(1), flips=20_000)
    for column in range(4):
        alone = flip_signs(parts[:, [column]], weights, np.random.default_rng(1), flips=20_000)
        ours, theirs = ((flips.p, flips.low, flips.high) for flips in (alone, together))
        # A matrix product of another shape may differ in the last bit.
        assert [end[0] for end in ours] == pytest.approx([end[column] for end in theirs], abs=1e-12)
