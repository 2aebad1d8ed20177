"""`export-beir`: what is written is the run's own question, readable line by line."""

import csv
import json

from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.runs.experiment import evaluate
from support.command import bench, one_sentence


def test_the_layout_holds_the_runs_documents_and_judgements(mirror, tmp_path):
    """recall@5 recomputed from the exported qrels and the run's ranking is what was stored, in every repository."""
    home = tmp_path / "home"
    benchmark = load_benchmark(mirror, home=home)
    run = evaluate(benchmark, "ast:max_nws=400", retriever="bm25", out=tmp_path / "results").folder
    done = bench("export-beir", run, "-o", tmp_path / "beir", "--source", mirror, home=home)
    assert done.code == 0, done.err
    rankings = {
        row["query_id"]: row["topk"] for row in map(json.loads, (run / "retrieved.jsonl").read_text().splitlines())
    }
    per_repo = json.loads((run / "metrics.json").read_text())["per_repo"]
    for repo, means in per_repo.items():
        folder = tmp_path / "beir" / repo
        corpus = {row["_id"]: row for row in map(json.loads, (folder / "corpus.jsonl").read_text().splitlines())}
        queries = {
            row["_id"]: row["text"] for row in map(json.loads, (folder / "queries.jsonl").read_text().splitlines())
        }
        gold = {query: set() for query in queries}
        for row in csv.DictReader((folder / "qrels" / "test.tsv").open(), delimiter="\t"):
            assert row["corpus-id"] in corpus
            assert int(row["score"]) > 0
            gold[row["query-id"]].add(row["corpus-id"])
        recalls = [
            len({e["chunk_id"] for e in rankings[q][:5]} & gold[q]) / len(gold[q]) if gold[q] else 0.0 for q in queries
        ]
        assert abs(sum(recalls) / len(recalls) - means["recall@5"]) < 1e-12
        assert all(row["text"].strip() and row["title"].startswith(repo) for row in corpus.values())
        assert all(queries.values())
    wrong = bench("export-beir", run, "-o", tmp_path / "b", "--source", mirror, "--limit", "3", home=home)
    assert "name the run's with --source" in one_sentence(wrong, 2)
