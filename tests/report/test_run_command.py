"""The command that makes a run again is one that the command line takes, and makes the same run."""

import json
import shlex

import pytest

from repoeval_bench.report.run_command import run_command
from repoeval_bench.runs.runner import evaluate
from support.command import bench


@pytest.mark.parametrize(
    "options",
    [
        {"chunker": "ast:max_nws=300", "retriever": "grep:around=lines:3", "k": 7, "measures": ("mrr",)},
        {"chunker": "file", "protocol": "body", "retriever": "random", "skip_errors": True},
    ],
)
def test_the_command_makes_the_same_run(benchmark, mirror, tmp_path, options):
    """The same numbers under the same id; rare options too, which are given by --set."""
    run = evaluate(benchmark, **options, allow_sparse_qrels=True, out=tmp_path / "made")
    program, *words = shlex.split(run_command(run), comments=True)
    done = bench(*words, "--source", mirror, "--set", "allow_sparse_qrels", "--out", tmp_path / "again", "--json")
    assert (program, done.code) == ("repoeval-bench", 0), done.err
    assert json.loads(done.out) == run.metrics.as_json()
