"""Counts with their nouns."""

import pytest

from repoeval_bench.core.words import count


@pytest.mark.parametrize(
    ("number", "one", "many", "said"),
    [
        (1, "query", "", "1 query"),
        (6, "query", "", "6 queries"),
        (2, "interval rests", "intervals rest", "2 intervals rest"),
        (1, "interval rests", "intervals rest", "1 interval rests"),
        (12_345, "file", "", "12,345 files"),
        (2, "day", "", "2 days"),
        (2, "class", "", "2 classes"),
        (2, "branch", "", "2 branches"),
        (2, "y", "", "2 ies"),
    ],
)
def test_a_count_has_the_noun_that_fits(number, one, many, said):
    assert count(number, one, many) == said
