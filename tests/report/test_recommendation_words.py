"""What a recommendation says of the arms that are not the best."""

import numpy as np

from repoeval_bench.analysis.arms import Arm
from repoeval_bench.analysis.choosing import choose, verdict_on
from repoeval_bench.analysis.comparison import compare
from repoeval_bench.analysis.recommendation import answer_of
from repoeval_bench.analysis.verdicts import Result
from repoeval_bench.report.choosing import choice_sentences, choice_table
from repoeval_bench.report.paper import paper_table
from repoeval_bench.report.recommendation import answer_sentences
from repoeval_bench.report.table import Score
from repoeval_bench.report.verdict import verdict
from repoeval_bench.runs.request import RunRequest
from support.runs import write_run


def answer(folder, means):
    """An answer over 40 files whose scores are spread by the same rule around each mean."""
    spread = np.random.default_rng(5)
    runs = [
        write_run(
            folder / name,
            {"ndcg@10": np.clip(mean + spread.normal(0, 0.05, 40), 0, 1)},
            files=[f"f{i}.py" for i in range(40)],
        )
        for name, mean in means.items()
    ]
    made = [(Arm(name=run.run_id, size=500, spec=f"{run.run_id}:max_nws=500"), run) for run in runs]
    return answer_of(RunRequest(protocol="body", retriever="bm25"), made, 0.3)


def test_those_that_are_behind_are_named(tmp_path):
    """The nearest first; of more than four the first three, and how many there are beside."""
    two_alike = {"a": 0.701, "b": 0.7}
    few = answer_sentences(answer(tmp_path / "few", two_alike | {"c": 0.5, "d": 0.4, "e": 0.3}))
    assert (
        "; significantly worse: c at 500, d at 500 and e at 500; the tests are adjusted for 10 comparisons." in few[0]
    )
    many = answer_sentences(answer(tmp_path / "many", two_alike | {f"m{i}": 0.5 - i / 20 for i in range(6)}))
    assert (
        "; significantly worse: m0 at 500, m1 at 500, m2 at 500 and 3 others; the tests are adjusted for 28 comparisons."
        in many[0]
    )


def test_it_says_what_the_verdict_on_the_same_runs_says(tmp_path):
    """A lead that is significant among four tests, and not among the ten of all pairs, is so for neither."""
    files = [f"f{i}.py" for i in range(40)]
    draws = np.random.default_rng(11)
    shapes = {name: draws.normal(0, 0.1, 40) for name in "abcde"}
    apart = 0
    for lead in np.linspace(0.0, 0.09, 10):
        means = dict(zip("abcde", (0.5 + lead, 0.5, 0.499, 0.498, 0.497), strict=True))
        folder = tmp_path / f"{lead:.2f}"
        runs = [
            write_run(
                folder / name, {"ndcg@10": np.clip(means[name] + shapes[name] - shapes[name].mean(), 0, 1)}, files=files
            )
            for name in means
        ]
        made = [(Arm(name=run.run_id, size=500, spec=f"{run.run_id}:max_nws=500"), run) for run in runs]
        said = answer_of(RunRequest(protocol="context", retriever="bm25"), made, 0.3)
        found = verdict(runs)
        assert said.choice.verdict.behind == verdict_on(runs[::-1]).behind
        behind = {each.run for each in said.choice.verdict.behind}
        assert {each.run for each in found.record.behind} == behind
        alone = compare(runs, next(run for run in runs if run.run_id == found.record.reference.run_id))
        apart += len({each.treatment for each in alone if each.is_significant} - {run.name for run in behind})
    assert apart > 0


def test_where_every_run_scores_0_there_is_no_best(tmp_path):
    """Neither the answer nor the verdict names one, nor a gain or a price."""
    runs = [write_run(tmp_path / name, {"ndcg@10": [0.0] * 40}, files=[f"f{i}.py" for i in range(40)]) for name in "ab"]
    made = [(Arm(name=run.run_id, size=500, spec=f"{run.run_id}:max_nws=500"), run) for run in runs]
    said = answer_sentences(answer_of(RunRequest(protocol="context", retriever="bm25"), made, 0.3))
    assert said == [
        "No run found anything by nDCG@10 under protocol context by bm25: its micro mean is 0 for each of them."
    ]
    for some in (runs, runs[:1]):
        assert verdict(some).record.result is Result.NOTHING_FOUND
        assert "found" in verdict(some).text
    found = choose(runs)
    assert choice_sentences(found) == ["No run found anything by nDCG@10 here: its micro mean is 0 for each of them."]
    assert [row.cells[-1] for row in choice_table(found).rows] == ["found nothing"] * 2
    assert "no run found anything" in repr(found)
    assert not any(
        cell.best
        for row in paper_table(runs, compare(runs), ["ndcg@10"]).rows
        for cell in row.cells
        if isinstance(cell, Score)
    )
