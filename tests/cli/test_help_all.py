"""`--help` shows what most people need, `--help-all` every option."""

import re

import click
import pytest

from repoeval_bench.cli import app
from support.command import bench


def options_in(text):
    return set(re.findall(r"^ +(?:-\w, )?(--[a-z0-9-]+)", text, flags=re.MULTILINE))


@pytest.mark.parametrize("name", ["compare", "eval", "sweep"])
def test_the_long_help_has_every_option_and_the_short_one_half(name):
    short, long = (options_in(bench(name, flag).out) for flag in ("--help", "--help-all"))
    every = {
        max(each.opts, key=len)
        for each in app.get_command(click.Context(app), name).params
        if isinstance(each, click.Option) and max(each.opts, key=len).startswith("--")
    }
    assert long >= every > short - {"--help"}
    assert len(short) <= 22
    assert {"--chunker", "--protocol", "--retriever", "--source", "--out", "--help-all"} <= short
    assert {"--exclusion", "--relevance", "--long-text"} <= long - short


def test_an_option_that_is_not_shown_is_read(mirror, tmp_path):
    asked = ("eval", "-c", "fixed:max_nws=400", "--retriever", "bm25", "--source", mirror, "--out", tmp_path)
    assert "did you mean" in bench(*asked, "--exclusion", "bdy").err
    assert bench(*asked, "--exclusion", "body").code == 0
