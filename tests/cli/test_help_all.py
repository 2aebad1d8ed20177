"""`--help` shows what most people need, `--help-all` also the fields of `--set`."""

import re
from typing import Annotated

import click
import pytest
from annotated_types import Ge

from repoeval_bench.cli import app
from repoeval_bench.cli.options import option_variables, request_options
from repoeval_bench.core.errors import UsageError
from repoeval_bench.runs.request import Flag, RunRequest
from support.cases import cases
from support.command import bench, one_sentence

CASES = cases(__file__)

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


@pytest.mark.parametrize(("words", "sentence"), CASES["mistakes"])
def test_a_mistake_names_the_field(arguments, words, sentence):
    options = [option for word in words for option in ("--set", word)]
    assert sentence in one_sentence(bench(*arguments, *options), 2)


@pytest.mark.parametrize(("words", "sentence"), CASES["options"])
def test_a_mistyped_option_or_value_is_named_with_the_way_out(arguments, words, sentence):
    assert sentence in one_sentence(bench(*(words if words[0] == "export" else [*arguments, *words])), 2)


class NewOptions(RunRequest):
    """A request with rare fields that are no texts."""

    window: Annotated[int, Ge(1), Flag("Lines.", rare=True)] = 5
    share: Annotated[float | None, Flag("A share.", rare=True)] = None
    strict: Annotated[bool, Flag("A switch.", rare=True)] = False


@click.command()
@request_options(NewOptions)
def command(**fields):
    """Return the request, as a command makes it."""
    return NewOptions.of(fields, typed=True)


@pytest.mark.parametrize(("assigned", "value"), CASES["assigned"].items())
@pytest.mark.parametrize("by_variable", [False, True])
def test_a_new_field_is_read_by_its_type(assigned, value, by_variable):
    """From the command line and a variable of make; the command that makes the run again has it."""
    name, _, text = assigned.partition("=")
    variables = option_variables(command, {name.upper(): text} if by_variable else {})
    words = [] if by_variable else ["--set", assigned]

    def request():
        return command.main(words, standalone_mode=False, default_map=variables)

    if isinstance(value, str):
        with pytest.raises(UsageError) as error:
            request()
        assert str(error.value) == value
        return
    parsed = request()
    assert getattr(parsed, name) == value
    assert command.main(parsed.words(), standalone_mode=False) == parsed
    with pytest.raises(UsageError, match="was expected"):
        NewOptions.of({name: text})  # Python and YAML have types of their own
