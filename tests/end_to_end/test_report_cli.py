"""`report` as a person types it: one file, or one sentence."""

import html
import re
import shutil

import pytest

from repoeval_bench.runs.runner import evaluate
from support.command import bench, one_sentence, succeed
from support.runs import edit, page_data, write_run

CHUNKERS = ("ast:max_nws=400", "fixed:max_nws=400")


@pytest.fixture(scope="module")
def stored(benchmark, tmp_path_factory):
    """Two chunkers ranked without a model; nothing here changes them."""
    out = tmp_path_factory.mktemp("results")
    return [evaluate(benchmark, chunker, retriever="jaccard", out=out) for chunker in CHUNKERS]


def data_of(page):
    return page_data(page.read_text(encoding="utf-8"))


def test_the_page_is_one_file_that_asks_for_nothing(stored, tmp_path):
    """Two runs by folder; no address but those of name spaces, test_plots.py draws each figure twice."""
    page = tmp_path / "report.html"
    done = succeed("report", *(run.folder for run in stored), "-o", page)
    assert done.err == f"making a page about 2 runs\nwrote {page}\n"
    text = page.read_text(encoding="utf-8")
    assert re.findall(r'(?:src|href)="(?!#|data:,)[^"]*"', text) == []
    assert re.findall(r"@import|url\((?!#)", text) == []
    for run in stored:
        assert run.run_id in text


def test_without_runs_it_takes_those_that_were_compared_last(stored, tmp_path, monkeypatch):
    """`make report` after `make compare`; nothing to take is said."""
    nothing = bench("report", "--out", tmp_path)
    assert "name runs, or compare some first" in one_sentence(nothing, 2)
    for run in stored:
        shutil.copytree(run.folder, tmp_path / run.run_id)
    succeed("compare", *(run.run_id for run in stored), "--out", tmp_path, "-m", "ndcg@10")
    page = tmp_path / "report.html"
    succeed("report", "--out", tmp_path, "-o", page)
    data = data_of(page)
    assert [run["name"] for run in data["runs"]] == [run.metrics.chunker for run in stored]
    again = f"repoeval-bench report {' '.join(run.run_id for run in stored)} -o report.html"
    assert again in html.unescape(page.read_text(encoding="utf-8"))
    (page.parent / "home").mkdir()
    monkeypatch.chdir(page.parent / "home")
    succeed("compare", *(run.folder for run in stored), "-m", "ndcg@10")
    assert not (page.parent / "home" / "results").exists()


def test_an_imported_run_has_a_page_too(tmp_path):
    """Without chunk sizes, repositories or files: what is there is shown."""
    run = write_run(tmp_path / "mine", {"ndcg@10": [0.1, 0.4, 1.0], "recall@10": [0.0, 0.5, 1.0]}, imported=True)
    edit(run, "manifest.json", imported={"log": "l", "gold": "g", "gold_kind": "chunks", "pooled": False})
    page = tmp_path / "r.html"
    succeed("report", run.folder, "-o", page)
    assert "logs import l --gold g" in page.read_text(encoding="utf-8")
