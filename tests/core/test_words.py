"""Counts with their nouns."""

import pytest

from repoeval_bench.core.words import count
from support.cases import cases

CASES = cases(__file__)


@pytest.mark.parametrize(("number", "one", "many", "said"), CASES["nouns"])
def test_a_count_has_the_noun_that_fits(number, one, many, said):
    assert count(number, one, many) == said
