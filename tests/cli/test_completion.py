"""A shell offers runs and names of parts."""

import pytest
from click.shell_completion import ShellComplete

from repoeval_bench.cli import app


def offered(words, begun):
    complete = ShellComplete(app, {}, "repoeval-bench", "_REPOEVAL_BENCH_COMPLETE")
    return [item.value for item in complete.get_completions(words.split(), begun)]


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
