"""Options that take several values, on the command line and from variables."""

import json

import click
import pytest

from repoeval_bench.cli import app
from repoeval_bench.cli.options import option_variables
from support.command import bench


def test_words_of_several_options_are_those_of_one(mirror, tmp_path):
    """--repos and --sizes, whose values may also stand in one word."""
    arguments = ("sweep", "-c", "fixed", "--retriever", "bm25", "--source", mirror, "--out", tmp_path / "out", "--json")
    once = ("--repos", "acme_inventory,northwind_textkit", "--sizes", "300 500")
    twice = ("--repos", "acme_inventory", "--repos", "northwind_textkit", "--sizes", "300", "--sizes", "500")
    printed = {bench(*arguments, *words, home=tmp_path / "home").out for words in (once, twice)}
    assert len(printed) == 1
    assert len(json.loads(printed.pop())) == 2


@pytest.mark.parametrize("name", ["eval", "compare", "sweep", "recommend"])
def test_variables_hold_all_values_separated_by_blanks(name):
    """As make passes them on; an option on the command line goes before its variable."""
    command = app.get_command(click.Context(app), name)
    given = option_variables(command, {"REPOS": "a b", "SIZES": "300 500", "K": "5"})
    context = click.Context(command, default_map=given)
    words = ["path"] if name == "recommend" else []
    command.parse_args(context, list(words))
    assert context.params.get("repos", ("a", "b")) == ("a", "b")
    if name in {"recommend", "sweep"}:
        assert context.params["sizes"] == (300, 500)
    over = click.Context(command, default_map=given)
    command.parse_args(over, [*words, *(["--sizes", "700"] if name == "recommend" else ["--repos", "c"])])
    assert over.params["sizes" if name == "recommend" else "repos"] == ((700,) if name == "recommend" else ("c",))
