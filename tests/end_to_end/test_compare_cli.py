"""`compare`, `diff` and `segments` as a person runs them, and what every command refuses that compares."""

import json

import pytest

from support.command import bench, json_of, one_sentence, succeed
from support.minirepo import REPOSITORIES
from support.runs import read_rows, write_run


def test_diff_lists_what_changed(two_runs):
    """diff prints the largest changes with their reason, and every one of them with --json."""
    runs = two_runs.fixed, two_runs.ast
    arguments = ("diff", *runs, "-m", "recall@5")
    rows = json_of(*arguments)
    scores = [
        {row["query_id"]: row["measures"]["recall@5"] for row in read_rows(path)}
        for path in (run / "per_query.jsonl.gz" for run in runs)
    ]
    assert {row["query_id"] for row in rows} == {query for query in scores[0] if scores[0][query] != scores[1][query]}
    for row in rows:
        assert row["change"] == pytest.approx(scores[1][row["query_id"]] - scores[0][row["query_id"]])
        assert len(row["treatment"]["top"]) <= 5
    done = succeed(*arguments, "--limit", "1")
    assert "other chunks" in done.out
    assert f"changed in {len(rows)} of 18 queries" in done.out
    assert "lines found changed in " in bench("diff", *runs).out
    assert "no query of 18 changed" in bench("diff", runs[0], runs[0]).out


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
    differences = json_of("segments", fixed, ast, *options)
    for by in {part["by"] for part in differences["segments"]}:
        parts = [part for part in differences["segments"] if part["by"] == by]
        assert sum(part["n_queries"] for part in parts) == 18
        total = sum(part["n_queries"] * part["difference"] for part in parts) / 18
        assert abs(total - differences["difference"]) < 1e-12
    assert "minus fixed" in bench("segments", fixed, ast, *options).out
    assert "did you mean 'is_method'" in one_sentence(bench("segments", ast, *options, "--by", "is_methd"), 2)


def test_the_page_of_runs_from_elsewhere_is_offered_by_their_names(tmp_path):
    """`report` without names shows what was compared in its own folder; runs of another one are named."""
    folders = [write_run(tmp_path / name, {"ndcg@10": [0.1, 0.5] * 6}, chunker=name).folder for name in ("a", "b")]
    done = succeed("compare", *folders, "--out", tmp_path / "other")
    assert f"repoeval-bench report {folders[0]} {folders[1]}" in done.out


def test_runs_that_answer_other_questions_are_refused_by_every_command(tmp_path):
    """Another protocol, data set and query set: every command lists all three differences."""
    gates = tmp_path / "gates.yaml"
    gates.write_text("gates: [{measure: mrr, max_drop: 0.1}]")
    other = {"name": "made", "fingerprint": "1" * 12, "label": "made · 1", "tasks": 2}
    a = write_run(tmp_path / "a", {"mrr": [1.0, 0.5]}).folder
    b = write_run(
        tmp_path / "b", {"mrr": [1.0, 0.5]}, protocol="body", dataset=other, query_ids=["q000000", "x"]
    ).folder
    for command in (
        ("compare", a, b),
        ("diff", a, b, "-m", "mrr"),
        ("segments", a, b, "-m", "mrr"),
        ("gate", b, "--config", gates, "--baseline", a),
        ("report", a, b, "-o", tmp_path / "r.html"),
    ):
        sentence = one_sentence(bench(*command), 2)
        for piece in (
            *("protocol context against body", "made · 0 against made · 1", "1 query only in a (such as q000001)"),
            "1 query only in b (such as x)",
        ):
            assert piece in sentence, (command, sentence)


def test_one_query_shows_nothing(tmp_path):
    """No interval and no verdict; no command that compares or splits runs needs more."""
    a, b = (
        write_run(tmp_path / name, {"mrr": [value]}, files=["f.py"], imported=True).folder
        for name, value in (("a", 0.2), ("b", 1.0))
    )
    assert "not significant" in succeed("compare", a, b).out
    assert "changed in 1 of 1 query" in succeed("diff", a, b, "-m", "mrr").out
    assert "[too few files]" in succeed("segments", a, b, "-m", "mrr", "--by", "repo").out
    assert "The worst 1 of 1 query by MRR" in succeed("logs", "diagnose", a).out


def test_two_runs_are_compared_with_the_baseline_that_is_named(two_runs):
    """Also if the other is better."""
    runs = two_runs.fixed.name, two_runs.ast.name
    for baseline in runs:
        done = succeed("compare", *runs, "--baseline", baseline, "--out", two_runs.out)
        name = baseline.partition("-")[0]
        assert f"minus {name}" in done.out or f"against {name}" in done.out, done.out
