"""Errors and notes name options as they were typed: `--k` on the command line, K under make."""

from contextvars import copy_context

import pytest

from repoeval_bench.cli import app
from repoeval_bench.cli.options import as_variables
from support.command import bench, one_sentence


def said(*arguments, **variables):
    """The one error of a command, in a context of its own: each process has one command."""
    return one_sentence(copy_context().run(bench, *arguments, **variables), 2)


def test_options_stay_options_on_the_command_line(mirror, tmp_path):
    """`--k 0` is answered with --k."""
    words = ("eval", "-c", "ast", "--retriever", "bm25", "--source", mirror, "--out", tmp_path)
    assert "--k=0 ranks nothing" in said(*words, "--k", "0")
    assert "raise --k to 10" in said(*words, "--k", "5", "-m", "ndcg@10")


def test_under_make_they_are_variables(mirror, tmp_path):
    """K=0 and LIMIT=0 are answered with K and LIMIT, and no option is named."""
    make = {"CHUNKER": "ast", "RETRIEVER": "bm25", "SOURCE": str(mirror), "OUT": str(tmp_path)}
    assert "K=0 ranks nothing" in said("--variables", "eval", **make, K="0")
    assert "raise K to 10" in said("--variables", "eval", **make, K="5", MEASURE="ndcg@10")
    sentence = said("--variables", "eval", **make, LIMIT="0")
    assert "LIMIT" in sentence
    assert "--limit" not in sentence


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ask for it with --set few_gold", "ask for it with FEW_GOLD=1"),
        ("give --queries FILE, or --set exclusion=none", "give QUERIES=FILE, or EXCLUSION=none"),
        ("no --home here, and no --outer", "no --home here, and no --outer"),
        ("--match-size and --match", "MATCH_SIZE and --match"),
    ],
)
def test_what_is_a_variable_is_written_as_one(text, expected):
    """Flags with =1, values with =, and words that only begin like an option unchanged."""
    assert as_variables(app.get_command(None, "eval"), text) == expected
