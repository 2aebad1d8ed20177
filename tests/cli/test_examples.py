"""The list of commands, and the examples below every command's help, which are lines that the command takes."""

import shlex
import subprocess
import sys

import click
import pytest

from repoeval_bench.cli import COMMANDS, app, examples
from support.command import bench

LINES = [(line.partition(" ")[0], line) for line in examples.LINES.splitlines()]


def test_the_list_of_commands_imports_none():
    """`--help` names each with what it is for, and loads neither numpy nor pydantic for it."""
    script = """
import sys
from repoeval_bench.cli import app
app.main(["--help"], standalone_mode=False)
assert not {"numpy", "pydantic"} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    listed = done.stdout.partition("Commands:\n")[2].splitlines()
    names = [line.split()[0] for line in listed if line[2:3].strip() and line.startswith("  ")]
    assert names == app.list_commands(click.Context(app))
    assert all(purpose.endswith((".", "…")) for _, purpose in COMMANDS.values())


def test_every_command_has_an_example():
    """A new command is shown too."""
    assert {name for name, _ in LINES} == COMMANDS.keys() - {"chunker", "export"}  # groups that bring their own
    assert len(LINES) >= 30


@pytest.mark.parametrize(("name", "line"), LINES, ids=[line for _, line in LINES])
def test_the_command_takes_the_line(name, line, tmp_path, monkeypatch):
    """Every option exists and every value is of its type; nothing is run."""
    (tmp_path / "src").mkdir()
    logged = (
        *("log.jsonl", "gold.jsonl", "chunks.jsonl", "pool.jsonl", "calibration.jsonl"),
        *("negatives.jsonl", "run.trec", "qrels.trec"),
    )
    for file in ("src/main.py", "facts.csv", "gates.yaml", "grid.json", *logged):
        (tmp_path / file).touch()
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line)
    command = app.get_command(click.Context(app), words[0])
    assert words[0] == name
    if isinstance(command, click.Group):
        words = words[1:]
        command = command.commands[words[0]]
    command.make_context(name, words[1:])


@pytest.mark.parametrize("name", sorted({name for name, _ in LINES}))
def test_the_help_shows_them(name):
    """One line each, not folded, so that they can be copied."""
    printed = [line.strip() for line in bench(name, "--help").out.splitlines()]
    assert all(f"repoeval-bench {line}" in printed for of, line in LINES if of == name)
