"""What the page looks up about single queries, against the run it was made from."""

from functools import cache

import pytest

from repoeval_bench.report.html.payload import TOP, payload
from repoeval_bench.report.html.tables import page_runs
from repoeval_bench.runs.runner import evaluate

AST = "ast:max_nws=400"


@pytest.fixture(scope="module")
def of(benchmark, tmp_path_factory):
    """The payload of one chunker's run under a protocol."""

    @cache
    def call(protocol="context"):
        run = evaluate(benchmark, AST, protocol=protocol, retriever="jaccard", out=tmp_path_factory.mktemp("runs"))
        return run, payload(page_runs([run]), ["ndcg@10"])

    return call


def test_every_query_has_its_hits_its_relevant_ones_and_its_text(of):
    """Top hits are the log's first, marked by the judgements; the text is the query's, all of it read."""
    run, result = of()
    qrels, rows = run.qrels(), {row.query_id: row for row in run.log_rows()}
    assert [query["id"] for query in result["queries"]] == list(run.scores.query_ids)
    for query in result["queries"]:
        logged = rows[query["id"]].topk[:TOP]
        (top,) = query["top"]
        for (file, start, end, relevant, _), entry in zip(top, logged, strict=True):
            assert (file, start, end) == (entry.file, entry.start_line, entry.end_line)
            assert relevant == (entry.chunk_id in qrels[query["id"]])
        assert query["text"] == ["", rows[query["id"]].query, ""]
        assert "share" not in query


def lane(run, query_id, chunks):
    """The chunks with their ranks by the log and their judgement."""
    ranked, relevant = run.ranked_ids()[query_id], run.qrels()[query_id]
    return [
        [
            *(c.lines.start, c.lines.end),
            ranked.index(c.chunk_id) + 1 if c.chunk_id in ranked else 0,
            c.chunk_id in relevant,
        ]
        for c in chunks
    ]


def test_ranks_stand_beside_the_chunks_of_the_queries_file(of):
    """Each chunk has its rank, and says whether it is relevant."""
    run, result = of()
    for query in result["queries"]:
        assert query["lanes"] == [lane(run, query["id"], run.inspection.chunks[query["file"]])]
        assert result["files"][query["file"]] == run.inspection.sources[query["file"]].text.splitlines()
