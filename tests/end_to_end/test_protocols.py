"""Protocols, exclusions, and fused, reranked and other retrieval, as processes on the mini benchmark."""

import json

import pytest

from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.runs.view import RunView
from support.brute_metrics import line_recall, line_recall_auc, line_rprec
from support.runs import read_rows

AST = "ast:max_nws=400"
BM25 = ("--retriever", "bm25")


SEEN = {
    "context+exclusion=body": lambda task, place: place["chunk_id"].endswith(f"#{task.task_id}"),
    "context+exclusion=prompt": lambda task, place: place["start_line"] >= task.body.start,
    "context+exclusion=repocoder": lambda task, place: place["end_line"] <= max(0, task.body.start - 20),
}
"""Protocol -> whether a task's query may see a chunk of the task's own file."""


@pytest.mark.parametrize("protocol", ["context", "body", *SEEN])
def test_line_measures_equal_brute_force(evaluated, mirror, warm_home, tmp_path, protocol):
    """line_recall at every budget, line_rprec and the area, recomputed literally from the run log and the files.

    No chunk that the protocol hides is in the log.
    """
    evaluated("-c", "fixed:max_nws=60", *BM25, "--protocol", protocol, "--set", "allow_sparse_qrels")
    (folder,) = (tmp_path / "results").iterdir()
    benchmark = load_benchmark(str(mirror), home=warm_home)
    nws = {f"{f.repo}/{f.path}": f.line_nws() for files in benchmark.files.values() for f in files}
    tasks = {task.task_id: task for task in benchmark.tasks}
    rows = {row["query_id"]: row for row in read_rows(folder / "per_query.jsonl.gz")}
    for entry in read_rows(folder / "retrieved.jsonl.gz"):
        task = tasks[entry["query_id"]]
        file = f"{task.repo}/{task.path}"
        gold = {"context": task.context_span, "body": task.body}[protocol.partition("+")[0]]
        mine = dict(nws)
        if protocol.endswith("exclusion=body"):
            mine[file] = [0 if line in task.body else size for line, size in enumerate(nws[file])]
        own = [item for item in entry["topk"] if item["file"] == file]
        assert all(SEEN.get(protocol, lambda *_: True)(task, place) for place in own)
        chunks = [(element["file"], element["start_line"], element["end_line"], 0) for element in entry["topk"]]
        span = [(file, gold.start, gold.end)]
        scores = rows[entry["query_id"]]["measures"]
        for budget in (250, 500, 1000, 1500, 3000, 6000, 12000):
            assert scores[f"line_recall@{budget}"] == pytest.approx(line_recall(chunks, span, mine, budget))
        assert scores["line_rprec"] == pytest.approx(line_rprec(chunks, span, mine))
        assert scores["line_recall_auc"] == pytest.approx(line_recall_auc(chunks, span, mine))


def test_the_oracle_reaches_the_ceiling_and_nothing_passes_it(evaluated):
    """Under RETRIEVER=oracle every chunk measure is its ceiling; random and bm25 stay between 0 and theirs."""
    for retriever in ("oracle", "bm25", "random"):
        metrics = evaluated("-c", AST, "--retriever", retriever)
        assert metrics["embedder"] == "none"
        for mean in ("micro", "macro"):
            for name, ceiling in metrics["ceilings"][mean].items():
                assert metrics[mean][name] <= ceiling + 1e-9, name
                if retriever == "oracle" and not name.startswith("line_"):
                    assert metrics[mean][name] == pytest.approx(ceiling), name
        share = metrics["micro"]["line_recall_auc_share"]
        assert share == pytest.approx(1, abs=0.02) if retriever == "oracle" else share < 1


def rankings(folder):
    return {row.query_id: [hit.chunk_id for hit in row.topk] for row in RunView(folder).log_rows()}


def test_a_reranked_run_names_its_first_stage(evaluated, tmp_path):
    """The manifest leads to the raw run, whose first k_raw are the reranked ones; both latencies are kept apart."""
    results = tmp_path / "results"
    raw = evaluated("-c", AST, "--retriever", "bm25", "--k", "4", "-m", "ndcg@4")
    spec = "rerank:overlap,k_raw=3,first=bm25"
    metrics = evaluated("-c", AST, "--retriever", spec, "--k", "4", "-m", "ndcg@4")
    folder = results / metrics["run_id"]
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
