"""A shell offers runs and names of parts."""

import pytest
from click.shell_completion import ShellComplete

from repoeval_bench.cli import app


def offered(words, begun):
    complete = ShellComplete(app, {}, "repoeval-bench", "_REPOEVAL_BENCH_COMPLETE")
    return [item.value for item in complete.get_completions(words.split(), begun)]


def test_runs_are_offered(tmp_path):
    """Those in --out that begin so, and the newest."""
    for run_id in ("ast-400_body_bm25-12345678", "fixed-400_body_bm25-12345678"):
        (tmp_path / run_id).mkdir()
        (tmp_path / run_id / "manifest.json").touch()
    assert offered(f"diff --out {tmp_path}", "a") == ["ast-400_body_bm25-12345678"]
    named = ["latest", "ast-400_body_bm25-12345678", "fixed-400_body_bm25-12345678"]
    assert offered(f"compare --out {tmp_path}", "") == named


@pytest.mark.parametrize(
    ("words", "begun", "name"),
    [
        ("eval --chunker", "fi", "fixed"),
        ("compare --retriever", "b", "bm25"),
        ("sweep --measure", "ndc", "ndcg"),
    ],
)
def test_parts_are_offered(words, begun, name):
    """By the beginning of their names."""
    result = offered(words, begun)
    assert name in result
    assert all(item.startswith(begun) for item in result)
