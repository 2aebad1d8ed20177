"""`compare` and `diff` as a person runs them."""

import pytest

from support.command import bench, json_of, succeed
from support.runs import read_rows, write_run


def test_the_verdict_follows_from_the_numbers_printed(two_runs):
    """Each row's verdict is that of its own adjusted p and difference; micro and macro are beside each other."""
    runs = two_runs.fixed, two_runs.ast
    rows = json_of("compare", *runs)["comparisons"]
    assert {row["measure"] for row in rows} >= {"ndcg@10", "recall@5"}
    for row in rows:
        if row["measure"].endswith("_ceiling"):
            assert (row["verdict"]["outcome"], row["p_adjusted"]) == ("not_tested", None)
            continue
        expected = "not_significant" if row["p_adjusted"] >= 0.05 else "better" if row["difference"] > 0 else "worse"
        assert row["verdict"]["outcome"] in (expected, "carried" if row["p_adjusted"] < 0.05 else "")
        assert row["difference"] == pytest.approx(row["micro"]["treatment"] - row["micro"]["baseline"])
        assert row["macro"]["difference"] == pytest.approx(row["macro"]["treatment"] - row["macro"]["baseline"])
        assert row["wins"] + row["ties"] + row["losses"] == row["n_queries"]
    text = succeed("compare", *runs, "--details")
    for piece in (
        *("micro (decides), 95 % CI", "macro, 95 % CI", "p (Holm)", "detectable", "Holm over"),
        *("which to choose, by lines found, micro mean", "p: the best against each other run"),
    ):
        assert piece in text.out
    assert max(map(len, text.out.splitlines())) < 180


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


def test_the_page_of_runs_from_elsewhere_is_offered_by_their_names(tmp_path):
    """`report` without names shows what was compared in its own folder; runs of another one are named."""
    folders = [write_run(tmp_path / name, {"ndcg@10": [0.1, 0.5] * 6}, chunker=name).folder for name in ("a", "b")]
    done = succeed("compare", *folders, "--out", tmp_path / "other")
    assert f"repoeval-bench report {folders[0]} {folders[1]}" in done.out
