"""Equal to trec_eval, through pytrec_eval and ir_measures, to 1e-12."""

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from repoeval_bench.metrics import score_run
from repoeval_bench.metrics.judged_run import ranked_ids
from repoeval_bench.runs.trec import read_qrels, read_run
from support.random_runs import tied_run

CUTOFFS = (1, 3, 5, 10, 100)
NAMES = {
    "ndcg": "ndcg",
    "mrr": "recip_rank",
    "ap": "map",
    "rprec": "Rprec",
    **{f"ndcg@{k}": f"ndcg_cut_{k}" for k in CUTOFFS},
    **{f"precision@{k}": f"P_{k}" for k in CUTOFFS},
    **{f"recall@{k}": f"recall_{k}" for k in CUTOFFS},
    **{f"hit@{k}": f"success_{k}" for k in CUTOFFS},
    **{f"ap@{k}": f"map_cut_{k}" for k in CUTOFFS},
}
CUT = ",".join(map(str, CUTOFFS))
THEIRS = {"ndcg", "recip_rank", "map", "Rprec"} | {
    f"{m}.{CUT}" for m in ("ndcg_cut", "P", "recall", "success", "map_cut")
}


def check(scores, theirs, names):
    for ours, name in names.items():
        for query, value in zip(scores.query_ids, scores.values[ours], strict=True):
            expected = theirs[query][name] if query in theirs else 0.0
            assert value == pytest.approx(expected, abs=1e-12), (ours, query)


@pytest.mark.parametrize("seed", range(25))
def test_every_shared_measure_equals_trec_eval(seed):
    """Graded, tied, missing, short, one relevant or none: every query's value is trec_eval's; 0 where it has no run."""
    run, qrels = tied_run(seed)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, THEIRS).evaluate(run)
    assert set(theirs) == set(run)
    check(score_run(run, qrels, NAMES), theirs, NAMES)


@pytest.mark.parametrize("seed", range(10))
def test_negative_grades_of_a_qrels_file_score_as_trec_eval_scores_them(seed, tmp_path):
    """A chunk of grade -1 or -2 is as good as one of grade 0, in every measure of every query.

    Queries of negative grades alone are left out: pytrec_eval reads memory that it does not own there.
    """
    run, qrels = tied_run(seed)
    rng = np.random.default_rng(seed)
    qrels = {
        q: {c: int(rng.choice([grade, grade, -1, -2])) for c, grade in gains.items()} for q, gains in qrels.items()
    }
    qrels = {q: gains for q, gains in qrels.items() if max(gains.values()) >= 0}
    assert any(grade < 0 for gains in qrels.values() for grade in gains.values())
    path = tmp_path / "qrels.trec"
    path.write_text("".join(f"{q} 0 {c} {grade}\n" for q, gains in qrels.items() for c, grade in gains.items()))
    theirs = pytrec_eval.RelevanceEvaluator(qrels, THEIRS).evaluate(run)
    check(score_run(run, read_qrels(path), NAMES), theirs, NAMES)


NEAR = st.one_of(
    st.sampled_from([31.0, 31.00000012, 31.000002, -0.0, 0.0, 1e-46, 1e39, 2e39, -1e39]),
    st.floats(allow_nan=False, allow_infinity=False),
)


@settings(deadline=None, max_examples=60)
@given(
    scores=st.dictionaries(st.sampled_from(["a", "b", "B", "é", "z1", "z10", "日"]), NEAR, min_size=1), data=st.data()
)
def test_a_mapping_and_a_file_of_near_equal_scores_are_ranked_as_trec_eval_ranks_them(scores, data, tmp_path_factory):
    """Scores are compared as float32: 31.00000012 and 31.0 are a tie, and the larger id is first."""
    relevant = data.draw(st.sampled_from(sorted(scores)))
    run, qrels = {"q": scores}, {"q": {relevant: 1}}
    ours = score_run(run, qrels, ["mrr"]).mean()["mrr"]
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run)["q"]["recip_rank"]
    assert ours == pytest.approx(theirs, abs=1e-12)
    path = tmp_path_factory.mktemp("near") / "a.run"
    path.write_text("".join(f"q Q0 {chunk} 1 {score!r} t\n" for chunk, score in scores.items()), encoding="utf-8")
    assert tuple(chunk for chunk, _ in read_run(path).rankings["q"]) == ranked_ids(scores)
    assert ranked_ids(scores).index(relevant) + 1 == pytest.approx(1 / ours)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("level", [2, 3])
def test_binary_measures_take_the_threshold_as_trec_eval_does(seed, level):
    run, qrels = tied_run(seed)
    theirs = pytrec_eval.RelevanceEvaluator(
        qrels, {"P.5", "recall.5", "success.5", "map", "recip_rank", "Rprec"}, relevance_level=level
    ).evaluate(run)
    cut = {"precision": "P_5", "recall": "recall_5", "hit": "success_5"}
    whole = {"ap": "map", "mrr": "recip_rank", "rprec": "Rprec"}
    names = {f"{ours}(rel={level})@5": name for ours, name in cut.items()}
    names |= {f"{ours}(rel={level})": name for ours, name in whole.items()}
    check(score_run(run, qrels, names), theirs, names)
