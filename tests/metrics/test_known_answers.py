"""Answers known from elsewhere: worked by hand, or published with the measure."""

from math import log2

import numpy as np
import pytest

from repoeval_bench.core.spans import LineSpan, Place
from repoeval_bench.metrics import ChunkPlace, Context, score_query, score_run


def one(ids, relevant, measure, context=None):
    """The value of one ranking of ids; `relevant` is a mapping id -> gain, or ids of gain 1."""
    gains = relevant if isinstance(relevant, dict) else dict.fromkeys(relevant, 1)
    scores = score_run({"q": [(d, 0.0) for d in ids]}, {"q": gains}, [measure], context)
    (value,) = scores.mean().values()
    return value


def test_ild_of_three_similarities():
    """Similarities .9, .3, .4: ILD 0.467; of vectors at right angles 1, of equal ones 0; fewer than two results: 0."""
    similar = np.linalg.cholesky([[1, 0.9, 0.3], [0.9, 1, 0.4], [0.3, 0.4, 1]])
    cases = ("abc", similar, 0.467), ("abc", np.eye(3), 1.0), ("ab", np.ones((2, 4)), 0.0), ("a", np.ones((1, 4)), 0.0)
    for ids, vectors, expected in cases:
        context = Context(vectors=dict(zip(ids, vectors, strict=True)))
        assert one(ids, {"a"}, "ild@5", context) == pytest.approx(expected, abs=5e-4)


def test_novelty_gains_of_1_and_09():
    """Novelty gains 1 and 0.9: DCG 1.568, from vectors of cosine 0.2 at alpha 0.5; novelty-nDCG is that over IDCG."""
    vectors = {"a": np.array([1.0, 0.0]), "b": np.array([0.2, np.sqrt(1 - 0.04)])}
    value = one("ab", "ab", "novelty_ndcg@2", Context(vectors=vectors))
    assert value == pytest.approx(1.5678 / (1 + 1 / log2(3)), abs=5e-5)


def test_novelty_ndcg_with_alpha_1_is_ndcg():
    """alpha = 1 takes nothing for repetition; a smaller alpha takes more, the smaller it is."""
    rng = np.random.default_rng(3)
    ids = [f"d{i}" for i in range(8)]
    vectors = {d: np.abs(rng.normal(size=4)) for d in ids}
    gains = {"d1": 2, "d4": 1, "d6": 3, "zz": 1}
    names = ["ndcg@5", "novelty_ndcg(alpha=1)@5", "novelty_ndcg(alpha=0.6)@5", "novelty_ndcg(alpha=0.1)@5"]
    run = {"q": [(d, 0.0) for d in ids]}
    plain, same, less, least = score_run(run, {"q": gains}, names, Context(vectors=vectors)).mean().values()
    assert same == pytest.approx(plain)
    assert plain > less > least > 0


def test_gains_too_large_for_a_power_of_two_are_scored():
    """A gain of 5000 overflows 2^g, but neither ERR nor exponential nDCG: a perfect ranking still scores 1."""
    values = score_query({"a": 2.0, "b": 1.0}, {"a": 5000, "b": 4000}, ["ndcg(gain=exp)@5", "nerr@5", "err"])
    assert values == pytest.approx({"ndcg(gain=exp)@5": 1.0, "nerr@5": 1.0, "err": 1.0})


def test_alpha_ndcg_halves_a_repeated_subtopic():
    """Covering one sub-topic twice is worth 1 + 0.5/log2(3); the ideal covers the other one second."""
    topics = {"a": {1}, "b": {1}, "c": {2}}
    expected = (1 + 0.5 / log2(3)) / (1 + 1 / log2(3))
    for ids, covered, value in (("ab", topics, expected), ("ac", topics, 1.0), ("ac", {}, 0.0)):
        context = Context(subtopics={"q": covered})
        assert one(ids, {"a"}, "alpha_ndcg@2", context) == pytest.approx(value)


@pytest.mark.parametrize(
    ("ranking", "value"),
    [
        ("xa", 1 / log2(3)),  # the first chunk of file f is at rank 2, its target in g is not ranked
        ("ab", 1.0),  # a second chunk of f counts nothing
        ("abg", 1 + 1 / log2(4)),
        ("ag", 1 + 1 / log2(3)),
        ("x", 0.0),
    ],
)
def test_a_target_counts_at_its_first_chunk(ranking, value):
    """Semble's nDCG: each file, or range of lines, has one hit at most; the ideal has all of them first."""
    lines = {"a": ("f", 0, 3), "b": ("f", 3, 6), "g": ("g", 0, 9), "x": ("h", 0, 3)}
    places = {name: ChunkPlace(file, LineSpan(start, end)) for name, (file, start, end) in lines.items()}
    gold = {"q": (Place("f", LineSpan(0, 6)), Place("g", LineSpan(4, 5)))}
    context = Context(places=places, gold=gold)
    assert one(ranking, "abg", "target_ndcg@10", context) == pytest.approx(value / (1 + 1 / log2(3)))


PLACES = {
    "top": ChunkPlace("f", LineSpan(0, 3)),
    "rest": ChunkPlace("f", LineSpan(2, 6), header_nws=5),
    "other": ChunkPlace("g", LineSpan(0, 2)),
}


def test_files_and_redundancy_count_what_was_retrieved():
    """Three chunks of two files: 2 distinct, a third redundant; k beyond the ranking adds no redundancy."""
    run = {"q": [("top", 3.0), ("rest", 2.0), ("other", 1.0)]}
    names = ["distinct_files@2", "distinct_files@10", "redundancy@2", "redundancy@10"]
    values = score_run(run, {"q": {}}, names, Context(places=PLACES)).mean()
    assert list(values.values()) == pytest.approx([1, 2, 1 / 2, 1 / 3])


def test_novelty_is_the_share_that_repeats_no_higher_chunk():
    """Jaccard 1/2 with a higher chunk is not novel, below it is; case and punctuation do not matter."""
    texts = {"a": "x y z", "b": "X, Y!", "c": "u v x", "d": ""}
    run = {"q": [(d, 0.0) for d in "abcd"]}
    expected = {"novelty@4": 3 / 4, "novelty@2": 1 / 2}
    assert score_run(run, {"q": {}}, list(expected), Context(texts=texts)).mean() == pytest.approx(expected)
