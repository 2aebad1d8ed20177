"""`--help` shows what most people need, `--help-all` also the fields of `--set`."""

import re

import click
import pytest

from repoeval_bench.cli import app
from repoeval_bench.runs.request import RunRequest
from support.command import bench, one_sentence

MOST_OPTIONS = 23


@pytest.mark.parametrize("name", ["compare", "eval", "sweep"])
def test_every_field_of_a_run_is_an_option_or_set(name):
    short, long = (bench(name, flag).out for flag in ("--help", "--help-all"))
    options = app.get_command(click.Context(app), name).params
    assert sum(isinstance(option, click.Option) for option in options) <= MOST_OPTIONS
    for field, option in RunRequest.options().items():
        listed = rf"^  {field}\b" if option.rare else rf"^ +(-\w, )?{option.spelling(field)}\b"
        assert re.search(listed, long, re.MULTILINE), field
        assert bool(re.search(listed, short, re.MULTILINE)) is not option.rare, field


@pytest.fixture
def arguments(mirror, tmp_path):
    return ("eval", "-c", "fixed:max_nws=400", "--retriever", "bm25", "--source", mirror, "--out", tmp_path)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("exclusion=bdy",), "did you mean 'body'"),
        (("exclusoin=body",), "did you mean 'exclusion'"),
        (("exclusion=body", "exclusion=none"), "--set exclusion is given twice"),
        (("exclusion",), "give --set exclusion=VALUE"),
        (("allow_sparse_qrels=maybe",), "--set allow_sparse_qrels: "),
    ],
)
def test_a_mistake_names_the_field(arguments, words, sentence):
    options = [option for word in words for option in ("--set", word)]
    assert sentence in one_sentence(bench(*arguments, *options), 2)
