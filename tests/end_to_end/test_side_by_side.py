"""Chunkers that work side by side, in copies of the process, give what one process gives."""

import json
import os
import subprocess
import sys

import pytest

MAIN = """
import os, sys
import repoeval_bench.runs.executors, repoeval_bench.runs.stages
repoeval_bench.runs.stages._LARGE = 0
repoeval_bench.runs.executors._cores = lambda: {cores}
os.register_at_fork(after_in_parent=lambda: print("copied", file=sys.stderr))
from repoeval_bench.cli import main
main()
"""


def bench(cores, home, *command):
    """Standard output and error of a command with three chunkers on so many cores."""
    chunkers = ["-c", "ast:max_nws=400", "-c", "fixed:max_nws=400", "-c", "chonkie:chunk_size=600"]
    done = subprocess.run(
        [sys.executable, "-c", MAIN.format(cores=cores), *command, *chunkers],
        capture_output=True, text=True, check=False, env=dict(os.environ, REPOEVAL_HOME=str(home)),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def content(out):
    """What stands in the files of a results folder, times apart."""
    found = {}
    for path in sorted(out.glob("*/*")):
        name = f"{path.parent.name}/{path.name}"
        if path.name == "manifest.json":
            found[name] = {key: value for key, value in json.loads(path.read_text()).items() if key != "created"}
        elif path.name != "timings.jsonl":
            found[name] = path.read_bytes()
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux only")
def test_two_processes_write_what_one_writes(mirror, warm_home, tmp_path):
    """The same bytes in every file but the times, the same tables, in the order that was asked for."""
    command = ("compare", "--source", mirror, "--out")
    alone, silent = bench(1, warm_home, *command, tmp_path / "alone")
    shared, said = bench(2, warm_home, *command, tmp_path / "shared")
    assert ("copied" in silent, said.count("copied")) == (False, 2)
    assert shared == alone
    assert said.replace("copied\n", "").replace("/shared/", "/alone/") == silent
    assert content(tmp_path / "shared") == content(tmp_path / "alone")
    assert len(content(tmp_path / "shared")) > 24


@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux only")
def test_a_grid_of_two_processes_has_the_cells_of_one(mirror, warm_home, tmp_path):
    """Every arm is scored once, in one of the two; the cells are the same to the last digit."""
    command = ("sensitivity", "--protocol", "context", "--protocol", "linemap", "--retriever", "bm25", "--placebo", "2",
               "--source", mirror, "--json", "--out")  # fmt: skip
    alone, silent = bench(1, warm_home, *command, tmp_path / "alone")
    shared, said = bench(2, warm_home, *command, tmp_path / "shared")
    assert ("copied" in silent, said.count("copied")) == (False, 1)
    assert shared == alone
    # Two processes write to one standard error, so that lines may stand in each other.
    assert said.count("scoring ") == silent.count("scoring ") > 4
