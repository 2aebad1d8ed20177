"""`sweep`: sizes, overlaps and k, what its tables say, and what it refuses. BM25, so nothing embeds."""

import re

import pytest

from support.command import bench, json_of, one_sentence, succeed

AST = "ast:max_nws=400"
BM25 = ("--retriever", "bm25")


def test_a_sweep_of_sizes_prints_what_was_realised(mirror, tmp_path):
    """One row a chunker and size, doubled sizes included, in the order they were named."""
    arguments = ["sweep", "-c", AST, "-c", "fixed", *BM25, "--source", mirror, "--out", tmp_path / "out"]
    rows = json_of(*arguments, "--sizes", "200,400", home=tmp_path / "home")
    assert [row["chunker"].partition(",")[0] for row in rows] == [
        *("ast:max_nws=200", "ast:max_nws=400", "fixed:max_nws=200", "fixed:max_nws=400")
    ]
    assert rows[2]["mean_nws"] < rows[3]["mean_nws"]
    assert "line_recall_auc" in rows[0]


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


def test_a_sweep_of_k_has_the_area_and_the_knee(mirror, tmp_path):
    """Recall grows with k; the knee is one of the cutoffs."""
    (row,) = json_of("sweep", "-c", AST, *BM25, "--source", mirror, "--out", tmp_path / "out", home=tmp_path / "home")
    recalls = [row[f"recall@{k}"] for k in (1, 3, 5, 10, 20, 50)]
    assert recalls == sorted(recalls)
    assert row["knee"] in (1, 3, 5, 10, 20, 50)
    assert 0 < row["recall_auc@50"] <= 1


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


def test_a_ranking_that_ends_before_the_last_budget_is_named_with_the_depth_that_is_enough(mirror, tmp_path):
    """The areas go up to 12,000 characters: what is not ranked cannot be read."""
    words = ("-c", AST, *BM25, "--source", mirror, "--out", tmp_path / "out", "--sizes", "40", "-m", "lines found")
    done = succeed("sweep", *words, "--k", "3", home=tmp_path / "home")
    note = re.search(
        r"3 chunks have about \d+ characters without whitespace, and lines found goes up to 12,000; --k (\d+) ranks",
        done.out,
    )
    assert note
    assert "ranks enough" not in succeed("sweep", *words, "--k", note[1], home=tmp_path / "home").out
