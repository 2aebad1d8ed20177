"""Choosing among runs: what is said where the truth is known, ties, costs and how much data is missing."""

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy

from repoeval_bench import choose
from repoeval_bench.analysis.choosing import best_shares, choice_of
from repoeval_bench.analysis.records import Candidate
from repoeval_bench.analysis.sign_flips import flip_signs
from repoeval_bench.analysis.statistics import Sample
from repoeval_bench.analysis.verdicts import Result
from repoeval_bench.core.errors import UsageError
from repoeval_bench.report.choosing import choice_record, choice_sentences, choice_table
from support.runs import query_scores, write_run

SIZES = np.array([20, 14, 9, 7, 6, 5, 5, 4, 4, 3, 3, 3, *[2] * 12, *[1] * 16])
FILES = np.repeat(np.arange(len(SIZES)), SIZES)


def scores_of(files, repos=None):
    return query_scores(
        {"query_id": f"q{i}", "repo": repos[i] if repos else "r", "path": f"f{file}", "measures": {"mrr": 0.0}}
        for i, file in enumerate(files)
    )


def candidates(table, costs=None):
    return [
        Candidate(run=f"run{i}", run_id=f"run{i}", mean=float(mean), cost=None if costs is None else costs[i])
        for i, mean in enumerate(table.mean(axis=0))
    ]


def chosen(table, files, repos=None, costs=None, over="micro"):
    return choice_of(
        table, scores_of(files, repos), candidates(table, costs), measure="mrr", over=over, cost_unit="tokens"
    )


def draw(rng, truth):
    """Runs with these true means over files of unequal size: a file shares what is hard in it, and a part of each lead."""
    n, k = len(FILES), len(truth)
    common = rng.normal(0, 0.2, len(SIZES))[FILES][:, None]
    return common + rng.normal(0, 0.05, (len(SIZES), k))[FILES] + rng.normal(0, 0.15, (n, k)) + np.array(truth)


@pytest.mark.parametrize("truth", [(0.0, 0.0, 0.0), (0.03, 0.0, 0.0), (0.02, 0.02, -0.1)])
def test_the_truly_best_run_is_among_those_that_may_be_as_good(truth):
    """In 95 % of samples or more; a run that is clearly worse is not, and chances add up to 1."""
    rng = np.random.default_rng(14)
    held, clearly_worse, samples = 0, 0, 120
    for _ in range(samples):
        found = chosen(draw(rng, truth), FILES)
        close = {each.run for each in found.close}
        held += "run0" in close
        clearly_worse += "run2" in close
        assert sum(each.probability for each in found.candidates) == pytest.approx(1)
    assert held >= 0.95 * samples
    if truth[2] == -0.1:
        assert clearly_worse <= 0.05 * samples


def test_chances_are_right_as_often_as_they_say():
    """Of two runs with a true difference drawn at random, the first is the better one about as often as it is said."""
    rng = np.random.default_rng(3)
    said, right = [], []
    for _ in range(300):
        lead = rng.normal(0, 0.02)
        sample = Sample.micro(draw(rng, (lead, 0.0)), FILES.tolist())
        said.append(best_shares(sample, rng, draws=500)[0])
        right.append(lead > 0)
    said, right = np.array(said), np.array(right)
    sure = np.maximum(said, 1 - said)
    hit = (said > 0.5) == right
    assert hit.mean() == pytest.approx(sure.mean(), abs=0.12)
    assert hit[sure > 0.95].mean() >= 0.85


def test_the_estimate_of_missing_files_is_the_formula_and_has_the_power():
    """One query a file: n ((z.975 + z.8)^2 se^2 / d^2 - 1); of so many more files 80 % of samples show the difference."""
    rng = np.random.default_rng(6)
    lead = rng.normal(0, 0.1, 60)
    lead += 0.02 - lead.mean()
    found = chosen(np.column_stack([lead, np.zeros(60)]), list(range(60)))
    ratio = (1.959963984540054 + 0.8416212335729143) * scipy.stats.sem(lead) / 0.02
    assert found.more_clusters == pytest.approx(60 * (ratio**2 - 1), abs=1)
    n = 60 + found.more_clusters
    samples = rng.normal(0.02, lead.std(ddof=1), (n, 400)) / n
    shown = flip_signs(samples, np.full(n, 1 / n), rng, first=2000, most=2000).p < 0.05
    assert shown.mean() == pytest.approx(0.8, abs=0.07)


def test_the_estimate_is_at_least_what_the_test_takes():
    """Signs of fewer than six files, or repositories, show nothing, however sure the errors are."""
    lead = np.array([0.1, 0.11, 0.1])
    assert chosen(np.column_stack([lead, np.zeros(3)]), [0, 1, 2]).more_clusters == 3
    lead = np.tile([0.1, 0.11], 10) + np.repeat([0.0, 0.01], 10)
    found = chosen(np.column_stack([lead, np.zeros(20)]), list(range(20)), [f"r{i // 10}" for i in range(20)])
    assert (found.more_clusters, found.more_repositories) == (0, 4)


def test_repositories_are_counted_for_new_ones():
    """Files settle it where they agree within repositories; these repositories do not agree with each other."""
    files = list(range(80))
    repos = [f"r{i // 10}" for i in range(80)]
    lead = np.repeat([0.3, -0.1, 0.2, -0.1, 0.25, 0.1, -0.05, 0.1], 10) + np.tile([0.01, -0.01], 40)
    found = chosen(np.column_stack([lead, np.zeros(80)]), files, repos, over="macro")
    assert found.more_clusters == 0
    means = lead.reshape(8, 10).mean(axis=1)
    ratio = 2.8015852181129684 * scipy.stats.sem(means) / means.mean()
    assert found.more_repositories == np.ceil(8 * (ratio**2 - 1))
    assert chosen(np.column_stack([lead, np.zeros(80)]), files).more_repositories is None
    assert found.verdict.result is Result.WINNER
    assert f"about {found.more_repositories} more repositories" in choice_sentences(found)[-1]


def test_ties_are_ordered_by_what_a_query_costs():
    """Equal runs share their chance, the cheaper first; no amount of data makes one better."""
    values = np.random.default_rng(1).normal(0, 1, 40)
    found = chosen(np.column_stack([values - 9, values, values]), list(range(40)), costs=[1.0, 900.0, 800.0])
    assert [each.run for each in found.candidates] == ["run2", "run1", "run0"]
    assert [each.probability for each in found.candidates] == [0.5, 0.5, 0.0]
    assert [each.run for each in found.close] == ["run2", "run1"]
    assert (found.more_clusters, found.verdict.others[0].p_adjusted, found.verdict.result) == (None, 1.0, Result.TIED)
    assert [row.cells[-1] for row in choice_table(found).rows] == ["best", "not significant", "worse"]


def test_runs_that_may_be_as_good_are_listed_by_cost_not_by_score():
    """The run to take among equals is the cheapest, which need not have the highest mean."""
    rng = np.random.default_rng(2)
    found = chosen(rng.normal(0, 1, (40, 3)), list(range(40)), costs=[500.0, 100.0, 300.0])
    assert len(found.close) == 3
    assert [each.cost for each in found.close] == [100.0, 300.0, 500.0]
    assert found.best.mean == max(each.mean for each in found.candidates)
    assert replace(found, cost_unit="").close == found.close


def test_few_clusters_have_no_chances():
    """Five files: resampling them would be sure of what nobody knows."""
    found = chosen(np.array([[1.0, 0.0]] * 5), list(range(5)))
    assert [each.probability for each in found.candidates] == [None, None]
    assert len(found.close) == 2


def test_stored_runs(tmp_path):
    """The headline measure decides whatever else was scored; a run is named, priced and can be written as JSON."""
    values = np.random.default_rng(4).uniform(0.2, 0.4, 40)
    files = [f"f{i // 2}" for i in range(40)]
    made = [
        write_run(
            tmp_path / name,
            {"ndcg@10": (values + shift).tolist(), "mrr": values.tolist()},
            files=files,
            headline_measure="ndcg@10",
        )
        for name, shift in (("a", 0.0), ("b", 0.1), ("c", 0.09))
    ]
    found = choose(made)
    assert (found.measure, found.over, found.cost_unit) == ("ndcg@10", "micro", "characters")
    assert [each.run_id for each in found.candidates] == ["b", "c", "a"]
    assert found.best.mean == made[1].metrics.micro["ndcg@10"]
    assert found == choose(made[::-1])
    record = json.loads(json.dumps(choice_record(found)))
    assert record["verdict"]["result"] == "winner"
    assert [each["verdict"]["outcome"] for each in record["verdict"]["others"]] == ["better"] * 2
    with pytest.raises(UsageError, match="at least two different runs"):
        choose(made[:1] * 2)
