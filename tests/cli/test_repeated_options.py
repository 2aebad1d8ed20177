"""An option that is given twice: both values count, or the command line is refused; none is dropped without a word."""

import json

import click
import pytest

from repoeval_bench.cli import COMMANDS, app
from repoeval_bench.cli.options import option_variables, refuse_repeated
from support.command import bench


def every_command():
    """Yield (words, command) of each command, those within groups too."""
    queue = [((name,), app.get_command(click.Context(app), name)) for name in COMMANDS]
    while queue:
        words, command = queue.pop()
        yield words, command
        if isinstance(command, click.Group):
            queue += [((*words, name), inner) for name, inner in command.commands.items()]


def options_of(command, *, repeatable):
    """Yield the spelling of options that take a value, or may be set and unset."""
    for item in command.params:
        if isinstance(item, click.Option) and (item.secondary_opts or not item.is_flag) and item.multiple == repeatable:
            yield item, max(item.opts, key=len)


COMMAND_LINES = sorted(every_command(), key=lambda words: words[0])
COMMAND_IDS = [" ".join(words) for words, _ in COMMAND_LINES]


@pytest.mark.parametrize(("words", "command"), COMMAND_LINES, ids=COMMAND_IDS)
def test_every_option_takes_all_its_values_or_refuses_a_second_one(words, command):
    top, context = app.get_command(click.Context(app), words[0]), click.Context(app)
    for option, spelled in options_of(command, repeatable=False):
        once = [spelled] if option.is_flag else [spelled, "1"]
        refuse_repeated(top, [*words[1:], *once], context)
        with pytest.raises(click.UsageError, match=f"{spelled} is given 2 times"):
            refuse_repeated(top, [*words[1:], *once, *once], context)
        for other in option.opts:
            with pytest.raises(click.UsageError, match=f"{spelled} is given 3 times"):
                refuse_repeated(
                    top, [*words[1:], *once, *once, *([other] if option.is_flag else [other, "2"])], context
                )
    for _, spelled in options_of(command, repeatable=True):
        refuse_repeated(top, [*words[1:], spelled, "1", spelled, "2"], context)


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


@pytest.mark.parametrize("words", [["eval", "--out", ""], ["eval", "--out="], ["recommend", ""]])
def test_an_empty_value_is_not_the_current_folder(words):
    """An unset variable of a shell leaves one."""
    done = bench(*words)
    assert done.code == 2
    assert "is empty, as an unset variable leaves it; give one" in done.err
