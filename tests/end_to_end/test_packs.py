"""From a small repository in four languages to a pack, and from the pack to what chunkers are worth on it."""

import json

import pytest

from support.codebase import write_code
from support.command import bench, json_of, one_sentence, succeed


def ask(source, tmp_path, *options):
    words = ("eval", "--source", source, "--retriever", "bm25", "-c", "fixed:max_nws=300", "--out", tmp_path)
    return json_of(*words, *options, home=tmp_path / "home")


@pytest.mark.parametrize("of", ["pack", "folder"])
def test_docstrings_and_own_questions_are_asked_of_packs_and_folders(pack, tmp_path, of):
    source = pack if of == "pack" else write_code(tmp_path / "mixed")
    run = ask(source, tmp_path, "--protocol", "docstring")
    assert (run["protocol"], run["counts"]["queries"], run["counts"]["tasks_unscored"]) == ("docstring", 7, 1)
    assert run["micro"]["line_recall_auc"] > 0.5
    question = {"query": "evict the oldest entries", "file": "cache/cache.go", "start_line": 33, "end_line": 42}
    (tmp_path / "q.jsonl").write_text(json.dumps(question) + "\n")
    run = ask(source, tmp_path, "--queries", tmp_path / "q.jsonl")
    assert (run["protocol"], run["counts"]["queries"]) == ("questions", 1)
    assert run["micro"]["recall@5"] == 1.0


def test_questions_and_protocols_that_do_not_fit(pack, tmp_path):
    def sentence(*options, code=2):
        base = ("eval", "--source", pack, "--retriever", "bm25", "-c", "ast", "--out", tmp_path)
        return one_sentence(bench(*base, *options, home=tmp_path / "home"), code)

    (tmp_path / "q.jsonl").write_text("{}\n")
    assert "does not use the queries" in sentence("--protocol", "body", "--queries", tmp_path / "q.jsonl")
    assert "does not exist" in sentence("--queries", tmp_path / "none.jsonl")
    assert "q.jsonl:1: " in sentence("--queries", tmp_path / "q.jsonl")
    assert "leave out query= and exclusion=" in sentence("--protocol", "docstring", "--set", "exclusion=body")


@pytest.mark.parametrize("words", ["chunker stats -c ast -c fixed --json", "export beir {run} -o {out}", "data fetch"])
def test_everything_that_takes_a_source_takes_a_pack(pack, tmp_path, words):
    """Beside what evaluates: the tests of chunkers that fail ask each such command of a pack."""
    run = tmp_path / "runs" / ask(pack, tmp_path / "runs", "--protocol", "body")["run_id"] if "run" in words else ""
    done = succeed(*words.format(run=run, out=tmp_path / "beir").split(), "--source", pack, home=tmp_path / "home")
    assert done.out or "wrote" in done.err
