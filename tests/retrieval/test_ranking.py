"""The one sort."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.errors import MetricError
from repoeval_bench.retrieval.ranking import rank


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


@given(st.dictionaries(st.text(max_size=3), st.floats(-1, 1)), st.integers(1, 10), st.randoms())
def test_order_of_input_does_not_matter(scores, k, random):
    """The ranking is a function of the set of scored chunks: any input order gives the same k."""
    items = list(scores.items())
    expected = rank(items, k)
    random.shuffle(items)
    assert rank(items, k) == expected
    assert len(expected) == min(k, len(items))
