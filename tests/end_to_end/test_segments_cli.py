"""`segments` as a person runs it."""

import json

from support.command import bench, one_sentence
from support.minirepo import REPOSITORIES

AST, FIXED = "ast:max_nws=400", "fixed:max_nws=400"


def test_segments_of_one_run_and_of_two(evaluate, tmp_path):
    """Every fact the run stored is a segment; counts add up; a second run gives paired differences."""
    assert evaluate("-c", FIXED, "-c", AST).code == 0
    ast, fixed = sorted(path.name for path in (tmp_path / "results").iterdir())
    options = ("--out", tmp_path / "results")
    done = bench("segments", ast, *options)
    assert done.code == 0, done.err
    for piece in (
        *("is_method", "has_docstring", "function_lines", "nesting_depth", "relevant_chunks"),
        *("share of queries by lines found", "knee of recall"),
    ):
        assert piece in done.out
    for runs in ((ast,), (ast, fixed)):  # by the protocol's headline
        assert json.loads(bench("segments", *runs, *options, "--json").out)["measure"] == "line_recall_auc"
    content = json.loads(bench("segments", ast, *options, "--by", "repo", "-m", "recall@5", "--json").out)
    assert {part["name"] for part in content["segments"]} == set(REPOSITORIES)
    per_repo = json.loads((tmp_path / "results" / ast / "metrics.json").read_text())["per_repo"]
    for part in content["segments"]:
        assert abs(part["mean"] - per_repo[part["name"]]["recall@5"]) < 1e-12
        assert abs(part["recall_curve"][4] - part["mean"]) < 1e-12
    differences = json.loads(bench("segments", fixed, ast, *options, "--json").out)
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
