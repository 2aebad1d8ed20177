"""Fused, reranked, set-based and pooled retrieval as processes on the mini benchmark."""

import json

from repoeval_bench.runs.view import RunView
from support.command import bench
from support.models import tiny_cross_encoder
from support.runs import read_rows

AST = "ast:max_nws=400"


def folder_of(results, metrics):
    return results / metrics["run_id"]


def rankings(folder):
    return {row.query_id: [hit.chunk_id for hit in row.topk] for row in RunView(folder).log_rows()}


def test_a_reranked_run_names_its_first_stage(evaluated, tmp_path):
    """The manifest leads to the raw run, whose first k_raw are the reranked ones; both latencies are kept apart."""
    results = tmp_path / "results"
    raw = evaluated("-c", AST, "--retriever", "bm25:k1=0.9", "--k", "4", "-m", "ndcg@4")
    spec = "rerank:overlap,k_raw=3,first=bm25+k1=0.9"
    metrics = evaluated("-c", AST, "--retriever", spec, "--k", "4", "-m", "ndcg@4")
    folder = folder_of(results, metrics)
    first = json.loads((folder / "manifest.json").read_text())["first_stage"]
    assert first == {"retriever": raw["retriever"], "k_raw": 3, "run_id": raw["run_id"]}
    before, after = rankings(results / first["run_id"]), rankings(folder)
    assert before != after
    for query_id, ids in before.items():
        assert set(after[query_id][:3]) == set(ids[:3])
        assert after[query_id][3:] == ids[3:]
    times = read_rows(folder / "timings.jsonl")
    assert all(set(row["latency_ms"]) == {"retrieve", "rerank"} for row in times if "query_id" in row)
    assert json.loads((results / first["run_id"] / "manifest.json").read_text())["first_stage"] is None


def test_a_cross_encoder_ranks_again(evaluated, mirror, warm_home, tmp_path):
    """A model's folder is enough; its weights are in the manifest, cut pairs under the table.

    A second run reads no pair again, which says nothing of the model's speed, and writes the same bytes.
    """
    model = tiny_cross_encoder(tmp_path / "model")
    arguments = ("-c", AST, "--retriever", f"rerank:{model},k_raw=5,first=bm25")
    metrics = evaluated(*arguments)
    folder = folder_of(tmp_path / "results", metrics)
    config = json.loads((folder / "manifest.json").read_text())["config"]
    assert len(config["retriever_identity"]["weights_sha256"]) == 64
    assert metrics["embedder"] == "none"
    assert metrics["counts"]["pairs"] == 5 * metrics["counts"]["queries"]
    again = bench("eval", "--source", mirror, *arguments, "--out", tmp_path / "again", home=warm_home)
    assert f"of {metrics['counts']['pairs']} pairs of query and chunk, cut by the reranker" in again.out
    for name in ("metrics.json", "retrieved.jsonl.gz", "per_query.jsonl.gz"):
        assert (folder / name).read_bytes() == (tmp_path / "again" / folder.name / name).read_bytes()
    times = {out: RunView(tmp_path / out / folder.name).timings.by_step() for out in ("results", "again")}
    assert {out: set(steps) for out, steps in times.items()} == {
        "results": {"retrieve", "rerank"},
        "again": {"retrieve"},
    }
