"""Leaving one file out, and errors of unequal files."""

import numpy as np
import pytest
import scipy

from repoeval_bench.analysis.influence import differences_without, influence
from repoeval_bench.analysis.sign_flips import flip_signs, most_p
from repoeval_bench.analysis.statistics import Sample, effective_clusters, robust_error


def rng():
    return np.random.default_rng(5)


def test_a_verdict_that_one_file_carries_names_it():
    """Ten files agree by little, one by much: without that one nothing is shown."""
    values = np.array([0.9, 0.8, *[0.02, -0.015] * 6])
    files = ["big", "big", *map(str, range(12))]
    sample = Sample.micro(np.repeat(values, 1), files)
    result = influence(sample, files, 1, rng)
    assert result.rests_on == "big"
    assert result.p >= 0.05
    assert result.low == pytest.approx(values[2:].mean())
    assert influence(sample, files, 0, rng).rests_on is None


@pytest.mark.parametrize("seed", range(4))
def test_a_verdict_holds_without_any_one_file(seed):
    """By the definition: a file is named exactly if p is above 0.05 without some file, above or below the mean."""
    generator = np.random.default_rng(seed)
    for _ in range(60):
        sizes = np.maximum(1, np.round(generator.lognormal(1, 1.4, generator.integers(7, 13))))
        values = generator.normal(0.6, generator.choice([0.3, 0.6, 1]), len(sizes))
        sample = Sample((values * sizes)[:, None], sizes, np.zeros(len(sizes), dtype=np.int64))
        if flip_signs(*sample.parts(), rng(), intervals=False).p_strict[0] > 0.04:
            continue
        without = []
        for left_out in range(len(sizes)):
            kept = np.arange(len(sizes)) != left_out
            rest = Sample(sample.sums[kept], sizes[kept], sample.groups[kept])
            without.append(flip_signs(*rest.parts(), rng(), intervals=False).p_strict[0])
        result = influence(sample, list(map(str, range(len(sizes)))), 1, rng)
        assert (result.rests_on is not None) == (max(without) > 0.05)
        assert result.rests_on is None or result.p == without[int(result.rests_on)]


def test_a_verdict_among_many_tests_needs_more_without_a_file_too():
    """Nine files that agree have a p of 2 / 2^9, eight 2 / 2^8: that is below 0.05 alone, and not times 10."""
    sample, files = Sample.micro(np.linspace(0.1, 0.2, 9), list(range(9))), list(map(str, range(9)))
    assert influence(sample, files, 1, rng).rests_on is None
    result = influence(sample, files, 10, rng)
    assert result.rests_on is not None
    assert result.p == pytest.approx(10 * 2 / 2**8)


def test_of_files_that_carry_a_verdict_the_one_that_pulls_hardest_is_named_under_any_seed():
    """Without any of three files p is near 0.7: drawn flips would name now one, now another. Equal ones go by name."""
    values = np.array([0.302, 0.301, 0.3, *[0.012, -0.01] * 10])
    files = ["b", "a", "c", *map(str, range(20))]
    seeds = [lambda seed=seed: np.random.default_rng(seed) for seed in range(8)]
    result = [influence(Sample.micro(values, files), files, 1, seed) for seed in seeds]
    assert {item.rests_on for item in result} == {"b"}
    assert len({row.p for row in result}) > 1
    values[:2] = 0.302
    assert {influence(Sample.micro(values, files), files, 3, seed).rests_on for seed in seeds} == {"a"}


@pytest.mark.parametrize(("size", "carried"), [(1.5, False), (0.3, True)])
def test_a_lead_that_all_files_share_is_not_of_one_in_a_family_of_any_size(size, carried):
    """Of 2,000 tests the first flips alone, whose p is 1 / 20,000 at least, would leave no lead without a carrier."""
    values = np.random.default_rng(2).normal(size, 1, 120)
    files = list(map(str, range(120)))
    assert (influence(Sample.micro(values, files), files, 2_000, rng).rests_on is not None) == carried


def test_a_bound_of_p_is_above_the_p_of_all_flips():
    """Hoeffding's, against all 2^n flips."""
    parts = np.random.default_rng(3).normal(0.4, 1, (13, 40)) / 13
    signs = 1 - 2 * ((np.arange(2**13)[:, None] >> np.arange(13)) & 1)
    exact = (np.abs(signs @ parts) >= np.abs(parts.sum(axis=0)) - 1e-12).mean(axis=0)
    assert (exact <= [most_p(column) for column in parts.T]).all()


def test_differences_without_a_file_are_means_of_the_rest():
    """By the definition, over queries and over repositories; a repository that is left empty leaves the mean."""
    values = np.array([0.1, 0.5, 0.2, 0.9, 0.4])
    files, repos = ["a", "a", "b", "c", "d"], ["r", "r", "r", "r", "s"]
    micro, macro = Sample.micro(values, files), Sample.of(values, files, repos, "macro")
    rest = {"a": [2, 3, 4], "b": [0, 1, 3, 4], "c": [0, 1, 2, 4], "d": [0, 1, 2, 3]}
    assert differences_without(micro) == pytest.approx([values[kept].mean() for kept in rest.values()])
    expected = []
    for kept in rest.values():
        means = [values[[i for i in kept if repos[i] == repo]] for repo in "rs"]
        expected.append(np.mean([mean.mean() for mean in means if mean.size]))
    assert differences_without(macro) == pytest.approx(expected)


def test_errors_of_equal_files_are_the_usual_ones():
    """A query a file: the error is that of a mean, with n - 1 degrees of freedom."""
    values = np.random.default_rng(1).normal(0, 1, 30)
    sample = Sample.micro(values, list(range(30)))
    (error,), df = robust_error(sample)
    assert error == pytest.approx(scipy.stats.sem(values))
    assert df == pytest.approx(29)
    assert effective_clusters(sample) == pytest.approx(30)


def test_unequal_files_have_fewer_degrees_of_freedom_than_files():
    """By the definition, the matrix of Bell and McCaffrey written out; two groups add theirs."""
    sizes = np.array([42, 35, 22, 20, 14, 3, 2, 1, 1, 1])
    groups = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    sample = Sample(np.random.default_rng(0).normal(0, 1, (10, 1)), sizes.astype(float), groups)
    weights = np.concatenate([sizes[groups == g] / sizes[groups == g].sum() for g in (0, 1)])
    centre = np.eye(10) - np.where(groups[:, None] == groups, weights[:, None], 0)
    variance = np.diag((weights / 2) ** 2 / sizes)
    root = np.sqrt(1 / (1 - weights))
    q = root[:, None] * (centre @ variance @ centre.T) * root
    _, df = robust_error(sample)
    assert df == pytest.approx(np.trace(q) ** 2 / (q**2).sum())
    assert df < 5
