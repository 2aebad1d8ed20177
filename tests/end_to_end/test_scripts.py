"""The scripts that people copy from."""

import runpy
from pathlib import Path

import pytest

from support.command import python

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
SCRIPT = SCRIPTS / "compare_chunkers.py"


def script(name, *words, **env):
    """Run a script of the checkout."""
    return python(SCRIPTS / name, *words, PYTHONPATH=str(SCRIPTS.parent), **env)


def test_compare_chunkers_is_short_and_runs(mirror, warm_home, tmp_path, monkeypatch, capsys):
    """Under 40 lines, it evaluates three chunkers and prints their scores and differences."""
    assert len(SCRIPT.read_text(encoding="utf-8").splitlines()) < 40
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REPOEVAL_HOME", str(warm_home))
    monkeypatch.setattr("sys.argv", [str(SCRIPT), str(mirror)])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    printed = capsys.readouterr().out
    for piece in ("custom-mini", "ndcg@10", "fixed:max_nws=1500", "ast:max_nws=1500", "chonkie:", "not_significant"):
        assert piece in printed
    assert len(list((tmp_path / "results").iterdir())) == 3


@pytest.mark.slow
def test_parts_of_the_benchmarks_run():
    """Those that need no data, at small sizes, whatever the figures: a part that fails ends `make bench` with 1."""
    # By the path that make gives: what workers import of the script's folder depends on it.
    done = python("scripts/bench.py", "--quick", cwd=SCRIPTS.parent, PYTHONPATH=str(SCRIPTS.parent))
    assert done.code == 0, done.out[-3000:] + done.err[-1000:]
    assert done.out.count("  took ") == 5


@pytest.mark.slow
def test_trees_of_two_sizes_are_measured():
    """Each size has a row of time and one of memory."""
    done = script("bench_scale.py", "--tree", SCRIPTS.parent / "repoeval_bench", "--megabytes", "0.1,0.3")
    assert done.code == 0, done.err
    assert done.out.count("their peak memory") == 2
