"""Own means shrunk towards a prior: the formula by hand, and what has to hold whatever the scores are."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.analysis.shrinkage import CLOSE, Prior, combine, decide, shrink, smoothed_covariance
from repoeval_bench.analysis.statistics import Sample, robust_covariance
from repoeval_bench.core.errors import UsageError
from support.cases import cases

CASES = cases(__file__)


def rng(seed=7):
    return np.random.default_rng(seed)


def prior_of(mean, tau=0.03, noise=0.1):
    k = len(mean)
    return Prior(mean=np.array(mean, dtype=float), deviation=np.full(k, tau), noise=noise**2 * np.eye(k))


def scores(n_queries, k, seed=0):
    return rng(seed).uniform(0, 1, (n_queries, k))


def names_of(k):
    return [f"c{i}" for i in range(k)]


@st.composite
def problems(draw):
    """Scores of k candidates on queries in files, with a prior: any number of files from one on."""
    k, n_files = draw(st.integers(1, 6)), draw(st.integers(1, 12))
    sizes = draw(st.lists(st.integers(1, 4), min_size=n_files, max_size=n_files))
    table = scores(sum(sizes), k, draw(st.integers(0, 2**16))) * draw(st.sampled_from([0.0, 0.01, 1.0]))
    mean = draw(st.lists(st.floats(-0.2, 0.2), min_size=k, max_size=k))
    prior = prior_of(mean, draw(st.sampled_from([0.0, 0.01, 0.05])), draw(st.sampled_from([0.0, 0.1])))
    return table, np.repeat(np.arange(n_files), sizes), prior


def test_the_formula_by_hand():
    """Two candidates, two files of one query: x = +-0.15, V by CR2, and two thirds of the way to it."""
    sample = Sample.micro(np.array([[0.5, 0.3], [0.7, 0.3]]), [0, 1])
    prior = Prior(mean=np.array([-0.01, 0.01]), deviation=np.full(2, 0.1), noise=np.zeros((2, 2)))
    # Relative scores are +-0.1 and +-0.2, so residuals +-0.05, raised by 1 / (1 - 1/2): V = 4 x 0.05^2 / 2^2 on the
    # diagonal, of which one file beyond the first counts beside 20.
    s2 = 2 * 0.05**2 / 21
    weight = 0.01 / (0.01 + s2)
    result = shrink(sample, prior, ["a", "b"])
    assert result.own == pytest.approx([0.15, -0.15])
    assert result.weight == pytest.approx([weight] * 2)
    assert result.score[0] == pytest.approx(-0.01 + weight * 0.16)
    assert result.covariance[0] == pytest.approx([weight * s2 / 2, -weight * s2 / 2])


@given(problems())
def test_a_score_is_between_the_own_mean_and_the_prior(problem):
    table, files, prior = problem
    result = shrink(Sample.micro(table, files), prior, names_of(table.shape[1]))
    low, high = np.minimum(result.own, result.prior), np.maximum(result.own, result.prior)
    assert (result.score >= low - 1e-12).all()
    assert (result.score <= high + 1e-12).all()
    assert (result.weight >= 0).all()
    assert (result.weight <= 1).all()


@given(problems())
def test_a_decision_has_a_number_for_everything(problem):
    """One file, one candidate, all scores equal, no variance: all of it is defined."""
    table, files, prior = problem
    decision = decide(shrink(Sample.micro(table, files), prior, names_of(table.shape[1])), rng(), 200)
    names = ("score", "expected_loss", "probability")
    assert np.isfinite([[getattr(element, name) for name in names] for element in decision.candidates]).all()
    assert decision.choice.expected_loss >= 0
    # Means of equal losses in another order differ in the last bit.
    assert decision.choice.expected_loss <= min(item.expected_loss for item in decision.candidates) + 1e-12
    assert sum(candidate.probability for candidate in decision.candidates) == pytest.approx(1)
    cheaper = decision.cheaper
    assert cheaper is None or cheaper.score >= decision.choice.score - CLOSE - 1e-9


@given(problems(), st.randoms(use_true_random=False))
def test_the_order_of_candidates_and_of_files_changes_nothing(problem, random):
    table, files, prior = problem
    k = table.shape[1]
    columns, rows = random.sample(range(k), k), random.sample(range(len(table)), len(table))
    names = names_of(k)
    one = decide(shrink(Sample.micro(table, files), prior, names, range(k)), rng(), 200)
    noise = prior.noise[np.ix_(columns, columns)]
    moved = replace(prior, mean=prior.mean[columns], deviation=prior.deviation[columns], noise=noise)
    sample = Sample.micro(table[np.ix_(rows, columns)], files[rows])
    other = decide(shrink(sample, moved, [names[i] for i in columns], columns), rng(), 200)
    for name in names:
        a, b = one.candidate(name), other.candidate(name)
        assert a.score == pytest.approx(b.score, abs=1e-9)
        assert a.expected_loss == pytest.approx(b.expected_loss, abs=1e-6)
    assert one.choice.name == other.choice.name


@given(problems(), st.floats(-5, 5))
def test_a_constant_added_to_all_scores_changes_nothing(problem, constant):
    table, files, prior = problem
    names = names_of(table.shape[1])
    one = shrink(Sample.micro(table, files), prior, names)
    other = shrink(Sample.micro(table + constant, files), prior, names)
    assert other.score == pytest.approx(one.score, abs=1e-9)
    assert other.covariance == pytest.approx(one.covariance, abs=1e-9)


def test_the_expected_loss_is_that_of_two_normal_candidates():
    """E max(0, d) of a normal d with mean m and deviation s is s phi(m / s) + m Phi(m / s)."""
    sample = Sample.micro(np.array([[0.5, 0.4]] * 30), range(30))
    prior = Prior(mean=np.zeros(2), deviation=np.full(2, 0.2), noise=np.eye(2) * 0.5)
    posterior = shrink(sample, prior, ["a", "b"])
    decision = decide(posterior, rng(), 100_000)
    lead = decision.choice.score - decision.candidates[1].score
    deviation = 2 * np.sqrt(posterior.covariance[0, 0])
    z = lead / deviation
    from scipy.special import ndtr

    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    assert decision.choice.name == "a"
    assert decision.choice.expected_loss == pytest.approx(deviation * density - lead * ndtr(-z), rel=0.03)
    assert decision.choice.probability == pytest.approx(ndtr(z), abs=0.01)


@pytest.mark.parametrize("tau", [0.01, 0.04])
def test_stated_losses_and_probabilities_are_the_true_ones(tau):
    """True scores deviate from the prior as queries do, for 8 files of 3 queries: what is stated holds on average."""
    names, k, generator = names_of(6), 6, rng(11)
    mixed = generator.normal(0, 0.2, (k, k)) + 0.15 * np.eye(k)
    covariance = mixed @ mixed.T - (mixed @ mixed.T).mean(axis=0)
    covariance -= covariance.mean(axis=1)[:, None]
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    prior = Prior(mean=np.linspace(-0.01, 0.01, k), deviation=np.full(k, tau), noise=covariance)
    stated, true, inside = [], [], []
    for _ in range(400):
        deviation = root @ generator.normal(size=k) * tau / np.sqrt(values.sum() / (k - 1))
        truth = dict(zip(names, prior.mean + deviation, strict=True))
        table = prior.mean + deviation + generator.normal(size=(24, k)) @ root.T
        decision = decide(shrink(Sample.micro(table, np.repeat(range(8), 3)), prior, names), generator, 500)
        choice, best = decision.choice, max(truth.values())
        stated.append((choice.expected_loss, choice.probability))
        true.append((best - truth[choice.name], best == truth[choice.name]))
        inside += [
            one.to_choice[0] <= truth[one.name] - truth[choice.name] <= one.to_choice[1]
            for one in decision.candidates[1:]
        ]
    off = np.subtract(true, stated)
    assert (np.abs(off.mean(axis=0)) < 3 * off.std(axis=0) / np.sqrt(len(off))).all()
    assert np.mean(inside) == pytest.approx(0.95, abs=0.02)


def test_candidates_that_score_the_same_are_ordered_by_cost():
    table = np.full((10, 3), 0.4)
    decision = decide(shrink(Sample.micro(table, range(10)), prior_of([0, 0, 0]), names_of(3), [900, 300, None]), rng())
    assert [candidate.name for candidate in decision.candidates] == ["c1", "c0", "c2"]


@pytest.mark.parametrize(("means", "tokens", "cheaper"), CASES["cheaper candidates"])
def test_a_cheaper_candidate_is_close_saves_a_tenth_and_is_the_best_of_those_that_cost_about_the_least(
    means, tokens, cheaper
):
    prior = Prior(mean=np.array(means), deviation=np.zeros(3), noise=np.eye(3))
    decision = decide(shrink(Sample.micro(scores(9, 3), range(9)), prior, names_of(3), tokens), rng())
    assert decision.choice.name == "c0"
    assert (decision.cheaper and decision.cheaper.name) == cheaper


def test_few_files_are_taken_to_vary_as_those_of_other_repositories():
    noise = np.diag([0.4, 0.2, 0.3])
    centred = noise - noise.mean(axis=0) - noise.mean(axis=1)[:, None] + noise.mean()
    one = Sample.micro(scores(3, 3), [0, 0, 0])
    assert smoothed_covariance(one, noise) == pytest.approx(centred / 3)
    many = Sample.micro(scores(2_000, 3), range(2_000))
    relative = Sample.micro(scores(2_000, 3) - scores(2_000, 3).mean(axis=1, keepdims=True), range(2_000))
    assert smoothed_covariance(many, noise) == pytest.approx(robust_covariance(relative), rel=0.1, abs=1e-6)


def test_questions_weigh_the_same_however_many_retrievers_answer_them():
    def posterior(mean, names=("a", "b")):
        exact = Prior(mean=np.array(mean), deviation=np.zeros(len(mean)), noise=np.eye(len(mean)))
        return shrink(Sample.micro(np.zeros((4, len(mean))), range(4)), exact, names)

    uses = [("uses", posterior([0.1, -0.1])), ("uses", posterior([0.3, -0.3]))]
    both = combine([*uses, ("docstring", posterior([-0.4, 0.4]))])
    assert both.score == pytest.approx([(0.2 - 0.4) / 2, (0.4 - 0.2) / 2])
    assert decide(both, rng()).choice.name == "b"


def test_retrievers_share_their_errors_and_questions_do_not():
    one = shrink(Sample.micro(scores(8, 3), range(8)), prior_of([0.1, 0, 0]), names_of(3))
    doubled, apart = combine([("uses", one), ("uses", one)]), combine([("uses", one), ("docstring", one)])
    assert doubled.covariance == pytest.approx(one.covariance)
    assert apart.covariance == pytest.approx(one.covariance / 2)
    assert doubled.score == pytest.approx(one.score)


def test_candidates_that_one_setting_lacks_are_left_out():
    one = shrink(Sample.micro(scores(8, 3), range(8)), prior_of([0.1, 0, 0]), ["a", "b", "c"])
    other = shrink(Sample.micro(scores(8, 2), range(8)), prior_of([0, 0]), ["c", "a"])
    both = combine([("uses", one), ("docstring", other)])
    assert both.names == ("a", "c")
    assert both.score.sum() == pytest.approx(0)
    alone = shrink(Sample.micro(scores(8, 1), range(8)), prior_of([0]), ["z"])
    with pytest.raises(UsageError):
        combine([("uses", one), ("docstring", alone)])
