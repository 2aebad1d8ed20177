"""`sweep`: sizes, overlaps and k, what its tables say, and what it refuses. BM25, so nothing embeds."""

import re

import pytest

from support.command import bench, one_sentence, succeed

AST = "ast:max_nws=400"
BM25 = ("--retriever", "bm25")


def test_a_table_says_who_ranked_and_overlaps_are_swept_by_naming_them(mirror, tmp_path):
    """Protocol, retriever and embedder are said above; a chunker's own options are kept at every size."""
    words = ("-c", "ast:overlap=0", "-c", "ast:overlap=3", "--sizes", "16,32", *BM25, "-m", "ndcg@10")
    words += ("--source", mirror, "--out", tmp_path / "out")
    done = succeed("sweep", *words, home=tmp_path / "home", COLUMNS="200")
    first, second, *table = done.out.splitlines()
    assert first.startswith("custom-mini-function-2k-codex")
    assert second.startswith("protocol context · embedder none · retriever bm25:k1=1.2")
    assert re.search(r" chunker +mean characters  chunks  nDCG@10", done.out)
    rows = [re.findall(r"max_nws=(\d+),.*overlap=(\d).* (\d+\.\d) ", line) for line in table]
    (_, _, small), (_, _, large), (_, _, small_repeated), (_, _, large_repeated) = result = [
        row for (row,) in filter(None, rows)
    ]
    assert [row[:2] for row in result] == [("16", "0"), ("32", "0"), ("16", "3"), ("32", "3")]
    assert float(small) < float(small_repeated)  # what is repeated makes chunks larger
    assert float(large) < float(large_repeated)


@pytest.mark.parametrize(
    ("arguments", "pieces"),
    [
        (("-c", "fixed", "--sizes", "0"), ["--sizes 0: give whole numbers above 0, such as --sizes 500,1000"]),
        (("-c", "asst", "--sizes", "10", "--set", "gold=bdy"), ["did you mean 'body'", "did you mean 'ast'"]),
        (("-c", "file", "--sizes", "10", "--set", "gold=bdy"), ["no option for a size", "did you mean 'body'"]),
        (("-c", "ast", "--sizes", "5", "--match-size", "fixed", "--repos", "nope"), ["--match-size sets", "'nope'"]),
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
