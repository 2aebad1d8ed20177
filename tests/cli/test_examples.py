"""The list of commands, and the examples below every command's help, which are lines that the command takes."""

import shlex

import click
import pytest

from repoeval_bench.cli import COMMANDS, EXAMPLES, START, app
from repoeval_bench.cli.group import CommandGroup
from support.cases import cases
from support.command import bench, one_sentence, python

CASES = cases(__file__)

CONTEXT = click.Context(app)
GROUPS = {
    name: group
    for name in app.list_commands(CONTEXT)
    if isinstance(group := app.get_command(CONTEXT, name), CommandGroup)
}
OF_THE_LIST = EXAMPLES.splitlines()
OF_GROUPS = [f"{name} {line}" for name, group in GROUPS.items() for line in group.examples.splitlines()]
LINES = [*OF_THE_LIST, *OF_GROUPS]
FILES = (
    "src/main.py facts.csv gates.yaml grid.json log.jsonl run.json gold.jsonl chunks.jsonl pool.jsonl calibration.jsonl "
    "negatives.jsonl run.trec qrels.trec bench.jsonl results.jsonl"
)
"""The files that the lines name."""


def test_the_list_of_commands_imports_none():
    """`--help` names each with what it is for, and loads neither numpy nor pydantic for it."""
    script = """
import sys
from repoeval_bench.cli import app
app.main(["--help"], standalone_mode=False)
assert not {"numpy", "pydantic"} & set(sys.modules)
"""
    done = python("-c", script)
    assert done.code == 0, done.err
    listed = done.out.partition("Commands:\n")[2].splitlines()
    names = [line.split()[0] for line in listed if line[2:3].strip() and line.startswith("  ")]
    assert names == app.list_commands(CONTEXT)


def test_without_a_command_it_shows_the_three_that_most_people_need():
    done = bench()
    assert (done.code, done.out, done.err) == (0, f"{START}\n", "")
    shown = [line.split()[1] for line in START.splitlines() if line.startswith("  repoeval-bench")]
    assert shown == ["recommend", "compare", "gate"]


def test_every_command_has_an_example_and_a_purpose():
    """A new command is shown too, one of a leaf among them."""
    assert {line.split()[0] for line in OF_THE_LIST} == COMMANDS.keys() - {"chunker", "export"}  # these bring their own
    assert len(OF_THE_LIST) >= 30
    for name, group in GROUPS.items():
        assert {line.split()[1] for line in OF_GROUPS if line.split()[0] == name} == set(group.table)
    tables = [COMMANDS, *(group.table for group in GROUPS.values())]
    assert all(purpose.endswith((".", "…")) for table in tables for _, purpose in table.values())


@pytest.mark.parametrize("line", LINES)
def test_the_command_takes_the_line_and_its_help_shows_it(line, tmp_path, monkeypatch):
    """Every option exists and every value is of its type, nothing is run; one line, not folded, so that it can be copied."""
    for folder in ("src", "annotations"):
        (tmp_path / folder).mkdir()
    for file in FILES.split():
        (tmp_path / file).touch()
    monkeypatch.chdir(tmp_path)
    first, *words = shlex.split(line)
    command, called = app.get_command(CONTEXT, first), [first]
    while isinstance(command, click.Group) and words and (inner := command.get_command(CONTEXT, words[0])):
        command, called, words = inner, [*called, words[0]], words[1:]
    command.make_context(called[-1], words)
    shown = called[:1] if line in OF_THE_LIST else called[:2]
    assert f"repoeval-bench {line}" in [item.strip() for item in bench(*shown, "--help").out.splitlines()]


@pytest.mark.parametrize(("words", "sentence"), CASES["wrong arguments"])
def test_an_argument_that_is_missing_or_too_many_comes_with_what_to_type(words, sentence):
    assert sentence in one_sentence(bench(*words), 2)
