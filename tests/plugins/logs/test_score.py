"""`score` on the files that `eval` writes, beside ir_measures on the same files."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support.command import bench, one_sentence

SHARED = {
    "nDCG@5": "ndcg@5",
    "nDCG@10": "ndcg@10",
    "nDCG": "ndcg",
    "R@5": "recall@5",
    "R@10": "recall@10",
    "P@5": "precision@5",
    "P@10": "precision@10",
    "Success@5": "hit@5",
    "Success@10": "hit@10",
    "RR": "mrr",
    "AP": "ap",
    "AP@10": "ap@10",
    "Rprec": "rprec",
}


@pytest.mark.parametrize("relevance", ["overlap", "graded:iou"])
def test_score_prints_the_decimals_that_ir_measures_prints(evaluate, tmp_path, relevance):
    """It reads the run as it is stored, they unpacked: every shared measure has the same four decimals, real gains included."""
    done = evaluate("--chunker", "ast:max_nws=400", "--set", f"relevance={relevance}")
    assert done.code == 0, done.err
    (folder,) = [path for path in (tmp_path / "results").iterdir() if path.is_dir()]
    qrels, run = folder / "qrels.trec", tmp_path / "run.trec"
    assert bench("export", "runs", folder, "-o", run).code == 0
    theirs = subprocess.run(
        [sys.executable, "-m", "ir_measures", str(qrels), str(run), *SHARED],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    ours = bench(
        "logs", "score", folder / "run.trec.gz", qrels, *(part for name in SHARED.values() for part in ("-m", name))
    )
    assert ours.code == 0, ours.err
    printed = dict(line.split("\t") for line in ours.out.splitlines())
    expected = dict(line.split("\t") for line in theirs.splitlines())
    assert {SHARED[name]: value for name, value in expected.items()} == printed


def test_a_bad_file_ends_in_one_sentence(tmp_path):
    """Exit code 1 for a file that cannot be scored, 2 for a measure that does not exist."""
    run, qrels = tmp_path / "run.trec", tmp_path / "qrels.trec"
    run.write_text("q Q0 a 1 x t\n")
    qrels.write_text("q 0 a 1\n")
    assert f"{run}:1:" in one_sentence(bench("logs", "score", run, qrels), 1)
    assert "'ndgc'" in one_sentence(bench("logs", "score", run, qrels, "-m", "ndgc@3"), 2)
