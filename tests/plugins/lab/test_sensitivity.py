"""`lab sensitivity`: the settings of a file are run by the runner, and those in which a chunker wins are counted."""

import pytest

from repoeval_bench.plugins.lab.sensitivity import cells, sensitivity_table
from repoeval_bench.runs.benchmark_file import read_benchmark, shipped
from repoeval_bench.runs.runner import Runner
from support.command import bench, json_of, one_sentence

SETTINGS = """\
chunkers: [fixed:max_nws=400, ast:max_nws=400]
protocol: [context, context+relevance=iou:0.2, body]
retrievers: [bm25, jaccard]
measures: [ndcg@10, line_recall_auc]
allow_sparse_qrels: true
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "settings.yaml").write_text(SETTINGS)
    return tmp_path / "settings.yaml"


def test_every_setting_is_run_compared_and_counted(file, benchmark, tmp_path):
    """A measure of lines, which no relevance rule changes, is counted once for all of them."""
    requests = read_benchmark(file, {}).requests
    counted = list(cells(Runner(requests, benchmark=benchmark, out=tmp_path / "runs"), requests))
    assert [cell.comparison.measure for cell in counted].count("ndcg@10") == 3 * 2
    assert [cell.comparison.measure for cell in counted].count("line_recall_auc") == 2 * 2
    assert {(cell.chunker, cell.against) for cell in counted} == {("ast:max_nws=400", "fixed:max_nws=400")}
    rows = sensitivity_table(counted).rows
    counts = {row.cells[3]: (row.cells[4], sum(row.cells[5:])) for row in rows}
    assert counts == {"nDCG@10": (6, 6), "lines found": (4, 4)}


def test_stored_runs_are_those_of_run(file, mirror, tmp_path):
    """The command makes what `run` makes, and goes on from it."""
    where = ("--source", mirror, "--out", tmp_path / "runs")
    result = json_of("lab", "sensitivity", file, *where, home=tmp_path / "home")
    folders = {path.parent for path in (tmp_path / "runs").glob("*/manifest.json")}
    assert (len(result), len(folders)) == (10, 12)
    assert {row["verdict"] for row in result} <= {"better", "worse", "not significant", "borderline"}


def test_a_chunker_that_fails_is_left_out_and_listed(file, mirror, tmp_path):
    """The others are counted all the same."""
    file.write_text(file.read_text().replace("chunkers: [", "chunkers: [exec:false, "))
    done = bench("lab", "sensitivity", file, "--source", mirror, "--out", tmp_path / "runs", home=tmp_path / "home")
    assert (done.code, "lines found" in done.out, "6 of 18 runs failed" in done.err) == (1, True, True), done.err


def test_mistakes_are_one_sentence(file):
    file.write_text("chunkers: fixed\n")
    assert "name two or more to compare" in one_sentence(bench("lab", "sensitivity", file), 2)
    assert "did you mean 'sensitivity'" in one_sentence(bench("lab", "sensitivity", "sensitivty"), 2)


def test_the_shipped_file_has_fifteen_protocols_for_two_retrievers():
    requests = read_benchmark(shipped("sensitivity"), {}).requests
    assert len(requests) == 15 * 2 * 3
