"""`run`: a benchmark that a file describes, in one process, as jobs, or line by line; nothing here embeds."""

import json
import shlex

import pytest

from support.command import bench, one_sentence, succeed
from support.folders import content

FILE = """\
chunkers: [ast:max_nws=400, fixed:max_nws=400]
protocol: [context, body]
retrievers: [bm25, random]
measures: [ndcg@10, line_rprec]
"""


@pytest.fixture
def run(mirror, tmp_path):
    """Call `run` on a file with this text, into a folder."""

    def call(text, *arguments, out="results"):
        (tmp_path / "bench.yaml").write_text(text)
        words = ("run", tmp_path / "bench.yaml", "--source", mirror, "--out", tmp_path / out)
        return bench(*words, *arguments, home=tmp_path / "home")

    return call


def test_nothing_is_run_where_a_file_has_a_mistake(run, tmp_path):
    """Exit 2 with the lines of all mistakes, before any folder is made; a list that was not asked for is one too."""
    sentence = one_sentence(run(FILE + "basline: ast\n"), 2)
    assert "bench.yaml:5: unknown key 'basline'; did you mean 'baseline'" in sentence
    sentence = one_sentence(run(FILE + "baseline: fixed:max_nws=400\ncompare: false\n"), 2)
    assert "bench.yaml:6: compare: false compares nothing; leave it out, or baseline and equivalence" in sentence
    assert not (tmp_path / "results").exists()


def test_a_file_may_ask_for_no_comparison(run, tmp_path):
    done = run(FILE + "compare: false\n")
    assert (done.code, done.out) == (0, f"8 runs, in {tmp_path / 'results'}\n"), done.err


def test_a_dry_run_lists_the_runs_and_jobs_have_the_answer_of_one_process(run, tmp_path):
    """Whoever makes them; the list makes none."""
    text = FILE + "baseline: fixed:max_nws=400\n"
    lines = run(text, "--dry-run", out="by-line").out.splitlines()
    assert len(lines) == 8
    assert not (tmp_path / "by-line").exists()
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "repoeval-bench"
        succeed(*words, home=tmp_path / "home")
    alone, jobs = run(text, out="alone"), run(text, "--executor", "local:2", out="jobs")
    assert jobs.code == 0, jobs.err
    assert (
        jobs.out.replace("/jobs", "/alone") == run(text, out="by-line").out.replace("/by-line", "/alone") == alone.out
    )
    assert content(tmp_path / "by-line") == content(tmp_path / "jobs") == content(tmp_path / "alone")
    listed = json.loads(run(text, "--dry-run", "--json", out="x").out)
    assert listed == [line.replace("by-line", "x") for line in lines]
