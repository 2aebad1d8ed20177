"""`repoeval-bench data` as a person runs it: output, exit codes, one sentence where something is wrong."""

import json

import pytest

from support.command import bench


def data(*arguments, code=0, **env):
    """`repoeval-bench data ARGUMENTS`, after its exit code was checked."""
    done = bench("data", *arguments, **env)
    assert done.code == code, done.err
    return done


def test_fetch_says_what_it_has_in_text_and_json(mirror, tmp_path):
    first = data("fetch", "--source", mirror, "--home", str(tmp_path / "h"))
    assert "fetched into" in first.out
    assert "acme_inventory         8      4" in first.out
    assert first.err == ""
    text = data("fetch", "--home", str(tmp_path / "h"), REPOEVAL_SOURCE=str(mirror)).out
    assert "already in" in text
    facts = json.loads(data("fetch", "--source", mirror, "--home", str(tmp_path / "h"), "--json").out)
    assert text.startswith(f"{facts['name']} · 18 tasks, 2 repositories · data {facts['fingerprint']}\n")
    assert facts["name"] == "custom-mini-function-2k-codex"
    assert facts["folder"].startswith(str(tmp_path / "h"))
    counts = {"tasks": 10, "whole_tasks": None, "files": 5, "whole_files": None}
    assert facts["repositories"]["northwind_textkit"] == counts | {"licence": ""}
    assert facts["missing"] == []


def test_verify_counts_and_exits_1_when_something_changed(mirror, tmp_path):
    home = tmp_path / "h"
    options = ("--source", mirror, "--home", str(home))
    assert "18 of 18 ground truths are at their lines" in data("verify", *options).out
    next(home.rglob("wrap.py")).write_text("x = 1\n")
    wrong = data("verify", *options, code=1)
    assert "16 of 18 ground truths" in wrong.out
    assert "northwind_textkit/textkit/wrap.py: it has changed since it was installed" in wrong.out
    facts = json.loads(data("verify", *options, "--json", code=1).out)
    assert (facts["passed"], facts["tasks"], len(facts["wrong_tasks"])) == (False, 18, 2)


@pytest.mark.full_data
def test_the_real_data_verifies_455_of_455(real_source, tmp_path):
    options = ("--source", real_source, "--home", str(tmp_path))
    assert "455 of 455 tasks, 8 of 8 repositories" in data("fetch", *options).out
    done = data("verify", *options)
    assert "455 of 455 ground truths are at their lines" in done.out
    facts = json.loads(data("fetch", *options, "--json").out)
    assert (facts["tasks"], facts["files"], facts["missing"]) == (455, 441, [])
    assert facts["repositories"]["facebookresearch_omnivore"]["licence"] == "CC-BY-NC-4.0"
