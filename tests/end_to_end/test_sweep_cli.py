"""What `sweep` refuses."""

import pytest

from support.cases import cases
from support.command import bench, one_sentence

CASES = cases(__file__)

BM25 = ("--retriever", "bm25")


@pytest.mark.parametrize(("arguments", "pieces"), CASES["refused sizes"])
def test_sizes_that_would_change_nothing_are_refused_with_every_other_mistake(arguments, pieces):
    """Matched sizes, documents without a chunker, chunkers without a size, the same size twice: one sentence each."""
    first, *more = one_sentence(bench("sweep", *arguments, *BM25), 2).split("\n  ")
    result = more or [first]
    assert len(result) == len(pieces), result
    assert [piece for piece in pieces if not any(piece in sentence for sentence in result)] == []
