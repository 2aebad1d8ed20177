"""What `sweep` refuses."""

import pytest

from support.command import bench, one_sentence

BM25 = ("--retriever", "bm25")


@pytest.mark.parametrize(
    ("arguments", "pieces"),
    [
        (("-c", "fixed", "--sizes", "0"), ["--sizes 0: give whole numbers above 0, such as --sizes 500,1000"]),
        (("-c", "asst", "--sizes", "10", "--set", "gold=bdy"), ["did you mean 'body'", "did you mean 'ast'"]),
        (("-c", "file", "--sizes", "10", "--set", "gold=bdy"), ["no option for a size", "did you mean 'body'"]),
        (("-c", "ast", "--sizes", "5", "--match-size", "fixed", "--set", "gold=bdy"), ["--match-size sets", "'body'"]),
        (("--protocol", "coderag", "--sizes", "500,1000"), ["coderag fixes its documents"]),
        (("-c", "ast", "-c", "ast:max_nws=800", "--sizes", "500"), ["is named twice"]),
    ],
)
def test_sizes_that_would_change_nothing_are_refused_with_every_other_mistake(arguments, pieces):
    """Matched sizes, documents without a chunker, chunkers without a size, the same size twice: one sentence each."""
    first, *more = one_sentence(bench("sweep", *arguments, *BM25), 2).split("\n  ")
    result = more or [first]
    assert len(result) == len(pieces), result
    assert [piece for piece in pieces if not any(piece in sentence for sentence in result)] == []
