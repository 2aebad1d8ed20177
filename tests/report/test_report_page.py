"""A page of runs: its head, its table of scores, and what it looks up about single queries."""

import re
from functools import cache

import pytest

from repoeval_bench.analysis.comparison import compare
from repoeval_bench.report.html.payload import TOP, payload
from repoeval_bench.report.html.report import report_page
from repoeval_bench.report.html.tables import kind_of, page_runs, page_table, ranking, score_columns
from repoeval_bench.report.scores import ceiling_notes, title_of_scores
from repoeval_bench.report.table import table_of
from repoeval_bench.report.verdict import verdict
from repoeval_bench.runs.runner import evaluate
from support.cases import cases
from support.runs import write_run

CASES = cases(__file__)

FILES = [f"f{i // 2}" for i in range(80)]
AST = "ast:max_nws=400"
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


@pytest.fixture
def ranked_runs(tmp_path):
    """Three runs, the best in the middle: `c` far ahead of `b`, and no more than noise ahead of `d`."""
    base = [0.3 + 0.01 * (i * 7 % 13) for i in range(80)]
    noisy = [value + 0.2 + (0.05 if i % 4 < 2 else -0.06) for i, value in enumerate(base)]
    columns = (base, [value + 0.2 for value in base], noisy)
    return [
        write_run(tmp_path / name, {"ndcg@10": values}, files=FILES, chunk_nws={"mean": mean, "median": 1, "p95": 1})
        for name, values, mean in zip("bcd", columns, (100.0, 120.0, 80.0), strict=True)
    ]


def test_the_best_run_is_first_and_the_others_follow_by_their_score(ranked_runs):
    """Scores and differences are those of compare; ten chunks of mean size are what a query reads."""
    result = verdict(ranked_runs).record
    head = ranking(page_runs(ranked_runs), result)
    assert [row.run for row in head.rows] == [1, 2, 0]
    assert [row.score for row in head.rows] == [ranked_runs[row.run].metrics.micro["ndcg@10"] for row in head.rows]
    by_name = {
        comparison.treatment: comparison.difference
        for comparison in compare(ranked_runs, ranked_runs[1])
        if comparison.measure == "ndcg@10"
    }
    assert [row.difference for row in head.rows] == [None, by_name["d"], by_name["b"]]
    assert [row.outcome for row in head.rows] == ["best", "not significant", "worse"]
    assert (head.unit, [row.cost for row in head.rows]) == ("characters", [1200.0, 800.0, 1000.0])


def test_the_page_has_the_ranking_in_its_order_and_one_plot(ranked_runs):
    """A row for each run, best first, and the plot's words hold each difference."""
    page = report_page(ranked_runs, "report.html")
    table = page[page.index('id="ranking"') : page.index("</table>", page.index('id="ranking"'))]
    assert re.findall(r'<tr class="run(\d)">', table) == ["1", "2", "0"]
    assert page.count('id="ranking-plot"') == 1
    result = verdict(ranked_runs).record
    for difference in result.differences:
        if difference.measure == "ndcg@10":
            assert (
                f"{difference.treatment}: {difference.difference:+.4f} [{difference.ci[0]:+.4f}, {difference.ci[1]:+.4f}]"
                in page
            )


@pytest.fixture(scope="module")
def of(benchmark, tmp_path_factory):
    """The payload of one chunker's run under a protocol."""

    @cache
    def call(protocol="context"):
        run = evaluate(benchmark, AST, protocol=protocol, retriever="jaccard", out=tmp_path_factory.mktemp("runs"))
        return run, payload(page_runs([run]), ["ndcg@10"], [0])

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


@pytest.mark.parametrize(("measures", "notes"), CASES["ceilings"])
def test_a_ceiling_is_explained_as_that_of_its_measure(tmp_path, measures, notes):
    """That of nDCG is exact; those of lines and definitions are estimates, each by what it collects first."""
    means = dict.fromkeys(measures, 0.9)
    run = write_run(tmp_path, {"ndcg@10": [0.5], **{name: [0.5] for name in measures}}, ceilings={"micro": means})
    said = ceiling_notes(run)
    assert len(said) == len(notes)
    assert all(line.startswith(note) for line, note in zip(said, notes, strict=True))
    assert [line for line in said if "ranked greedily by new definitions per character" in line] == [
        line for line in said if line.startswith("ceiling of definition measures")
    ]


@pytest.mark.parametrize(
    ("unscored", "said"),
    [(16, "not scored: 16 other tasks without a query or target under the protocol"), (0, "")],
)
def test_tasks_that_the_protocol_leaves_out_are_counted_beside_those_it_scores(tmp_path, unscored, said):
    run = write_run(tmp_path, {"ndcg@10": [0.5]}, counts={"tasks_unscored": unscored})
    title = title_of_scores(run, alone=False)
    assert said in title
    assert ("not scored" in title) == bool(unscored)
    assert title_of_scores(run, alone=True).endswith("\nmicro mean: over queries; macro mean: over repositories")
