"""`diagnose` as a person runs it: on runs made here and elsewhere."""

import json

import pytest

from plugins.logs.made_logs import chunks, log_row
from repoeval_bench import evaluate, load_benchmark
from support.command import bench, json_of, one_sentence, succeed
from support.runs import write_rows

AST = "ast:max_nws=400"


@pytest.fixture(scope="module")
def random(mirror, tmp_path_factory):
    """A random run, which asks no model."""
    folder = tmp_path_factory.mktemp("diagnosed")
    return evaluate(load_benchmark(mirror, home=folder / "home"), AST, retriever="random", out=folder / "results")


def diagnose(run, *arguments):
    done = succeed("logs", "diagnose", run.folder, *arguments)
    return done.out


def test_the_terminal_says_what_json_does(random):
    """Findings with numbers, then the worst queries with gold and ranking; exit 0 whatever is found."""
    result = json.loads(diagnose(random, "--json"))
    text = diagnose(random)
    named = [check["name"] for check in result["checks"] if check["status"] == "finding"]
    assert named
    for name in named:
        assert f"finding  {name}" in text
    assert len(result["worst"]) == 18
    assert text.count("last line of the query: ") == 18
    assert "of the query" not in diagnose(random, "--worst", "0")


def test_an_imported_run_is_diagnosed(tmp_path):
    """Recall and ranks from the log alone."""
    log, gold = [], []
    for i in range(30):
        topk = chunks([f"c{i}-{rank}" for rank in range(1, 31)])
        for rank, hit in enumerate(topk, start=1):
            hit |= {"file": f"d{i}.md", "start_line": 10 * rank, "end_line": 10 * rank + 10}
        log.append(log_row(f"q{i}", topk, k_raw=30, query=f"what of\x1b[31m {i}"))
        gold.append({"query_id": f"q{i}", "chunk_id": f"c{i}-20"})
    arguments = ("--gold", write_rows(tmp_path / "gold.jsonl", gold), "--out", tmp_path / "results")
    succeed("logs", "import", write_rows(tmp_path / "log.jsonl", log), *arguments)
    (run,) = (tmp_path / "results").iterdir()
    result = json_of("logs", "diagnose", run, "--worst", "1")
    named = {check["name"]: check for check in result["checks"] if check["status"] == "finding"}
    assert set(named) == {"depth", "ranking"}
    assert named["depth"]["numbers"]["recall@30"] == 1.0
    assert result["worst"][0]["first_hit"] == 20
    text = bench("logs", "diagnose", run, "--worst", "1").out
    assert "\x1b" not in text


def test_a_measure_that_was_not_scored_is_refused(random):
    assert "recall@50 was not scored" in one_sentence(bench("logs", "diagnose", random.folder, "-m", "recall@50"), 2)
