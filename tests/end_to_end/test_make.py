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
    command = app.get_command(None, name)
    if isinstance(command, CommandGroup):
        command = command.get_command(None, inner)
    return words, option_variables(command, seen)


def test_help_is_the_default_and_lists_every_target():
    """`make` alone explains itself."""
    code, out = make()
    assert code == 0
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


def test_a_value_arrives_as_it_was_typed(checkout):
    """Blanks, quotes and commas; those of an option that is repeated are separated by blanks."""
    _, read = called(checkout, "eval", "CHUNKER=ast py:it's:C", "OUT=a,b", "SOURCE=a b", "REPOS=x y")
    assert read == {"chunker": ["ast", "py:it's:C"], "out": "a,b", "source": "a b", "repos": ["x", "y"]}


def test_coderag_is_given_no_chunker_unless_one_is_asked_for(checkout):
    """Then the tool refuses it."""
    assert "chunker" not in called(checkout, "eval", "PROTOCOL=coderag")[1]
    assert called(checkout, "eval", "PROTOCOL=coderag", "CHUNKER=ast")[1]["chunker"] == ["ast"]


def test_a_benchmarks_file_is_run_from_where_it_says(checkout):
    """BENCH names the file; SOURCE or REPOEVAL_SOURCE overrides what the file says only where it is given."""
    words, read = called(checkout, "run", "BENCH=b.yaml")
    assert (words, read) == (["--variables", "run", "b.yaml"], {})
    assert called(checkout, "run", "SOURCE=a b", "OUT=o")[1] == {"source": "a b", "out": "o"}
    assert called(checkout, "run", REPOEVAL_SOURCE="there")[1] == {"source": "there"}


def test_data_is_fetched_for_the_tasks_that_are_named(checkout):
    """A command of a group reads variables too."""
    words, read = called(checkout, "download", "SOURCE=a b", "LEVEL=line")
    assert words == ["--variables", "data", "fetch"]
    assert read["fetch"] == {"source": "a b", "level": "line"}


def test_the_leaderboard_is_of_the_results_folder(checkout):
    """OUT names the folder that is ranked, SITE where the pages go: no folder among the runs."""
    words, _ = called(checkout, "leaderboard", "OUT=my runs")
    assert words == ["lab", "leaderboard", "--out", "my runs", "--site", "build/leaderboard"]


def test_the_whole_leaderboard_asks_all_data(checkout):
    """Each file on RepoEval and on each pack, then the pages."""
    (checkout / ".venv" / "all.stamp").touch()
    code, out = make("leaderboard-full", "SOURCE=a b", "DATA=p native-8", "OUT=o", cwd=checkout)
    assert code == 0, out
    *runs, ranked = [json.loads(line)[0] for line in out.splitlines()]
    assert runs == [
        ["--variables", "run", bench, "--source", data]
        for bench in ("leaderboard", "leaderboard-dense")
        for data in ("a b", "p", "native-8")
    ]
    assert ranked == ["lab", "leaderboard", "--out", "o", "--site", "build/leaderboard"]


def test_the_report_is_of_the_results_folder(checkout):
    """OUT names where runs are and where the page goes, SOURCE what BM25 reads."""
    words, read = called(checkout, "report", "OUT=my runs", "SOURCE=a b")
    assert words == ["--variables", "report", "--bm25", "-o", "my runs/report.html"]
    assert read == {"out": "my runs", "source": "a b"}


def test_the_grid_is_of_what_was_asked_for(checkout):
    """Protocols and retrievers replace the grid's own only where they are given; OUTPUT says where it goes."""
    asked = ("RETRIEVER=bm25 dense", "PROTOCOL=body", "OUTPUT=g.json", "CHUNKER=ast fixed")
    assert called(checkout, "sensitivity", *asked)[1] == {
        "chunkers": ["ast", "fixed"],
        "retrievers": ["bm25", "dense"],
        "protocols": ["body"],
        "output": "g.json",
    }


@pytest.mark.parametrize("arguments", [[], ["OUT="]])
def test_an_empty_folder_is_the_usual_one(checkout, arguments):
    """OUT= does not mean the root of the file system."""
    assert called(checkout, "reproduce", *arguments)[0] == [
        *("--variables", "lab", "reproduce", "--out", "results/reproduce"),
    ]
    assert "out" not in called(checkout, "eval", *arguments)[1]
    assert called(checkout, "report", *arguments)[0][-1] == "results/report.html"


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


def test_the_tools_for_tests_come_with_the_rest(checkout):
    """A fresh environment takes torch, then everything in one go; what other targets need is there then."""
    for stamp in STAMPS:
        (checkout / ".venv" / stamp).unlink()
    code, out = make("-n", "test", cwd=checkout)
    assert code == 0, out
    assert [line.split()[-1] for line in out.splitlines() if "pip install" in line][1:] == ["'.[dev]'"]
    assert "touch .venv/run.stamp .venv/dev.stamp" in out


def test_quotes_in_a_path_are_one_word(checkout):
    """Where a target itself writes a value into its line."""
    code, out = make("-n", "run", "BENCH=it's a,b", cwd=checkout)
    assert code == 0, out
    assert shlex.split(out)[1:] == ["--variables", "run", "it's a,b"]
