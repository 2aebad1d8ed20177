"""Commands and executors of other packages: listed, called, and reported in one sentence where they are broken."""

import shutil
from pathlib import Path

import pytest

from support.command import bench, one_sentence, succeed
from support.plug_ins import install


@pytest.fixture(autouse=True)
def installed(tmp_path, monkeypatch):
    """The package, on the path for one test."""
    folder = tmp_path / "packages"
    folder.mkdir()
    shutil.copy(Path(__file__).with_name("greeting.py.txt"), folder / "greeting.py")
    commands = {
        "wave": "greeting:wave",
        "signs": "greeting:several",
        "lost": "no_such_module:x",
        "three": "greeting:number",
        "eval": "greeting:wave",
    }
    executors = {"here": "greeting:Here"}
    install(folder, "greetings", {"repoeval_bench.commands": commands, "repoeval_bench.executors": executors})
    monkeypatch.syspath_prepend(folder)


def test_a_command_of_another_package_is_listed_and_called():
    listed = succeed("--help")
    further = listed.out.partition("More:\n")[2]
    assert "wave" in further
    assert "Wave to the reader." in further
    assert bench("wave", "--times", "2").out.split() == ["wave"] * 2
    assert bench("signs", "wave").out.split() == ["wave"]
    assert "repoeval-bench signs wave --times 2" in bench("signs", "wave", "--help").out


def test_a_built_in_command_is_not_replaced():
    assert "--retriever" in bench("eval", "--help").out


def test_a_broken_plug_in_breaks_no_other_command():
    listed = bench("--help")
    assert "cannot be imported" in " ".join(listed.out.split())
    succeed("list", "chunkers")
    assert "plug-in 'lost' of greetings 1.0" in one_sentence(bench("lost"), 2)
    assert "three" in one_sentence(bench("three"), 2)


def test_an_executor_of_another_package_does_the_jobs(mirror, tmp_path):
    words = ("sweep", "-c", "fixed", "--sizes", "300,500", "--retriever", "bm25", "--source", mirror)
    words += ("--set", "allow_sparse_qrels", "--out", tmp_path / "runs")
    done = succeed(*words, "--executor", "here:moon", home=tmp_path)
    assert done.out.count("job of moon") == 2
    wrong = bench(*words, "--executor", "hear", home=tmp_path)
    assert "'here'" in one_sentence(wrong, 2)
