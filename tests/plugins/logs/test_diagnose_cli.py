"""`diagnose` as a person runs it: on runs made here and elsewhere, with BM25 named, found, or not to be had."""

import json

import pytest

from plugins.logs.made_logs import chunks, log_row
from repoeval_bench import evaluate, load_benchmark
from support.command import bench, json_of, one_sentence, succeed
from support.runs import write_rows

AST = "ast:max_nws=400"


@pytest.fixture(scope="module")
def results(mirror, tmp_path_factory):
    """A random run, and BM25's of the same chunks in a folder of its own; neither asks a model."""
    folder = tmp_path_factory.mktemp("diagnosed")
    benchmark = load_benchmark(mirror, home=folder / "home")
    return folder, *(
        evaluate(benchmark, AST, retriever=retriever, out=folder / where)
        for retriever, where in (("random", "results"), ("bm25", "other"))
    )


def diagnose(run, *arguments):
    done = succeed("logs", "diagnose", run.folder, *arguments)
    return done.out


def test_bm25_beside_is_what_a_named_run_of_bm25_ranks(results):
    _, random, bm25 = results
    given = json.loads(diagnose(random, "--json", "--worst", "100", "--bm25", bm25.folder))
    assert (given["bm25"], len(given["worst"])) == (bm25.run_id, 18)
    stored = bm25.ranked_ids()
    for query in given["worst"]:
        assert [entry["place"]["chunk_id"] for entry in query["bm25"]] == list(stored[query["query_id"]][:10])
    assert any(item["relevant"] for query in given["worst"] for item in query["bm25"])


def test_the_terminal_says_what_json_does(results):
    """Findings with numbers, then the worst queries with gold and both rankings; exit 0 whatever is found."""
    _, random, _ = results
    result = json.loads(diagnose(random, "--json"))
    text = diagnose(random)
    named = [check["name"] for check in result["checks"] if check["status"] == "finding"]
    assert "retriever" in named
    for name in named:
        assert f"finding  {name}" in text
    assert len(result["worst"]) == 18
    assert text.count("query ends: ") == 18
    assert "this folder has no run by bm25 of the same data, protocol and chunks" in " ".join(text.split())
    assert "query ends" not in diagnose(random, "--worst", "0")


def test_a_bm25_run_beside_is_found_and_bm25_itself_stands_alone(results, mirror, tmp_path):
    """A stored run of the same chunks in the same folder is taken; BM25 has no BM25 beside it."""
    folder, *_ = results
    benchmark = load_benchmark(mirror, home=folder / "home")
    random, bm25 = (evaluate(benchmark, AST, retriever=retriever, out=tmp_path) for retriever in ("random", "bm25"))
    evaluate(benchmark, "fixed:max_nws=400", retriever="bm25", out=tmp_path)
    assert json.loads(diagnose(random, "--json", "--worst", "1"))["bm25"] == bm25.run_id
    alone = json.loads(diagnose(bm25, "--json", "--worst", "1"))
    assert (alone["bm25"], alone["note"], alone["worst"][0]["bm25"]) == (None, "The run is BM25's own.", None)


def test_an_imported_run_is_diagnosed(tmp_path):
    """Freshness, latency and recall from the log alone."""
    log, gold = [], []
    for i in range(30):
        topk = chunks([f"c{i}-{rank}" for rank in range(1, 31)])
        for rank, hit in enumerate(topk, start=1):
            hit |= {"file": f"d{i}.md", "start_line": 10 * rank, "end_line": 10 * rank + 10}
            hit["doc_version"] = "2024-06-01" if rank == 1 else "2024-01-01"
        more = {"as_of": "2024-03-01", "query": f"what of\x1b[31m {i}", "latency_ms": {"retrieve": 20, "rerank": 700}}
        log.append(log_row(f"q{i}", topk, k_raw=30, **more))
        gold.append({"query_id": f"q{i}", "chunk_id": f"c{i}-20"})
    arguments = ("--gold", write_rows(tmp_path / "gold.jsonl", gold), "--out", tmp_path / "results")
    succeed("logs", "import", write_rows(tmp_path / "log.jsonl", log), *arguments)
    (run,) = (tmp_path / "results").iterdir()
    result = json_of("logs", "diagnose", run, "--worst", "1")
    named = {check["name"]: check for check in result["checks"] if check["status"] == "finding"}
    assert set(named) == {"depth", "ranking", "freshness", "latency", "retriever"}
    assert named["freshness"]["numbers"]["share of the top 10 newer than as_of"] == pytest.approx(0.1)
    assert named["latency"]["numbers"]["rerank, median, ms"] == 700
    assert named["depth"]["numbers"]["recall@30"] == 1.0
    assert result["worst"][0]["first_hit"] == 20
    text = bench("logs", "diagnose", run, "--worst", "1").out
    assert "\x1b" not in text


def test_usage_errors(results, mirror, tmp_path):
    """One sentence each: an unknown measure, a BM25 run of other queries."""
    folder, random, _ = results
    run = random.folder
    assert "recall@50 was not scored" in one_sentence(bench("logs", "diagnose", run, "-m", "recall@50"), 2)
    part = evaluate(load_benchmark(mirror, home=folder / "home", limit=2), AST, retriever="bm25", out=tmp_path)
    assert "answers other queries" in one_sentence(bench("logs", "diagnose", run, "--bm25", part.folder), 2)
