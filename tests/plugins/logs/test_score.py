"""The measures of a run beside those that ir_measures computes from its TREC files."""

import json
import sys

import pytest

from support.cases import cases
from support.command import python, succeed

SHARED = cases(__file__)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="ir_measures 0.4.3 reads names by ast.Num, which 3.14 has not")
@pytest.mark.parametrize("relevance", ["overlap", "graded:iou"])
def test_eval_scores_what_ir_measures_scores(evaluate, tmp_path, relevance):
    """Every shared measure has the same four decimals, real gains included."""
    measures = [part for name in SHARED.values() for part in ("-m", name)]
    done = evaluate("--chunker", "ast:max_nws=400", "--set", f"relevance={relevance}", *measures)
    assert done.code == 0, done.err
    (folder,) = [path for path in (tmp_path / "results").iterdir() if path.is_dir()]
    run = tmp_path / "run.trec"
    succeed("export", "runs", folder, "-o", run)
    theirs = python("-m", "ir_measures", tmp_path / "run.trec.qrels", run, *SHARED).out
    ours = json.loads((folder / "metrics.json").read_text("utf-8"))["micro"]
    expected = dict(line.split("\t") for line in theirs.splitlines())
    assert {SHARED[name]: value for name, value in expected.items()} == {
        name: f"{ours[name]:.4f}" for name in SHARED.values()
    }
