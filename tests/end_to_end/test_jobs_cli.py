"""Commands as jobs: the answer of one process, what failed and how to try it again, and a page on what ran where."""

import shlex

import pytest

from support.browser import OVERFLOWING, axe, chromium, console, requested, visit
from support.command import bench, one_sentence
from support.folders import content

GRID = ["-c", "fixed:max_nws=400", "-c", "ast:max_nws=400", "--protocol", "context", "--embedder", "hash"]
HOSTILE = "<script>window.ran=1</script>"


@pytest.fixture
def wrong(tmp_path, monkeypatch):
    """A chunker that fails on every file, with markup in what it says."""
    (tmp_path / "wrong_cutter.py").write_text(
        f"class Cutter:\n    def chunk(self, file):\n        raise ValueError({HOSTILE!r})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return "py:wrong_cutter:Cutter"


@pytest.fixture
def call(mirror, tmp_path):
    def run(*words, out):
        return bench(*words, "--source", mirror, "--out", tmp_path / out, home=tmp_path / "home")

    return run


def test_sensitivity_as_jobs_says_what_one_process_says(call, tmp_path):
    """To the last digit, with vectors, matched sizes and the placebo; what was scored is kept in the same place."""
    words = ["lab", "sensitivity", *GRID, "--json"]
    alone = call(*words, out="alone")
    assert alone.code == 0, alone.err
    as_jobs = call(*words, "--executor", "local:1", out="jobs")
    assert as_jobs.code == 0, as_jobs.err
    assert as_jobs.out == alone.out

    def cells(out):
        return {path.relative_to(out): path.read_text() for path in out.rglob("*.cells")}

    assert cells(tmp_path / "jobs") == cells(tmp_path / "alone")


def test_recommend_as_jobs_gives_the_same_answer_and_runs(mirror, tmp_path):
    """A sample of the tasks is asked, each run is a job, and its folder has the bytes of one process."""
    words = [
        *("recommend", mirror, "-c", "fixed", "-c", "ast", "--sizes", "200,400", "--embedder", "hash", "--tasks"),
        "4",
    ]
    alone = bench(*words, "--out", tmp_path / "out", home=tmp_path / "home")
    assert alone.code == 0, alone.err
    (tmp_path / "out").rename(tmp_path / "alone")
    as_jobs = bench(*words, "--out", tmp_path / "out", "--executor", "local:1", home=tmp_path / "home")
    assert as_jobs.code == 0, as_jobs.err
    assert as_jobs.out == alone.out
    assert "that are asked are spread over the files" in as_jobs.out
    assert content(tmp_path / "out") == content(tmp_path / "alone")


def test_a_job_page_needs_jobs(call):
    done = call("sweep", "-c", "ast", "--retriever", "bm25", "--set", "job_page=jobs.html", out="none")
    assert "--set job_page=jobs.html is about jobs; add --executor" in one_sentence(done, 2)


@pytest.mark.slow
def test_the_page_says_what_ran_where_and_what_failed(call, wrong, tmp_path):
    """In a browser, narrow and wide: every run, the failed one with its reason and the line that tries it again."""
    page = tmp_path / "jobs.html"
    words = ["-c", "fixed:max_nws=400", "-c", wrong, "-c", "ast:max_nws=400", "--retriever", "dense"]
    done = call("sweep", *words, "--embedder", "hash", "--executor", "local:1", "--set", f"job_page={page}", out="runs")
    assert "1 of 3 runs failed" in one_sentence(done, 1)
    with chromium() as browser:
        for width in (1400, 400):
            visit(browser, page, width=width)
            assert browser.execute_script(OVERFLOWING) == []
        assert axe(browser) == []
        assert browser.execute_script("return window.ran") is None
        rows = browser.execute_script(
            "return [...document.querySelectorAll('#jobs tbody tr, #failed tbody tr, #processes tbody tr')]"
            ".map((row) => [...row.cells].map((cell) => cell.innerText))"
        )
        assert console(browser) == []
        assert requested(browser) <= {"file", "data"}
    (failed, process, *jobs) = rows
    assert HOSTILE in failed[1]
    assert process[2:4] == ["3", "1"]
    assert [row[1] == "failed" for row in jobs] == [False, True, False]
    assert all((tmp_path / "runs" / row[1]).is_dir() for row in (jobs[0], jobs[2]))
    texts = [int(row[6].replace(",", "")) for row in jobs]
    assert texts[0] > 0 == texts[1]
    again = bench(*shlex.split(failed[2])[1:], home=tmp_path / "home")
    assert HOSTILE in one_sentence(again, 1)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--set", "job_page=."), "'--set': File '.' is a directory"),
        (("--out", "nope://x"), "nope://x is not the address of a store"),
        (("--embedder", "openai:m,price=1,cost_limit=1"), "cost_limit is counted in one process"),
    ],
)
def test_where_runs_are_made_is_checked_before_any(mirror, tmp_path, words, told):
    """A page that would be a folder, a store that is none, and a limit that each worker would count for itself."""
    places = ("--source", mirror, *(() if "--out" in words else ("--out", tmp_path / "out")), *words)
    done = bench("compare", "-c", "fixed", "-c", "ast", "--executor", "local:2", *places, home=tmp_path / "home")
    assert told in one_sentence(done, 2)
