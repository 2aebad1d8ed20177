"""`repoeval-bench logs score`: any TREC run against any qrels."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from repoeval_bench.core.errors import MetricError, UsageError
from repoeval_bench.plugins.logs.commands.score import score_command

RUN = "a Q0 x 1 0.9 t\na Q0 y 2 0.8 t\nextra Q0 x 1 0.5 t\n"
QRELS = "a 0 y 1\nb 0 x 1\nc 0 none 0\n"


@pytest.fixture
def score(tmp_path):
    (tmp_path / "run.trec").write_text(RUN)
    (tmp_path / "qrels.trec").write_text(QRELS)

    def call(*arguments):
        files = (str(tmp_path / "run.trec"), str(tmp_path / "qrels.trec"))
        return CliRunner().invoke(score_command, [*files, *arguments], catch_exceptions=False, standalone_mode=False)

    return call


def test_means_are_printed_with_four_decimals(score):
    """One line per measure, in the order asked for, over all queries of the qrels."""
    assert score("-m", "ndcg@10", "-m", "recall@5 RR").stdout == "ndcg@10\t0.2103\nrecall@5\t0.3333\nmrr\t0.1667\n"


def test_default_measures_are_scored_where_none_is_named(score):
    """Nine of them."""
    assert len(score().stdout.splitlines()) == 9


def test_every_query_is_printed_on_request(score):
    """-q prints query, measure, value, and the means under `all`."""
    assert score("-m", "mrr", "-q").stdout.splitlines() == [
        "a\tmrr\t0.5000",
        "b\tmrr\t0.0000",
        "c\tmrr\t0.0000",
        "all\tmrr\t0.1667",
    ]


def test_what_does_not_fit_is_counted_and_shown(score):
    """Queries without a relevant chunk, without a run, and without qrels, on standard error."""
    notes = score("-m", "mrr").stderr
    assert "1 of 3 queries without a relevant chunk score 0" in notes
    assert "2 of 3 queries are not in the run and score 0" in notes
    assert "1 query of the run not in the qrels" in notes


def test_json_holds_means_counts_and_queries(score):
    """--json is one object; with -q it has every query's value."""
    report = json.loads(score("-m", "mrr", "-q", "--json").stdout)
    assert report["mean"] == {"mrr": pytest.approx(1 / 6)}
    assert (report["queries"], report["queries_with_relevant"], report["strategy_used"]) == (3, 2, "qrels")
    assert report["per_query"] == {"a": {"mrr": 0.5}, "b": {"mrr": 0.0}, "c": {"mrr": 0.0}}
    assert "per_query" not in json.loads(score("-m", "mrr", "--json").stdout)


def test_measures_that_files_cannot_serve_are_refused(score):
    """Lines, vectors and texts are not in TREC files; unknown measures are refused before a file is read."""
    with pytest.raises(UsageError, match="which TREC files do not hold"):
        score("-m", "line_recall@1500")
    with pytest.raises(UsageError, match="did you mean 'ndcg'"):
        score("-m", "ndgc@10")


def test_malformed_files_are_named_by_line(score, tmp_path):
    """file:line."""
    (tmp_path / "run.trec").write_text("a Q0 x 1 0.9\n")
    with pytest.raises(MetricError, match=r"run\.trec:1: 5 fields"):
        score()
