"""The head of the report: the runs best first, with their differences to the best, and what a query reads."""

import re

import pytest

from repoeval_bench.analysis.comparison import compare
from repoeval_bench.report.html.report import report_page
from repoeval_bench.report.html.tables import page_runs, ranking
from repoeval_bench.report.verdict import verdict
from support.runs import write_run

FILES = [f"f{i // 2}" for i in range(80)]
NAMES = ("b", "c", "d")


@pytest.fixture
def stored_runs(tmp_path):
    """Three runs, the best in the middle: `c` far ahead of `b`, and no more than noise ahead of `d`."""
    base = [0.3 + 0.01 * (i * 7 % 13) for i in range(80)]
    noisy = [value + 0.2 + (0.05 if i % 4 < 2 else -0.06) for i, value in enumerate(base)]
    columns = (base, [value + 0.2 for value in base], noisy)
    return [
        write_run(tmp_path / name, {"ndcg@10": values}, files=FILES, chunk_nws={"mean": mean, "median": 1, "p95": 1})
        for name, values, mean in zip(NAMES, columns, (100.0, 120.0, 80.0), strict=True)
    ]


def test_the_best_run_is_first_and_the_others_follow_by_their_score(stored_runs):
    """Scores and differences are those of compare; ten chunks of mean size are what a query reads."""
    result = verdict(stored_runs).record
    head = ranking(page_runs(stored_runs), result)
    assert [row.run for row in head.rows] == [1, 2, 0]
    assert [row.score for row in head.rows] == [stored_runs[row.run].metrics.micro["ndcg@10"] for row in head.rows]
    by_name = {
        comparison.treatment: comparison.difference
        for comparison in compare(stored_runs, stored_runs[1])
        if comparison.measure == "ndcg@10"
    }
    assert [row.difference for row in head.rows] == [None, by_name["d"], by_name["b"]]
    assert [row.outcome for row in head.rows] == ["best", "not significant", "worse"]
    assert (head.unit, [row.cost for row in head.rows]) == ("characters", [1200.0, 800.0, 1000.0])


def test_the_page_has_the_ranking_in_its_order_and_one_plot(stored_runs):
    """A row for each run, best first, and the plot's words hold each difference."""
    page = report_page(stored_runs, "report.html")
    table = page[page.index('id="ranking"') : page.index("</table>", page.index('id="ranking"'))]
    assert re.findall(r'<tr class="run(\d)">', table) == ["1", "2", "0"]
    assert page.count('id="ranking-plot"') == 1
    result = verdict(stored_runs).record
    for difference in result.differences:
        if difference.measure == "ndcg@10":
            assert (
                f"{difference.treatment}: {difference.difference:+.4f} [{difference.ci[0]:+.4f}, {difference.ci[1]:+.4f}]"
                in page
            )
