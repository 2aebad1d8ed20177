"""The Makefile: what each target calls, that its variables reach the tool, and that finished work is not redone."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from repoeval_bench.cli import app
from repoeval_bench.cli.group import CommandGroup
from repoeval_bench.cli.options import option_variables
from repoeval_bench.runs.request import ComparisonRequest, RunRequest
from support.cases import cases
from support.leaves import LOST

CASES = cases(__file__)

CHECKOUT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")

TOOL = f"""\
#!/bin/sh
'''exec' {shlex.quote(sys.executable)} "$0" "$@"
' '''
import json, os, sys
print(json.dumps([sys.argv[1:], dict(os.environ)]))
"""


def make(*arguments, cwd=CHECKOUT, **environment):
    # These tests are themselves started by make, which would name folders and pass its options and variables on.
    passed = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "CHUNKER", "SOURCE", "REPOEVAL_SOURCE"}
    own = {name: value for name, value in os.environ.items() if name not in passed}
    done = subprocess.run(
        ["make", *arguments], cwd=cwd, env=own | environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


STAMPS = ("torch.stamp", "run.stamp", "dev.stamp")


@pytest.fixture
def checkout(tmp_path):
    """A folder with the Makefile's inputs, a tool that says how it was called, and stamps of a finished environment."""
    folder = tmp_path / "a checkout"
    (folder / ".venv" / "bin").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(CHECKOUT / name, folder / name)
    for name in ("repoeval-bench", "python"):
        (folder / ".venv" / "bin" / name).write_text(TOOL)
        (folder / ".venv" / "bin" / name).chmod(0o755)
    for stamp in STAMPS:
        (folder / ".venv" / stamp).touch()
    return folder


def called(checkout, target, *variables, **environment):
    """(arguments, options that the tool reads from its variables) of the tool under a target."""
    code, out = make(target, *variables, cwd=checkout, **environment)
    assert code == 0, out
    words, seen = json.loads(out)
    if "--variables" not in words:
        return words, {}
    name, inner, *_ = [*words[words.index("--variables") + 1 :], ""]
    if name in LOST:
        pytest.skip(f"of a leaf that was deleted: {name}")
    command = app.get_command(None, name)
    if isinstance(command, CommandGroup):
        command = command.get_command(None, inner)
    return words, option_variables(command, seen)


def test_help_is_the_default_and_lists_every_target():
    """`make` alone explains itself on one screen."""
    code, out = make()
    assert code == 0
    assert len(out.splitlines()) <= 40
    for word in ("download", "eval", "compare", "test", "check", "bench", "clean", "CHUNKER", "SOURCE", "LIMIT", "OUT"):
        assert word in out


def variables(models):
    """Field of these requests -> its variable of make."""
    options = {name: option for model in models for name, option in model.options().items()}
    return {
        name: (option.spelled.partition("/")[0] or f"--{name}").lstrip("-").replace("-", "_").upper()
        for name, option in options.items()
    }


@pytest.mark.parametrize(("target", "models"), [("eval", [RunRequest]), ("compare", [RunRequest, ComparisonRequest])])
def test_every_field_of_a_request_has_a_variable(checkout, target, models):
    """A variable is an option's name in capitals, --match-size is MATCH_SIZE; one that is not given is the default."""
    named = variables(models)
    _, read = called(checkout, target, *(f"{variable}=7" for variable in named.values()))
    assert read.keys() == named.keys()
    assert {value if isinstance(value, str) else tuple(value) for value in read.values()} <= {"7", ("7",)}
    assert called(checkout, target)[1] == {"chunker": ["ast"]}


LINES = {"source": ["a b"], "level": "line"}


@pytest.mark.parametrize(("target", "given", "read"), CASES["variables"])
def test_variables_are_options(checkout, target, given, read):
    assert called(checkout, target, *given)[1] == read


@pytest.mark.parametrize(("target", "given", "words"), CASES["targets"])
def test_targets_are_commands(checkout, target, given, words):
    """OUT says where runs are; an empty folder is the usual one."""
    assert called(checkout, target, *given)[0] == shlex.split(words)


def test_a_variable_of_the_environment_is_the_source(checkout):
    assert called(checkout, "run", REPOEVAL_SOURCE="there")[1] == {"source": "there"}


def test_the_whole_leaderboard_asks_all_data(checkout):
    """Each file on RepoEval and on each pack, then the ranking."""
    (checkout / ".venv" / "all.stamp").touch()
    code, out = make("leaderboard-full", "SOURCE=a b", "DATA=p native-8", "OUT=o", cwd=checkout)
    assert code == 0, out
    *runs, ranked = [json.loads(line)[0] for line in out.splitlines()]
    assert runs == [
        ["--variables", "run", bench, "--source", data]
        for bench in ("leaderboard", "leaderboard-dense")
        for data in ("a b", "p", "native-8")
    ]
    assert ranked == ["lab", "leaderboard", "--out", "o", "-o", "o/leaderboard.csv"]


@pytest.mark.parametrize("target", ["eval", "compare", "report", "leaderboard", "download", "test", "bench"])
def test_a_finished_environment_is_not_made_again(checkout, target):
    """With the stamps there, no target installs anything."""
    code, out = make("-n", target, cwd=checkout)
    assert code == 0, out
    assert "pip" not in out


def test_changed_requirements_are_installed(checkout):
    """A newer pyproject.toml or constraints.txt makes the environment follow; the constraints hold for all of it."""
    (checkout / ".venv" / "torch.stamp").unlink()
    code, out = make("-n", "eval", cwd=checkout)
    assert code == 0, out
    assert "venv" in out
    assert out.count("PIP_CONSTRAINT=constraints.txt") == 2
    assert "torch==" in out
