"""Choosing among runs: what is said where the truth is known, ties and costs."""

from dataclasses import replace

import numpy as np
import pytest

from repoeval_bench import choose
from repoeval_bench.analysis.comparison import leads
from repoeval_bench.analysis.verdicts import Candidate, Choice, Result, ScoredRun, decide, ranked
from repoeval_bench.core.errors import UsageError
from repoeval_bench.report.comparison import ComparedRow
from support.runs import query_scores, write_runs

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
    given = candidates(table, costs)
    order = ranked(given, "mrr")
    names = [candidate.run for candidate in given]
    pairs = leads(table, scores_of(files, repos), names, given.index(order[0]), measure="mrr", over=over)
    scored = [ScoredRun(name=one.run, run_id=one.run_id, mean=one.mean) for one in order]
    verdict = decide(scored, pairs, protocol="", measure="mrr", over=over)
    return Choice(verdict=verdict, cost_unit="tokens", candidates=tuple(order))


def draw(rng, truth):
    """Runs with these true means over files of unequal size: a file shares what is hard in it, and a part of each lead."""
    n, k = len(FILES), len(truth)
    common = rng.normal(0, 0.2, len(SIZES))[FILES][:, None]
    return common + rng.normal(0, 0.05, (len(SIZES), k))[FILES] + rng.normal(0, 0.15, (n, k)) + np.array(truth)


@pytest.mark.slow
@pytest.mark.parametrize("truth", [(0.0, 0.0, 0.0), (0.03, 0.0, 0.0), (0.02, 0.02, -0.2)])
def test_the_truly_best_run_is_among_those_that_may_be_as_good(truth):
    """In 95 % of samples or more; a run that is clearly worse is not."""
    rng = np.random.default_rng(14)
    held, clearly_worse, samples = 0, 0, 60
    for _ in range(samples):
        result = chosen(draw(rng, truth), FILES)
        close = {candidate.run for candidate in result.close}
        held += "run0" in close
        clearly_worse += "run2" in close
    assert held >= 0.95 * samples
    if truth[2] == -0.2:
        assert clearly_worse <= 0.05 * samples


def test_ties_are_ordered_by_what_a_query_costs():
    """The cheaper of equal runs comes first, and may be as good."""
    values = np.random.default_rng(1).normal(0, 1, 40)
    result = chosen(np.column_stack([values - 9, values, values]), list(range(40)), costs=[1.0, 900.0, 800.0])
    assert [item.run for item in result.candidates] == ["run2", "run1", "run0"]
    assert [candidate.run for candidate in result.close] == ["run2", "run1"]
    assert (result.verdict.others[0].p_adjusted, result.verdict.result) == (1.0, Result.TIED)


def test_runs_that_may_be_as_good_are_listed_by_cost_not_by_score():
    """The run to take among equals is the cheapest, which need not have the highest mean."""
    rng = np.random.default_rng(2)
    result = chosen(rng.normal(0, 1, (40, 3)), list(range(40)), costs=[500.0, 100.0, 300.0])
    assert len(result.close) == 3
    assert [candidate.cost for candidate in result.close] == [100.0, 300.0, 500.0]
    assert result.best.mean == max(item.mean for item in result.candidates)
    assert replace(result, cost_unit="").close == result.close


def test_stored_runs(tmp_path):
    """The headline measure decides whatever else was scored; a run is named, priced and can be written as JSON."""
    values = np.random.default_rng(4).uniform(0.2, 0.4, 40)
    files = [f"f{i // 2}" for i in range(40)]
    shifts = {"a": 0.0, "b": 0.3, "c": 0.15}
    columns = {name: {"ndcg@10": values + shift, "mrr": values} for name, shift in shifts.items()}
    runs = write_runs(tmp_path, columns, files=files, headline_measure="ndcg@10")
    result = choose(runs)
    assert (result.verdict.measure, result.verdict.over, result.cost_unit) == ("ndcg@10", "micro", "characters")
    assert [candidate.run_id for candidate in result.candidates] == ["b", "c", "a"]
    assert result.best.mean == runs[1].metrics.micro["ndcg@10"]
    assert result == choose(runs[::-1])
    record = ComparedRow(comparisons=[], choice=result, left_out={}).as_json()["choice"]
    assert record["verdict"]["result"] == "winner"
    assert [rival["verdict"]["outcome"] for rival in record["verdict"]["others"]] == ["better"] * 2
    with pytest.raises(UsageError, match="at least two different runs"):
        choose(runs[:1] * 2)
