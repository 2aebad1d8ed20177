"""Equal to ranx and pyndeval where trec_eval has no such measure."""

import random

import pytest

from repoeval_bench.metrics import Context, score_run


def untied(seed, queries=8, pool=30):
    rng = random.Random(seed)
    ids = [f"d{i:02}" for i in range(pool)]
    run = {f"q{q}": {d: i / 64 for i, d in enumerate(rng.sample(ids, 20))} for q in range(queries)}
    qrels = {f"q{q}": {d: rng.randint(1, 3) for d in rng.sample(ids, rng.randint(1, 9))} for q in range(queries)}
    return run, qrels


@pytest.mark.slow
def test_rbp_and_exponential_ndcg_equal_ranx():
    """rbp at three persistences and ndcg(gain=exp) at two cutoffs are ranx's to 1e-6, query by query."""
    ranx = pytest.importorskip("ranx")
    binary = {"rbp(p=0.5)": "rbp.50", "rbp": "rbp.80", "rbp(p=0.95)": "rbp.95"}
    graded = {"ndcg(gain=exp)@5": "ndcg_burges@5", "ndcg(gain=exp)@10": "ndcg_burges@10"}
    for seed in range(5):
        run, qrels = untied(seed)
        # Its RBP weighs hits with their gains; ours, as the protocols have it, counts them: the same for gain 1.
        ones = {query: dict.fromkeys(gains, 1) for query, gains in qrels.items()}
        for names, judged in ((binary, ones), (graded, qrels)):
            theirs = ranx.Run(run)
            ranx.evaluate(ranx.Qrels(judged), theirs, list(names.values()), make_comparable=True)
            ours = score_run(run, judged, names)
            for name, column in zip(names.values(), ours.values.values(), strict=True):
                for query, value in zip(ours.query_ids, column, strict=True):
                    assert value == pytest.approx(theirs.scores[name][query], abs=1e-6), (name, query)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("alpha", [0.5, 0.75])
def test_alpha_ndcg_equals_pyndeval(seed, alpha):
    """alpha-nDCG@5, @10 and @20 are ndeval's to 1e-6 on random sub-topics."""
    pyndeval = pytest.importorskip("pyndeval")
    # Powers of 1 - alpha are exact for these two, so that no rounding of theirs decides between equals.
    rng = random.Random(seed)
    ids = [f"d{i:02}" for i in range(25)]
    run, covers = {}, {}
    for q in range(6):
        run[f"q{q}"] = {d: i / 64 for i, d in enumerate(rng.sample(ids, 22))}
        covers[f"q{q}"] = {d: set(rng.sample("abcdef", rng.randint(1, 4))) for d in rng.sample(ids, 12)}
    theirs = pyndeval.ndeval(
        [(q, topic, d, 1) for q, table in covers.items() for d, topics in table.items() for topic in sorted(topics)],
        [(q, d, s) for q, scores in run.items() for d, s in scores.items()],
        ["alpha-nDCG@5", "alpha-nDCG@10", "alpha-nDCG@20"],
        alpha=alpha,
    )
    ours = score_run(
        run, {q: {} for q in run}, [f"alpha_ndcg(alpha={alpha})@{k}" for k in (5, 10, 20)], Context(subtopics=covers)
    )
    for k, column in zip((5, 10, 20), ours.values.values(), strict=True):
        for query, value in zip(ours.query_ids, column, strict=True):
            assert value == pytest.approx(theirs[query][f"alpha-nDCG@{k}"], abs=1e-6), (query, k)
