"""The script that makes the tables of data/leaderboard from stored runs, and the one that measures an update."""

import csv
import io
import json
from pathlib import Path

import pytest

from repoeval_bench.analysis.comparison import compare
from repoeval_bench.metrics import BUDGETS
from repoeval_bench.runs.naming import stored_runs
from support.codebase import write_files
from support.command import python
from support.runs import write_run

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"
SPREAD = (-0.5, 0.1, -0.1, 0.3, 0.2, -0.4, 0.6, -0.2)
AST = "ast:max_nws={},min_nws=50,overlap=0,language=auto"
CHUNKERS = {
    "fixed:max_nws=500,offset=0": (440, 0.40),
    "fixed:max_nws=1000,offset=0": (900, 0.30),
    AST.format(700): (470, 0.50),
    AST.format(1300): (880, 0.35),
    "file": (4000, 0.1),
}
"""Spec -> its mean chunk and its mean score; no size of `fixed` is that of `file`."""


@pytest.fixture
def tables(tmp_path):
    """The tables of five runs under two protocols: name -> rows; the second is the runs of the first protocol."""
    from leaderboard_tables import tables as make_tables

    for protocol in ("body", "context"):
        for spec, (nws, mean) in CHUNKERS.items():
            mean = mean if protocol == "body" else 0.6 - mean
            values = [mean * (1 + part) for part in SPREAD]
            recall = {f"line_recall@{b}": [min(1.0, v * (i + 1) / 2) for v in values] for i, b in enumerate(BUDGETS)}
            write_run(
                tmp_path / f"{protocol}-{spec.replace(':', '-')}",
                {"line_rprec": values, "recall@5": values[::-1], **recall},
                files=[f"f{i}.py" for i in range(8)],
                chunker=spec,
                protocol=protocol,
                headline_measure="line_rprec",
                chunk_nws={"mean": float(nws), "median": nws, "p95": nws, "max": nws},
            )
    version = {"language": "python"}
    updates = [
        {"old": version | {"fingerprint": f"o{i}"}, "new": version | {"fingerprint": f"n{i}"}, "spec": spec}
        | {"nws": 100, "new_nws": 10 * (i + 1) + more}
        for i in range(6)
        for spec, more in ((AST.format(690), 0), ("fixed:max_nws=500", 30))
    ]
    runs = stored_runs(tmp_path)
    files = make_tables(runs, updates)
    rows = {name.removesuffix(".csv"): list(csv.DictReader(io.StringIO(text))) for name, text in files.items()}
    return rows, {run.metrics.chunker: run for run in runs if run.metrics.protocol == "body"}


def test_each_chunker_is_compared_with_fixed_of_its_size(tables):
    """By `compare`; a run that has no size of `fixed` is in none."""
    rows, runs = tables
    body = [row for row in rows["against"] if row["protocol"] == "body"]
    assert {row["chunker"] for row in body} == {"ast at 500", "ast at 1,000"}
    (said,) = compare([runs[AST.format(700)]], runs["fixed:max_nws=500,offset=0"], measures=["line_rprec"])
    (row,) = (row for row in body if (row["chunker"], row["measure"]) == ("ast at 500", "lines R-prec"))
    assert (float(row["difference"]), float(row["ci.low"])) == pytest.approx((said.difference, said.ci[0]))


def test_sizes_frontier_and_updates(tables):
    """The largest size minus the smallest; the best run within each budget; the share that is embedded again."""
    rows, _ = tables
    (sizes,) = (row for row in rows["sizes"] if (row["protocol"], row["chunker"]) == ("body", "ast"))
    assert float(sizes["difference"]) == pytest.approx(0.35 - 0.50)
    frontier = [row for row in rows["frontier"] if row["protocol"] == "body"]
    assert ({row["chunker"] for row in frontier}, len(frontier)) == ({"ast at 500"}, len(BUDGETS))
    (update,) = (row for row in rows["updates"] if (row["protocol"], row["chunker"]) == ("body", "ast at 500"))
    assert (float(update["share"]), float(update["difference"])) == pytest.approx((0.35, -0.3))


def test_protocols_that_rank_the_other_way_round(tables):
    (row,) = tables[0]["protocols"]
    assert (row["first"], row["second"], row["runs"]) == ("body", "context", "5")
    assert float(row["kendall_tau"]) == pytest.approx(-1)
    assert len(tables[0]["leaderboard"]) == 10


def test_a_line_for_each_chunker_says_what_is_embedded_again(tmp_path):
    old = write_files(tmp_path / "old", {"a.py": "def a():\n    return 1\n", "b.py": "x = 1\n"})
    new = write_files(tmp_path / "new", {"a.py": "def a():\n    return 1\n", "b.py": "x = 2\n"})
    words = (SCRIPTS / "churn.py", old, new, "-c", "functions", "-c", "file")
    done = python(*words, PYTHONPATH=str(SCRIPTS.parent))
    assert done.code == 0, done.err
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert [(line["new_texts"], line["texts"], line["new_nws"]) for line in lines] == [(1, 2, 3), (1, 2, 3)]
