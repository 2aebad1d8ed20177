"""The scripts that people copy from."""

import runpy
from pathlib import Path

import pytest

from support.codebase import write_files
from support.command import python
from support.runs import write_run

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
def test_verdict_seeds_compares_with_every_seed(tmp_path):
    """A clear difference has one verdict; a folder with a single run is refused in one sentence."""
    for run, shift in (("a", 0.0), ("b", 0.1)):
        values = [0.3 + shift + 0.01 * (i * 7 % 13) for i in range(40)]
        files = [f"f{i // 2}.py" for i in range(40)]
        write_run(tmp_path / "two" / run, {"mrr": values}, files=files, headline_measure="mrr")
    write_run(tmp_path / "one" / "a", {"mrr": [0.5]})
    for folder, code, said in (
        ("two", 0, "of 1 verdicts by 3 seeds 0 contradict each other"),
        ("one", 1, "holds 1 runs"),
    ):
        done = script("verdict_seeds.py", tmp_path / folder, "--seeds", "3")
        assert done.code == code, done.err
        assert said in done.out + done.err


@pytest.mark.slow
def test_parts_of_the_benchmarks_run():
    """Those that need no data, at small sizes, whatever the figures: a part that fails ends `make bench` with 1."""
    # By the path that make gives: what workers import of the script's folder depends on it.
    done = python("scripts/bench.py", "--quick", cwd=SCRIPTS.parent, PYTHONPATH=str(SCRIPTS.parent))
    assert done.code == 0, done.out[-3000:] + done.err[-1000:]
    assert done.out.count("  took ") == 5


@pytest.mark.slow
def test_trees_of_two_sizes_are_measured_and_projected(tmp_path):
    """Each size has a row of time and one of memory; the projection names each stage."""
    words = ["--tree", SCRIPTS.parent / "repoeval_bench", "--megabytes", "0.1,0.3", "--plot", tmp_path / "scale.svg"]
    done = script("bench_scale.py", *words)
    assert done.code == 0, done.err
    assert done.out.count("their peak memory") == 2
    stages = [line.split(" | ")[0] for line in done.out.splitlines() if line.startswith("| ")]
    assert {"| data build", "| embed, with a model"} <= set(stages)
    assert "<svg" in (tmp_path / "scale.svg").read_text("utf-8")


@pytest.mark.slow
def test_index_experiments_asks_of_code_with_its_tests(tmp_path):
    """Tests and cut chunks are compared with whole chunks of code alone; windows that overlap are read twice."""
    names = ("debts", "entries", "ledgers")
    code = "".join(
        f'def {name}(text):\n    """Return the {name} of somebody who has some left."""\n    {name} = text\n    return {name}\n\n\n'
        + "".join(f"X_{name}_{i} = {i}\n" for i in range(60))
        for name in names
    )
    tests = {"tests/test_code.py": "def test_debts():\n    pass\n"}
    source, home = write_files(tmp_path / "code", {"shop/code.py": code} | tests), str(tmp_path / "home")
    done = {
        folder: script("index_experiments.py", "--source", source / folder, REPOEVAL_HOME=home)
        for folder in (".", "shop")
    }
    assert done["."].code == 0, done["."].err
    rows = [line.split(" | ") for line in done["."].out.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == 10
    assert [row[-1] for row in rows[:7]] == ["0% |"] * 7
    shares = [int(row[-1].partition("%")[0]) for row in rows[7:]]
    assert 0 < shares[0] < shares[1] < shares[2]
    assert done["shop"].code == 1
    assert "the code has no tests" in done["shop"].err
