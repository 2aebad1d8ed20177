"""`segments` as a person runs it."""

import json

from support.command import bench, json_of, one_sentence, succeed
from support.minirepo import REPOSITORIES


def test_segments_of_one_run_and_of_two(two_runs, tmp_path):
    """Every fact the run stored is a segment; counts add up; a second run gives paired differences."""
    ast, fixed = two_runs.ast.name, two_runs.fixed.name
    options = ("--out", two_runs.out)
    done = succeed("segments", ast, *options)
    for piece in (
        *("is_method", "has_docstring", "function_lines", "nesting_depth", "relevant_chunks"),
        *("share of queries by lines found", "knee of recall"),
    ):
        assert piece in done.out
    for runs in ((ast,), (ast, fixed)):  # by the protocol's headline
        assert json_of("segments", *runs, *options)["measure"] == "line_recall_auc"
    content = json_of("segments", ast, *options, "--by", "repo", "-m", "recall@5")
    assert {part["name"] for part in content["segments"]} == set(REPOSITORIES)
    per_repo = json.loads((two_runs.ast / "metrics.json").read_text())["per_repo"]
    for part in content["segments"]:
        assert abs(part["mean"] - per_repo[part["name"]]["recall@5"]) < 1e-12
        assert abs(part["recall_curve"][4] - part["mean"]) < 1e-12
    differences = json_of("segments", fixed, ast, *options)
    for by in {part["by"] for part in differences["segments"]}:
        parts = [part for part in differences["segments"] if part["by"] == by]
        assert sum(part["n_queries"] for part in parts) == 18
        total = sum(part["n_queries"] * part["difference"] for part in parts) / 18
        assert abs(total - differences["difference"]) < 1e-12
    assert "minus fixed" in bench("segments", fixed, ast, *options).out

    (tmp_path / "mine.csv").write_text("query_id,topic\nacme_inventory/0,stock\n")
    mine = bench("segments", ast, *options, "--facts", tmp_path / "mine.csv")
    assert "stock" in mine.out
    assert "unknown" in mine.out
    (tmp_path / "mine.csv").write_text("query_id,is_method\nacme_inventory/0,yes\n")
    taken = bench("segments", ast, *options, "--facts", tmp_path / "mine.csv")
    assert "is_method is a fact of the run already" in one_sentence(taken, 2)
    assert "did you mean 'is_method'" in one_sentence(bench("segments", ast, *options, "--by", "is_methd"), 2)
