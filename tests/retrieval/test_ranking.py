"""The one sort."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.errors import MetricError
from repoeval_bench.retrieval.ranking import rank, rank_column


def test_ties_are_ordered_by_descending_id():
    """Equal scores are ordered by chunk id, descending: trec_eval's rule."""
    assert rank([("a", 0.5), ("c", 0.5), ("b", 0.7)], 3) == (("b", 0.7), ("c", 0.5), ("a", 0.5))


def test_scores_tie_within_the_fifth_digit():
    """Scores are rounded to 1e-5 first, so a difference in the last bits does not reorder."""
    assert [name for name, _ in rank([("a", 0.5 + 1e-7), ("b", 0.5)], 2)] == ["b", "a"]


def test_negative_zero_ties_with_zero():
    """-0.0 and 0.0 are one score."""
    assert rank([("a", -0.0), ("b", 0.0)], 2) == (("b", 0.0), ("a", 0.0))
    assert math.copysign(1, rank([("a", -0.0)], 1)[0][1]) == 1


@pytest.mark.parametrize("score", [math.nan, math.inf])
def test_scores_must_be_finite(score):
    """A NaN would make the order depend on chance; it is refused with the chunk's id."""
    with pytest.raises(MetricError, match="'a'"):
        rank([("a", score)], 1)


@given(st.lists(st.sampled_from([0.0, 1e-6, 5e-6, 1e-5, 0.5, 0.500005, 0.50001, 1.0]), max_size=40), st.data())
def test_a_column_is_ranked_as_its_pairs_are(scores, data):
    """Ranking a column looks at the best alone, and gives what ranking every pair gives, ties and unseen ones too."""
    ids = data.draw(st.permutations([f"c{i}" for i in range(len(scores))]))
    unseen = frozenset(data.draw(st.sets(st.sampled_from([*ids, "elsewhere"]))))
    k = data.draw(st.integers(1, 12))
    pairs = [pair for pair in zip(ids, scores, strict=True) if pair[0] not in unseen]
    assert rank_column(ids, np.array(scores), k, unseen) == rank(pairs, k)


def test_a_column_with_a_score_that_is_not_a_number_is_refused():
    """It is found among any number of others, though the best alone are looked at."""
    scores = np.linspace(0, 1, 100)
    scores[50] = math.nan
    with pytest.raises(MetricError, match="'c50'"):
        rank_column([f"c{i}" for i in range(100)], scores, 3)


@given(st.dictionaries(st.text(max_size=3), st.floats(-1, 1)), st.integers(1, 10), st.randoms())
def test_order_of_input_does_not_matter(scores, k, random):
    """The ranking is a function of the set of scored chunks: any input order gives the same k."""
    items = list(scores.items())
    expected = rank(items, k)
    random.shuffle(items)
    assert rank(items, k) == expected
    assert len(expected) == min(k, len(items))
