"""What a recommendation says of the arms that are not the best."""

import numpy as np

from repoeval_bench.analysis.choosing import choose
from repoeval_bench.analysis.recommendation import Answer, Arm
from repoeval_bench.report.recommendation import answer_sentences
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
    arms = {run.run_id: Arm(name=run.run_id, size=500, spec=f"{run.run_id}:max_nws=500") for run in runs}
    return Answer(
        protocol="body",
        retriever="bm25",
        choice=choose(runs),
        arms=arms,
        gain=None,
        n_queries=40,
        tokens_per_nws=0.3,
    )


def test_those_that_are_behind_are_named(tmp_path):
    """The nearest first; of more than four the first three, and how many there are beside."""
    two_alike = {"a": 0.701, "b": 0.7}
    few = answer_sentences(answer(tmp_path / "few", two_alike | {"c": 0.5, "d": 0.4, "e": 0.3}))
    assert "; behind it: c at 500, d at 500 and e at 500." in few[0]
    many = answer_sentences(answer(tmp_path / "many", two_alike | {f"m{i}": 0.5 - i / 20 for i in range(6)}))
    assert "; behind it: m0 at 500, m1 at 500, m2 at 500 and 3 others." in many[0]
