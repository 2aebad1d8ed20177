"""The one sort."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.errors import MetricError
from repoeval_bench.retrieval.ranking import differing_ranks, rank, rank_column


def test_ties_are_ordered_by_descending_id():
    """trec_eval's rule; -0.0 and 0.0 are one score."""
    assert rank([("a", 0.5), ("c", 0.5), ("b", 0.7)], 3) == (("b", 0.7), ("c", 0.5), ("a", 0.5))
    assert rank([("a", -0.0), ("b", 0.0)], 2) == (("b", 0.0), ("a", 0.0))
    assert math.copysign(1, rank([("a", -0.0)], 1)[0][1]) == 1


halves = st.builds(lambda whole, off: (whole + 0.5) / 1e5 + off, st.integers(-(10**7), 10**7), st.floats(-1e-14, 1e-14))


@given(st.lists(st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.floats(-2, 2), halves), max_size=20))
def test_scores_are_rounded_as_python_rounds(scores):
    """Near a half too, and where they are large."""
    ranked = rank([(f"c{i}", score) for i, score in enumerate(scores)], len(scores))
    assert dict(ranked) == {f"c{i}": round(score, 5) for i, score in enumerate(scores)}


@pytest.mark.parametrize("score", [math.nan, math.inf])
def test_scores_must_be_finite(score):
    """A NaN would make the order depend on chance; it is refused with the chunk's id, among any number of others."""
    with pytest.raises(MetricError, match="'a'"):
        rank([("a", score)], 1)
    scores = np.linspace(0, 1, 100)
    scores[50] = score
    with pytest.raises(MetricError, match="'c50'"):
        rank_column([f"c{i}" for i in range(100)], scores, 3)


@given(st.lists(st.sampled_from([0.0, 1e-6, 5e-6, 1e-5, 0.5, 0.500005, 0.50001, 1.0]), max_size=40), st.data())
def test_a_column_is_ranked_as_its_pairs_are(scores, data):
    """Ranking a column looks at the best alone, and gives what ranking every pair gives, ties and unseen ones too."""
    ids = data.draw(st.permutations([f"c{i}" for i in range(len(scores))]))
    unseen = frozenset(data.draw(st.sets(st.sampled_from([*ids, "elsewhere"]))))
    k = data.draw(st.integers(1, 12))
    pairs = [pair for pair in zip(ids, scores, strict=True) if pair[0] not in unseen]
    assert rank_column(ids, np.array(scores), k, unseen) == rank(pairs, k)


@given(st.dictionaries(st.text(max_size=3), st.floats(-1, 1)), st.integers(1, 10), st.randoms())
def test_order_of_input_does_not_matter(scores, k, random):
    items = list(scores.items())
    expected = rank(items, k)
    random.shuffle(items)
    assert rank(items, k) == expected
    assert len(expected) == min(k, len(items))


ranked = st.lists(st.integers(0, 60), min_size=1, max_size=12).map(
    lambda scores: [(f"c{i}", score / 10) for i, score in enumerate(scores)]
)


@given(ranked, st.data(), st.integers(1, 12))
def test_rankings_are_the_same_where_no_score_moved_by_more_than_the_tolerance(scored, data, k):
    """Chunks of nearly equal scores change places, also across the end of the ranking."""
    moves = data.draw(st.lists(st.sampled_from([-0.1, 0.0, 0.1]), min_size=len(scored), max_size=len(scored)))
    moved = [(chunk_id, score + move) for (chunk_id, score), move in zip(scored, moves, strict=True)]
    assert differing_ranks(rank(scored, k), rank(moved, k), 0.1 + 1e-9) == []


@given(ranked, st.data())
def test_a_score_that_moved_by_more_is_another_ranking(scored, data):
    """So does a chunk that is left out, one more, and one whose score another has."""
    ranking = rank(scored, len(scored))
    at = data.draw(st.integers(0, len(ranking) - 1))
    chunk_id, score = ranking[at]
    others = [entry for entry in ranking if entry[0] != chunk_id]
    assert differing_ranks(ranking, rank([*others, (chunk_id, score - 0.3)], 99), 0.1) != []
    assert differing_ranks(ranking, tuple(others), 0.1) != []
    assert differing_ranks(tuple(others), ranking, 0.1) != []
    assert differing_ranks(ranking, ranking, 0.0) == []


def test_two_chunks_that_change_places_are_two_places():
    one = (("a", 0.9), ("b", 0.5), ("c", 0.4))
    assert differing_ranks(one, (("b", 0.9), ("a", 0.5), ("c", 0.4)), 0.1) == [0, 1]
    assert differing_ranks(one, (("a", 0.9), ("c", 0.5), ("b", 0.4)), 0.11) == []
    assert differing_ranks(one, (("a", 0.9), ("b", 0.5), ("d", 0.4)), 0.1) == []
    assert differing_ranks(one, (("a", 0.9), ("d", 0.5), ("c", 0.4)), 0.05) == [1]
