"""Every command of every group, leaves among them: an example that it takes, and help that shows it."""

import shlex

import click
import pytest

from repoeval_bench.cli import app
from repoeval_bench.cli.group import CommandGroup
from support.command import bench

CONTEXT = click.Context(app)
GROUPS = {
    name: group
    for name in app.list_commands(CONTEXT)
    if isinstance(group := app.get_command(CONTEXT, name), CommandGroup)
}
LINES = [(name, line) for name, group in GROUPS.items() for line in group.examples.splitlines()]
FILES = (
    "log.jsonl run.json gold.jsonl chunks.jsonl pool.jsonl calibration.jsonl negatives.jsonl run.trec qrels.trec "
    "bench.jsonl results.jsonl"
)


def test_every_command_of_a_leaf_has_an_example_and_a_purpose():
    for name, group in GROUPS.items():
        assert {line.split()[0] for of, line in LINES if of == name} == set(group.table)
        assert all(purpose.endswith((".", "…")) for _, purpose in group.table.values())


@pytest.mark.parametrize(("name", "line"), LINES, ids=[" ".join(each) for each in LINES])
def test_the_command_takes_the_line(name, line, tmp_path, monkeypatch):
    """Every option exists and every value is of its type; nothing is run."""
    for folder in ("src", "annotations"):
        (tmp_path / folder).mkdir()
    for file in ("facts.csv", "grid.json", *FILES.split()):
        (tmp_path / file).touch()
    monkeypatch.chdir(tmp_path)
    first, *words = shlex.split(line)
    command = GROUPS[name].get_command(CONTEXT, first)
    while isinstance(command, click.Group) and words and (inner := command.get_command(CONTEXT, words[0])):
        command, words = inner, words[1:]
    command.make_context(first, words)


@pytest.mark.parametrize(("name", "line"), LINES, ids=[" ".join(each) for each in LINES])
def test_the_help_shows_the_line(name, line):
    shown = bench(name, line.split()[0], "--help").out.splitlines()
    assert f"repoeval-bench {name} {line}" in [each.strip() for each in shown]
