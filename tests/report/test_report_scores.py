"""The report's table of scores: its columns, and what the runs are called."""

import pytest

from repoeval_bench.report.html.report import report_page
from repoeval_bench.report.html.tables import kind_of, page_runs, page_table, score_columns
from repoeval_bench.report.table import table_of
from support.runs import write_run

DENSE = {"chunker": "fixed:max_nws=9", "retriever": "dense", "embedder": "minilm"}
BM25 = {"chunker": "fixed:max_nws=9", "retriever": "bm25:k1=1.2", "embedder": "none"}


@pytest.fixture
def stored_runs(tmp_path):
    """Runs by what they differ in, in one folder."""

    def make(*changes):
        usual = [({"ndcg@10": [0.2, 0.4 + at / 10]}, {"latency": [1.0 + at] * 2}) for at in range(len(changes))]
        return [
            write_run(tmp_path / f"run{at}", values, imported=True, **times, **changed)
            for at, ((values, times), changed) in enumerate(zip(usual, changes, strict=True))
        ]

    return make


def test_a_column_is_a_measure_that_was_scored(stored_runs):
    """Nothing is scored for the page: what eval did not score has no column."""
    runs = page_runs(stored_runs(DENSE, BM25))
    table = page_table(table_of(score_columns(runs, "retriever"), runs, "page"))
    assert [head["key"] for head in table["heads"]] == ["", "ndcg@10"]
    assert [row[1].value for row in table["rows"]] == pytest.approx([0.3, 0.35])


@pytest.mark.parametrize(
    ("changes", "kind", "short"),
    [
        ((DENSE, BM25), "retriever", ["dense", "bm25"]),
        ((DENSE, BM25 | {"chunker": "ast"}), "run", ["fixed · dense", "ast · bm25"]),
        ((DENSE, DENSE | {"chunker": "ast"}), "chunker", ["fixed", "ast"]),
        ((DENSE, DENSE | {"embedder": "hash"}), "embedder", ["minilm", "hash"]),
        ((DENSE,), "chunker", ["fixed"]),
    ],
)
def test_runs_are_called_by_what_they_differ_in(stored_runs, changes, kind, short):
    """An embedder that one of two retrievers does not use is not a difference of its own."""
    runs = page_runs(stored_runs(*changes))
    assert kind_of(runs) == kind
    assert [run.short for run in runs] == short


def test_a_page_over_two_retrievers_names_their_chunker(stored_runs):
    """The heading says what differs, the line under it the chunker that both share, the column what the names are."""
    page = report_page(stored_runs(DENSE, BM25), "report.html")
    assert "<h1>dense vs bm25</h1>" in page
    assert "chunker fixed:max_nws=9</p>" in page
    assert '<button type="button">retriever</button>' in page
    assert '<button type="button">chunker</button>' not in page
