"""The Makefile: what each variable becomes, and that finished work is not redone. Nothing is run."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def make(*arguments, cwd=CHECKOUT):
    # These tests are themselves started by make, which would speak of folders and pass its options on.
    own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run(["make", *arguments], cwd=cwd, env=own, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def checkout(tmp_path):
    """A folder with the Makefile's inputs, and a stamp that says the environment stands; its name has a blank."""
    folder = tmp_path / "a checkout"
    (folder / ".venv").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(CHECKOUT / name, folder / name)
    for stamp in ("run.stamp", "dev.stamp"):
        (folder / ".venv" / stamp).touch()
    return folder


def test_help_is_the_default_and_lists_every_target():
    """`make` alone explains itself."""
    code, out = make()
    assert code == 0
    for word in ("download", "eval", "compare", "test", "check", "bench", "clean", "CHUNKER", "SOURCE", "LIMIT", "OUT"):
        assert word in out


def test_variables_become_options(checkout):
    """Each variable arrives as its option, each chunker as one of its own."""
    code, out = make(
        "-n", "eval", "CHUNKER=ast fixed:max_nws=800", "PROTOCOL=body", "EMBEDDER=st:x", "RETRIEVER=bm25", "SOURCE=a b",
        "LEVEL=line", "CONTEXT=1k", "TOKENIZER=codegen", "REPOS=x y", "LIMIT=3", "K=7", "OUT=o", "SCOPE=pooled",
        cwd=checkout,
    )  # fmt: skip
    assert code == 0, out
    for piece in (
        "--chunker 'ast'", "--chunker 'fixed:max_nws=800'", "--protocol 'body'", "--embedder 'st:x'",
        "--retriever 'bm25'", "--source 'a b'", "--level 'line'", "--context '1k'", "--tokenizer 'codegen'",
        "--repos 'x y'", "--limit '3'", "--k '7'", "--scope 'pooled'", "--out 'o'",
    ):  # fmt: skip
        assert piece in out


def test_a_benchmarks_file_is_run_from_where_it_says(checkout):
    """BENCH names the file; SOURCE stands above what the file says only where it is given."""
    code, out = make("-n", "run", "BENCH=b.yaml", "SOURCE=auto", cwd=checkout)
    assert code == 0, out
    assert "run 'b.yaml' --out 'results'" in out
    assert "--source" not in out
    assert "--source 'a b'" in make("-n", "run", "SOURCE=a b", cwd=checkout)[1]


def test_the_leaderboard_is_of_the_results_folder(checkout):
    """OUT names the folder that is ranked, and where the page goes."""
    code, out = make("-n", "leaderboard", "OUT=my runs", cwd=checkout)
    assert code == 0, out
    assert "leaderboard 'my runs' -o 'my runs/leaderboard.html'" in out


def test_the_report_is_of_the_results_folder(checkout):
    """OUT names where runs are and where the page goes, SOURCE what BM25 reads, GRID the settings that are drawn."""
    code, out = make("-n", "report", "OUT=my runs", "SOURCE=a b", "GRID=g.json", cwd=checkout)
    assert code == 0, out
    words = shlex.split(out.replace("\\\n", " "))
    assert words[1:] == [
        "report", "--bm25", "--source", "a b", "--out", "my runs", "-o", "my runs/report.html", "--sensitivity", "g.json",
    ]  # fmt: skip


def test_the_grid_is_of_what_was_asked_for(checkout):
    """Protocols and retrievers replace the grid's own only where they are given; OUT and GRID say where it goes."""
    code, out = make(
        "-n", "sensitivity", "OUT=my runs", "RETRIEVER=bm25 dense", "PROTOCOL=body", "GRID=g.json", "CHUNKER=ast fixed",
        cwd=checkout,
    )  # fmt: skip
    assert code == 0, out
    words = shlex.split(out.replace("\\\n", " "))
    given = list(zip(words[2::2], words[3::2], strict=True))
    assert [value for option, value in given if option == "--retriever"] == ["bm25", "dense"]
    assert [value for option, value in given if option == "--protocol"] == ["body"]
    assert {("--out", "my runs"), ("--output", "g.json"), ("--chunker", "ast"), ("--chunker", "fixed")} <= set(given)
    usual = make("-n", "sensitivity", cwd=checkout)[1]
    assert "--out 'results'" in usual
    assert not any(option in usual for option in ("--retriever", "--protocol", "--output"))


@pytest.mark.parametrize("arguments", [[], ["OUT="]])
def test_an_empty_folder_is_the_usual_one(checkout, arguments):
    """OUT= is no wish for the root of the file system."""
    code, out = make("-n", "reproduce", *arguments, cwd=checkout)
    assert code == 0, out
    assert "--out 'results/reproduce'" in out


@pytest.mark.parametrize("target", ["eval", "compare", "report", "leaderboard", "download", "test", "bench"])
def test_a_finished_environment_is_not_made_again(checkout, target):
    """With the stamps there, no target installs anything."""
    code, out = make("-n", target, cwd=checkout)
    assert code == 0, out
    assert "pip" not in out


def test_changed_requirements_are_installed(checkout):
    """A newer pyproject.toml or constraints.txt makes the environment follow; the constraints hold for all of it."""
    (checkout / ".venv" / "run.stamp").unlink()
    code, out = make("-n", "eval", cwd=checkout)
    assert code == 0, out
    assert "venv" in out
    assert out.count("PIP_CONSTRAINT=constraints.txt") == 2
    assert "torch==" in out


def test_a_value_is_one_word_of_the_shell(checkout):
    """Quotes, commas and dollars in a value arrive as they were typed."""
    code, out = make("-n", "eval", "CHUNKER=py:it's:C", "OUT=a,b", cwd=checkout)
    assert code == 0, out
    assert shlex.split(out)[:4] == [".venv/bin/repoeval-bench", "eval", "--chunker", "py:it's:C"]
    assert "a,b" in shlex.split(out)
