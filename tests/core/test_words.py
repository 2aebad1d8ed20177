"""Counts with their nouns."""

import pytest

from repoeval_bench.core.words import count, plural


@pytest.mark.parametrize(
    ("number", "one", "many", "said"),
    [
        (1, "query", "", "1 query"),
        (6, "query", "", "6 queries"),
        (0, "repository", "", "0 repositories"),
        (1, "task", "", "1 task"),
        (2, "interval rests", "intervals rest", "2 intervals rest"),
        (1, "interval rests", "intervals rest", "1 interval rests"),
        (12_345, "file", "", "12,345 files"),
    ],
)
def test_a_count_has_the_noun_that_fits(number, one, many, said):
    assert count(number, one, many) == said


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("query", "queries"),
        ("day", "days"),
        ("key", "keys"),
        ("class", "classes"),
        ("branch", "branches"),
        ("y", "ies"),
    ],
)
def test_a_field_that_queries_are_clustered_by_has_a_plural(one, many):
    assert plural(one) == many
