"""`compare`, `diff` and `segments` as a person runs them, and what every command refuses that compares."""

import json
import shutil

from support.command import bench, json_of, one_sentence
from support.runs import write_run


def test_segments_of_two_runs_are_paired_differences(two_runs, tmp_path):
    """Of every stored fact, by the protocol's headline; counts and differences add up. Facts of one's own are segments."""
    ast, fixed = two_runs.ast.name, two_runs.fixed.name
    options = ("--out", two_runs.out)
    differences = json_of("segments", fixed, ast, *options)
    assert differences["measure"] == "line_recall_auc"
    names = {part["by"] for part in differences["segments"]}
    assert names >= {"is_method", "has_docstring", "function_lines", "nesting_depth", "relevant_chunks"}
    for by in names:
        parts = [part for part in differences["segments"] if part["by"] == by]
        assert sum(part["n_queries"] for part in parts) == 18
        total = sum(part["n_queries"] * part["difference"] for part in parts) / 18
        assert abs(total - differences["difference"]) < 1e-12
    assert "treatment minus baseline: lines found" in bench("segments", fixed, ast, *options).out
    assert "did you mean 'is_method'" in one_sentence(bench("segments", ast, *options, "--by", "is_methd"), 2)


def test_a_baseline_is_a_run_to_compare_with_and_one_alone_is_refused_before_it_is_made(two_runs, tmp_path):
    """The page is about both, as the answer is."""
    out = tmp_path / "runs"
    shutil.copytree(two_runs.out, out)
    done = bench("compare", two_runs.ast.name, "--baseline", two_runs.fixed.name, "--out", out)
    assert (done.code, "under protocol context" in done.out) == (0, True), done.err
    assert json.loads((out / "compared.json").read_text())["runs"] == [two_runs.fixed.name, two_runs.ast.name]
    alone = bench("compare", "--chunker", "ast", "--source", tmp_path / "missing", "--out", tmp_path / "none")
    assert "1 run to compare; give two or more" in one_sentence(alone, 2)
    words = ("compare", "--chunker", "ast", "--source", tmp_path / "missing", "--out", out)
    assert "unknown run 'window'" in one_sentence(bench(*words, "--baseline", "window"), 2)


def test_runs_that_answer_other_questions_are_refused_by_every_command(tmp_path):
    """Another data set and query set: every command lists both. Of another protocol nothing else is said."""
    gates = tmp_path / "gates.yaml"
    gates.write_text("gates: [{measure: mrr, max_drop: 0.1}]")
    other = {"name": "made", "fingerprint": "1" * 12, "label": "made · 1", "tasks": 2}
    a = write_run(tmp_path / "a", {"mrr": [1.0, 0.5]}).folder
    unlike = {"dataset": other, "query_ids": ["q000000", "x"]}
    b = write_run(tmp_path / "b", {"mrr": [1.0, 0.5]}, **unlike).folder
    c = write_run(tmp_path / "c", {"mrr": [1.0, 0.5]}, **unlike, protocol="body").folder
    for command in (
        ("compare", a, b),
        ("diff", a, b, "-m", "mrr"),
        ("segments", a, b, "-m", "mrr"),
        ("gate", b, "--config", gates, "--baseline", a),
        ("report", a, b, "-o", tmp_path / "r.html"),
    ):
        sentence = one_sentence(bench(*command), 2)
        for piece in ("made · 0 against made · 1", "only in a (such as q000001)", "only in b (such as x)"):
            assert piece in sentence, (command, sentence)
    sentence = one_sentence(bench("compare", a, c), 2)
    assert "a and c: protocol context against body; name runs with the same protocol" in sentence
