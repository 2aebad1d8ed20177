"""Statistics over clusters: known answers, brute force, statsmodels, and scipy where every cluster is one query."""

from itertools import pairwise

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from repoeval_bench.analysis import sign_flips
from repoeval_bench.analysis.sign_flips import BORDERLINE, flip_signs
from repoeval_bench.analysis.statistics import INTERVAL_FLIPS, Sample, bounded, holm, mean_intervals


def rng(seed=7):
    return np.random.default_rng(seed)


def column(values):
    return np.asarray(values, dtype=float).reshape(-1, 1)


def interval_of(sample):
    return bounded(flip_signs(*sample.parts(), rng(), flips=INTERVAL_FLIPS), sample.n_clusters)[0]


def interval(values, clusters):
    return interval_of(Sample.micro(column(values), clusters))


def p_of(sample, flips=20_000):
    return flip_signs(*sample.parts(), rng(), flips=flips).p


def flip(values, clusters, flips=20_000):
    return p_of(Sample.micro(column(values), clusters), flips)[0]


def test_means_over_queries_and_over_repositories():
    """micro weights queries equally, macro repositories; each part of a cluster sums to the mean."""
    values, files, repos = column([1, 0, 0, 0.5]), ["a", "a", "b", "c"], ["x", "x", "x", "y"]
    micro, macro = Sample.micro(values, files), Sample.of(values, files, repos, "macro")
    assert micro.mean()[0] == pytest.approx(1.5 / 4)
    assert macro.mean()[0] == pytest.approx((1 / 3 + 1 / 2) / 2)
    for sample in (micro, macro):
        parts, weights = sample.parts()
        assert parts.sum() == pytest.approx(sample.mean()[0])
        assert weights.sum() == pytest.approx(1)


def test_one_cluster_has_no_interval_and_no_error():
    """One file says nothing of the spread between files: no interval, p = 1."""
    sample = Sample.micro(column([0.3] * 40), ["one file"] * 40)
    assert interval_of(sample) is None
    assert p_of(sample)[0] == 1.0


@pytest.mark.parametrize("n_clusters", range(1, 6))
def test_too_few_clusters_bound_no_mean_also_where_every_value_is_zero(n_clusters):
    """No flip changes a column of zeros, which is known for it no better than the column beside it."""
    clusters = [f"f{i}" for i in range(n_clusters)]
    values = np.column_stack([np.zeros(n_clusters), np.linspace(0.1, 1, n_clusters)])
    assert mean_intervals(values, clusters, ["r"] * n_clusters, "micro")[1] == [None, None]


def test_no_difference_has_p_one():
    """Identical runs: p = 1 everywhere, interval [0, 0] of six files and none of fewer, effect 0."""
    assert interval([0.0] * 6, list("aabbcc")) is None
    sample = Sample.micro(column([0.0] * 6), list("abcdef"))
    assert p_of(sample)[0] == 1.0
    assert interval_of(sample) == (0.0, 0.0)


def test_sign_flip_agrees_with_scipy():
    """Exact and drawn: scipy.stats.permutation_test of single queries gives the same p, up to Monte-Carlo error."""
    few, many = rng(1).normal(0.4, 1, 12), rng(2).normal(0.15, 1, 120)
    for values, slack in ((few, 1e-12), (many, 4 * np.sqrt(0.25 / 10_000))):
        theirs = scipy.stats.permutation_test(
            (values,), np.sum, permutation_type="samples", vectorized=False, n_resamples=9999, rng=rng(3)
        ).pvalue
        assert flip(values, list(range(len(values)))) == pytest.approx(theirs, abs=slack)


def test_clusters_flip_as_one():
    """Forty queries of two files are two observations: p cannot fall below a half."""
    assert flip([0.3] * 40, ["one"] * 20 + ["two"] * 20) == 0.5


def test_queries_of_one_file_widen_the_interval():
    """The interval over files is wider than one that takes the queries for independent."""
    effects = np.repeat(rng(3).normal(0, 1, size=20), 10)
    clustered = interval(effects, np.repeat(np.arange(20), 10).tolist())
    naive = interval(effects, list(range(200)))
    assert clustered[1] - clustered[0] > 2 * (naive[1] - naive[0])


@pytest.mark.filterwarnings("error")
def test_many_clusters_are_flipped_block_by_block():
    """20,000 single queries, beyond what is held at once: interval and p are those of the normal distribution.

    Whether all sign assignments can be counted is asked without counting them, which would overflow.
    """
    values = rng(14).normal(0.02, 1, 20_000)
    result = flip_signs(*Sample.micro(column(values), range(20_000)).parts(), rng(), flips=600)
    half = 1.96 * values.std() / np.sqrt(20_000)
    assert (result.low[0], result.high[0]) == pytest.approx(
        (values.mean() - half, values.mean() + half), abs=0.15 * half
    )
    expected = 2 * scipy.stats.norm.sf(abs(values.mean()) / values.std() * np.sqrt(20_000))
    assert result.p[0] == pytest.approx(expected, abs=0.02)


def test_more_clusters_than_are_flipped_are_dealt_into_bundles(monkeypatch):
    """Macro means of unequal files, p near its limit: p and interval are those of all clusters."""
    draw = rng(5)
    clusters, sizes = np.arange(3_000), draw.integers(1, 9, 3_000)
    values = np.repeat(draw.normal(0, 1, 3_000), sizes) + draw.normal(0, 1, sizes.sum())
    files = np.repeat(clusters, sizes).tolist()
    sample = Sample.of(column(values), files, [f"r{file % 3}" for file in files], "macro")
    every = flip_signs(*sample.parts(), rng())
    monkeypatch.setattr(sign_flips, "MOST_FLIPPED", 500)
    bundled = flip_signs(*sample.parts(), rng())
    width = every.high[0] - every.low[0]
    assert 0.01 < every.p[0] < 0.5
    assert bundled.p == pytest.approx(every.p, rel=0.25)  # 500 bundles know the variance to 3 %
    assert bundled.low == pytest.approx(every.low, abs=0.05 * width)
    assert bundled.high == pytest.approx(every.high, abs=0.05 * width)


@pytest.mark.parametrize(("usual", "others"), [(0.0, 5), (0.3, 0)])
def test_clusters_that_nobody_has_seen_are_counted_without_bundles(monkeypatch, usual, others):
    """Nearly all have one value: the share of others is that of clusters, not of bundles, so an end is the same."""
    values = np.full(1_000, usual)
    values[:others] = 0.5
    sample = Sample.micro(column(values), range(1_000))
    every = flip_signs(*sample.parts(), rng())
    monkeypatch.setattr(sign_flips, "MOST_FLIPPED", 300)
    bundled = flip_signs(*sample.parts(), rng())
    assert (bundled.high if others else bundled.low) == pytest.approx(every.high if others else every.low)


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_bounds(p_values):
    """Adjusted p keep their order, lie between the raw ones and 1, and are never below Benjamini-Hochberg's."""
    adjusted = holm(p_values)
    assert all(p <= a <= 1 for p, a in zip(p_values, adjusted, strict=True))
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    assert all(adjusted[a] <= adjusted[b] for a, b in pairwise(order))
    if p_values:
        assert (np.array(adjusted) >= scipy.stats.false_discovery_control(p_values) - 1e-12).all()


@pytest.mark.slow
@settings(max_examples=settings.default.max_examples // 2)
@given(st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.0001, 0.01, 0.05, 1.0])), min_size=1, max_size=40))
def test_holm_is_statsmodels(p_values):
    """The adjusted p, in the order given, of any family."""
    from statsmodels.stats.multitest import multipletests

    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1].tolist(), abs=1e-12)


@given(st.lists(st.tuples(st.floats(-1, 1), st.integers(0, 5), st.integers(0, 2)), min_size=1, max_size=30))
def test_whatever_the_data_the_numbers_are_numbers(rows):
    """Any values, clusters and groups: an interval that holds no NaN, and p between 0 and 1."""
    values = column([value for value, _, _ in rows])
    sample = Sample.of(values, [c for _, c, _ in rows], [g for _, _, g in rows], "macro")
    ends = interval_of(sample)
    assert ends is None or (np.isfinite(ends).all() and ends[0] <= ends[1])
    assert 0 < p_of(sample, 100)[0] <= 1


def clustered(source, n_clusters, effect=0.0):
    """Differences of queries that share a file's deviation, as in RepoEval: few files with many queries."""
    sizes = 1 + source.geometric(0.25, n_clusters)
    files = np.repeat(np.arange(n_clusters), sizes)
    return effect + np.repeat(source.normal(0, 0.1, n_clusters), sizes) + source.normal(0, 0.2, len(files)), files


@pytest.mark.slow
@pytest.mark.parametrize("n_clusters", [100, 20])
def test_coverage_of_the_interval(n_clusters):
    """Of 1,500 clustered samples 93 to 97 % of the intervals hold the truth, with 20 clusters too."""
    source = rng(11)
    hits = 0
    for _ in range(15):  # data sets of the same sizes are columns, which share their flips
        files = np.repeat(np.arange(n_clusters), 1 + source.geometric(0.25, n_clusters))
        shared = source.normal(0, 0.1, (n_clusters, 100))[files]
        sample = Sample.micro(0.05 + shared + source.normal(0, 0.2, (len(files), 100)), files.tolist())
        result = flip_signs(*sample.parts(), source, flips=2000)
        hits += int(((result.low <= 0.05) & (result.high >= 0.05)).sum())
    assert 0.93 <= hits / 1500 <= 0.97


@pytest.mark.slow
def test_false_positives():
    """Under the null at most 5 % are shown, plus two Monte-Carlo errors."""
    source, samples = rng(12), 500
    drawn = (clustered(source, 60) for _ in range(samples))
    shown = np.mean([p_of(Sample.micro(column(values), files.tolist()), 999)[0] <= 0.05 for values, files in drawn])
    assert shown <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / samples)


@pytest.mark.slow
@pytest.mark.parametrize("n_files", [12, 20, 60])
def test_equal_runs_get_a_verdict_in_one_of_twenty_samples(n_files):
    """Four runs on unequal files of lognormal, and so very skewed, differences: the family of six pairs errs seldom."""
    source, samples, wrong = rng(3), 200, 0
    pairs = np.array([(a, b) for b in range(4) for a in range(b)])
    for _ in range(samples):
        sizes = 1.0 + source.geometric(0.25, n_files) * source.choice([1, 5], n_files, p=[0.9, 0.1])
        sums = (source.lognormal(0, 1, (n_files, 4)) - np.exp(0.5)) * sizes[:, None]
        sample = Sample(sums, sizes, np.zeros(n_files, dtype=np.int64))
        strict = flip_signs(*sample.parts(), source, pairs=pairs, flips=2_000, intervals=False).p_strict
        wrong += min(holm(strict.tolist())) <= BORDERLINE[0]
    assert wrong / samples <= (0.08 if n_files < 20 else 0.06)
