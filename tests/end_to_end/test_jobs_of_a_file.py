"""A file's runs made one by one on machines that know nothing of each other, or as jobs, on the mini benchmark."""

import json
import shlex

import pytest

from support.command import bench, one_sentence
from support.folders import content

FILE = """\
chunkers: [ast:max_nws=400, fixed:max_nws=400]
protocol: [context, body]
retrievers: [bm25, random]
measures: [ndcg@10, line_rprec]
baseline: fixed:max_nws=400
"""


@pytest.fixture
def run(mirror, warm_home, tmp_path):
    """Call `run` on the file, into a folder."""
    path = tmp_path / "bench.yaml"
    path.write_text(FILE)

    def call(out, *arguments):
        return bench("run", path, "--source", mirror, "--out", tmp_path / out, *arguments, home=warm_home)

    return call


def test_each_line_of_the_list_makes_one_run(run, warm_home, tmp_path):
    """Typed one by one, they make the runs of the file, and its answer is printed from them."""
    done = run("by-line", "--dry-run", "--commands")
    lines = done.out.splitlines()
    assert len(lines) == 8
    assert not (tmp_path / "by-line").exists()
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "repoeval-bench"
        assert bench(*words, home=warm_home).code == 0
    whole = run("whole", "--json")
    assert content(tmp_path / "by-line") == content(tmp_path / "whole")
    assert json.loads(run("by-line", "--json").out) == json.loads(whole.out)
    assert json.loads(run("x", "--dry-run", "--commands", "--json").out)[0] == lines[0].replace("by-line", "x")


def test_jobs_give_the_answer_of_one_process(run, tmp_path):
    """run with --executor: the same standard output, the same bytes."""
    alone, jobs = run("alone"), run("jobs", "--executor", "local:2")
    assert jobs.code == 0, jobs.err
    assert jobs.out.replace("/jobs", "/alone") == alone.out
    assert content(tmp_path / "jobs") == content(tmp_path / "alone")


@pytest.mark.parametrize(
    "command", [("compare", "-c", "ast:max_nws=400"), ("sweep", "-c", "ast", "--sizes", "300,500")]
)
def test_other_commands_take_an_executor(command, mirror, warm_home, tmp_path):
    words = (*command, "-c", "fixed:max_nws=400", "--retriever", "bm25", "--source", mirror, "--json", "--out")
    alone = bench(*words, tmp_path / "alone", home=warm_home)
    jobs = bench(*words, tmp_path / "jobs", "--executor", "local:2", home=warm_home)
    assert (jobs.code, jobs.out) == (0, alone.out), jobs.err
    assert content(tmp_path / "jobs") == content(tmp_path / "alone")


def test_a_list_that_was_not_asked_for_is_refused(run):
    assert "add --dry-run" in one_sentence(run("x", "--commands"), 2)


def test_a_file_may_ask_for_no_comparison(run, tmp_path):
    """The runs are made and counted; a baseline would be for nothing."""
    path = tmp_path / "bench.yaml"
    path.write_text(FILE + "compare: false\n")
    sentence = one_sentence(run("x"), 2)
    assert "bench.yaml:6: compare: false compares nothing; leave it out, or baseline and equivalence" in sentence
    path.write_text(FILE.replace("baseline: fixed:max_nws=400", "compare: false"))
    done = run("x")
    assert (done.code, done.out) == (0, f"8 runs, in {tmp_path / 'x'}\n"), done.err
