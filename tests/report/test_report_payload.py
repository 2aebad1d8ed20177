"""What the page looks up about single queries, against the run it was made from."""

import base64
import gzip
import json
from functools import cache

import pytest

from repoeval_bench.report.html.payload import TOP, compressed, payload
from repoeval_bench.report.html.runs import bm25_beside, page_runs
from repoeval_bench.runs.runner import evaluate

AST = "ast:max_nws=400"


@pytest.fixture(scope="module")
def of(benchmark, tmp_path_factory):
    """The payload of one chunker's run under a protocol."""

    @cache
    def call(protocol="context"):
        run = evaluate(benchmark, AST, protocol=protocol, retriever="jaccard", out=tmp_path_factory.mktemp("runs"))
        return run, payload(page_runs([run]), [None], ["ndcg@10"])

    return call


def test_it_is_one_word_that_unpacks_to_what_was_packed():
    """Letters, digits and = alone, whatever the content holds."""
    content = {"text": "</script><img src=x onerror=alert(1)> \ud800 \U0001f600"}
    word = compressed(content)
    assert set(word) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
    assert json.loads(gzip.decompress(base64.b64decode(word))) == content


def test_every_query_has_its_hits_its_relevant_ones_and_its_text(of):
    """Top hits are the log's first, marked by the judgements; the text is the query's, as lines of the file or itself."""
    run, result = of()
    qrels, rows = run.qrels(), {row.query_id: row for row in run.log_rows()}
    assert [query["id"] for query in result["queries"]] == list(run.scores.query_ids)
    for query in result["queries"]:
        logged = rows[query["id"]].topk[:TOP]
        (top,) = query["top"]
        for (file, start, end, relevant, _), entry in zip(top, logged, strict=True):
            assert (result["files"][file]["name"], start, end) == (entry.file, entry.start_line, entry.end_line)
            assert relevant == (entry.chunk_id in qrels[query["id"]])
        lines = query["text"]
        if lines and isinstance(lines[0], int):
            lines = result["files"][query["file"]]["text"].split("\n")[slice(*lines)]
        assert lines == rows[query["id"]].query.splitlines()
        assert "read" not in query


def test_ranks_stand_beside_the_chunks_of_the_queries_file(of):
    """One number a chunk: twice its rank, and one where it is relevant."""
    run, result = of()
    qrels, ranked = run.qrels(), run.ranked_ids()
    for query in result["queries"]:
        file = result["files"][query["file"]]["name"]
        chunks = run.inspection.chunks[file]
        assert result["chunks"][0][query["file"]] == [end for c in chunks for end in (c.lines.start, c.lines.end)]
        expected = [
            2 * (ranked[query["id"]].index(c.chunk_id) + 1 if c.chunk_id in ranked[query["id"]] else 0)
            + (c.chunk_id in qrels[query["id"]])
            for c in chunks
        ]
        assert query["ranks"] == [expected]


def test_a_query_with_chunks_of_its_own_brings_them(of):
    """Where the body is blanked for each query, its lanes are its own."""
    run, result = of("context+exclusion=body")
    for query in result["queries"]:
        own = run.inspection.own[query["id"]]
        assert query["own"] == [[end for c in own for end in (c.lines.start, c.lines.end)]]
        assert len(query["ranks"][0]) == len(own)
        assert any(rank > 1 for rank in query["ranks"][0])


def test_the_bm25_run_beside_is_over_the_same_chunks(benchmark, tmp_path):
    """Another protocol's or chunker's BM25 run is not shown beside it; one's own does."""
    run = evaluate(benchmark, AST, retriever="jaccard", out=tmp_path)
    evaluate(benchmark, AST, protocol="body", retriever="bm25", out=tmp_path)
    evaluate(benchmark, "fixed:max_nws=400", retriever="bm25", out=tmp_path)
    assert bm25_beside(run) is None
    beside = evaluate(benchmark, AST, retriever="bm25", out=tmp_path)
    assert bm25_beside(run).folder == beside.folder
    assert bm25_beside(beside).folder == beside.folder
