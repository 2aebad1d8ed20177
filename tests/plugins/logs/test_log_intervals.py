"""Intervals of shares: the textbook's where queries are independent, honest where they are not."""

import numpy as np
import pytest
import scipy

from repoeval_bench.analysis.statistics import Sample
from repoeval_bench.plugins.logs.judged_log import effective_size, share_interval


@pytest.mark.parametrize(("ones", "n"), [(0, 9), (1, 9), (13, 40), (39, 40), (40, 40)])
def test_a_share_of_independent_answers_is_clopper_pearson(ones, n):
    """scipy's exact interval, to the digit."""
    answers = [1.0] * ones + [0.0] * (n - ones)
    theirs = scipy.stats.binomtest(ones, n).proportion_ci(0.95, "exact")
    assert share_interval(answers, range(n)) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_copies_of_an_answer_tell_nothing_new():
    """Each answer three times in its cluster: the interval of the answers once, but for the t quantile's correction."""
    once = [1.0] * 12 + [0.0] * 28
    tripled, clusters = np.repeat(once, 3), np.repeat(range(40), 3)
    assert effective_size(Sample.micro(tripled, clusters.tolist())) == pytest.approx(40, rel=0.08)
    assert share_interval(tripled, clusters.tolist()) == pytest.approx(share_interval(once, range(40)), abs=0.01)


def test_one_cluster_has_no_interval():
    """Nothing is known of the spread between clusters."""
    assert share_interval([1.0, 0.0], ["f", "f"]) is None


@pytest.mark.parametrize("files", [8, 60])
@pytest.mark.parametrize("truth", [0.1, 0.5])
def test_a_share_of_clustered_answers_is_covered(files, truth):
    """Answers whose chance differs by file, files of different sizes: 93 % or more of 500 samples, with few files too."""
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(500):
        file = np.repeat(np.arange(files), 1 + rng.geometric(0.25, files))
        chance = rng.beta(4 * truth, 4 * (1 - truth), files)[file]
        low, high = share_interval((rng.random(len(file)) < chance).astype(float), file.tolist())
        held += low <= truth <= high
    assert held / 500 >= 0.93
