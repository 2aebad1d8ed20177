"""Parts of an experiment: disjoint, complete, even, and the same wherever they are made."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.errors import UsageError
from repoeval_bench.runs import benchmark_file
from repoeval_bench.runs.benchmark_file import parse_shard, shard
from repoeval_bench.runs.request import RunRequest

CHUNKERS = ("ast", "fixed", "window", "recursive")


@st.composite
def experiments(draw):
    """Requests, each once, in any order."""
    pairs = st.tuples(st.sampled_from(CHUNKERS), st.integers(1, 30))
    return [RunRequest(chunker=chunker, k=k) for chunker, k in draw(st.lists(pairs, unique=True, max_size=40))]


@given(experiments(), st.integers(1, 12))
def test_parts_are_disjoint_complete_and_even(requests, total):
    """Each request is in one part; the sizes differ by 1 at most; a part keeps the order of the whole."""
    parts = [shard(requests, number, total) for number in range(1, total + 1)]
    assert sorted(repr(each) for part in parts for each in part) == sorted(map(repr, requests))
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    for part in parts:
        assert part == [request for request in requests if request in part]


def test_runs_of_a_chunker_stay_together():
    """Its chunks are made and embedded once, not on every machine."""
    requests = [RunRequest(chunker=chunker, k=k) for k in (1, 2, 3) for chunker in CHUNKERS]
    for number in range(1, 5):
        assert len({request.chunker for request in shard(requests, number, 4)}) == 1


@pytest.mark.parametrize("text", ["", "0/4", "5/4", "1", "1/0", "a/b", "1/4/2", "-1/4", "1 /4"])
def test_what_is_not_a_part_of_a_whole_is_refused(text):
    with pytest.raises(UsageError, match="give i/n such as 1/4"):
        parse_shard(text)


def test_the_example_holds():
    assert doctest.testmod(benchmark_file).failed == 0
