"""`export beir`: what is written is the runs' own question, readable line by line."""

import csv
from functools import cache

import pytest
import yaml

from repoeval_bench import load_benchmark
from repoeval_bench.runs.beir import export_beir
from repoeval_bench.runs.runner import evaluate
from support.command import bench, one_sentence, succeed
from support.runs import read_rows

AST = "ast:max_nws=400"


@pytest.fixture(scope="module")
def run(benchmark, tmp_path_factory):
    """Evaluate a chunker with BM25, once for all tests that ask the same."""
    out = tmp_path_factory.mktemp("results")
    return cache(
        lambda chunker=AST, **options: evaluate(
            benchmark, chunker, retriever="bm25", out=out, allow_sparse_qrels=True, **options
        )
    )


def read(folder):
    """(documents by id, queries by id, query -> document -> score) of a data set; both files of judgements agree."""
    corpus = {row["_id"]: row for row in read_rows(folder / "corpus.jsonl")}
    queries = {row["_id"]: row["text"] for row in read_rows(folder / "queries.jsonl")}
    judged = [(row["query-id"], row["corpus-id"], row["score"]) for row in read_rows(folder / "qrels" / "test.jsonl")]
    with (folder / "qrels" / "test.tsv").open() as lines:
        table = list(csv.DictReader(lines, delimiter="\t"))
    assert judged == [(row["query-id"], row["corpus-id"], int(row["score"])) for row in table]
    qrels = {}
    for query_id, chunk_id, score in judged:
        assert chunk_id in corpus
        assert score > 0
        qrels.setdefault(query_id, {})[chunk_id] = score
    return corpus, queries, qrels


def visible(folder):
    """Query -> the documents that it may see."""
    return {row["query-id"]: set(row["corpus-ids"]) for row in read_rows(folder / "top_ranked.jsonl")}


def configs(folder):
    """Configuration -> the one file that the data set's card names for it."""
    _, card, _ = (folder / "README.md").read_text("utf-8").split("---\n", 2)
    content = yaml.safe_load(card)
    results = {config["config_name"]: folder / config["data_files"][0]["path"] for config in content["configs"]}
    assert all(path.is_file() for path in results.values())
    return {name: str(path.relative_to(folder)) for name, path in results.items()}


def test_the_layout_holds_the_runs_documents_and_judgements(mirror, tmp_path):
    """recall@5 recomputed from the exported qrels and the run's ranking is what was stored, in every repository."""
    home = tmp_path / "home"
    exported = evaluate(load_benchmark(mirror, home=home), AST, retriever="bm25", out=tmp_path / "results")
    succeed("export", "beir", exported.folder, "-o", tmp_path / "beir", "--source", mirror, home=home)
    rankings = {row["query_id"]: row["topk"] for row in read_rows(exported.folder / "retrieved.jsonl.gz")}
    for repo, means in exported.metrics.per_repo.items():
        corpus, queries, gold = read(tmp_path / "beir" / repo)
        recalls = [
            len({e["chunk_id"] for e in rankings[q][:5]} & gold[q].keys()) / len(gold[q]) if q in gold else 0.0
            for q in queries
        ]
        assert abs(sum(recalls) / len(recalls) - means["recall@5"]) < 1e-12
        assert all(row["text"].strip() and row["title"] == "" for row in corpus.values())
        assert all(queries.values())
        assert configs(tmp_path / "beir" / repo) == {
            "corpus": "corpus.jsonl",
            "queries": "queries.jsonl",
            "default": "qrels/test.jsonl",
        }
    assert {name.rpartition("-")[0] for name in configs(tmp_path / "beir")} == set(exported.metrics.per_repo)


def test_a_run_over_a_part_of_the_tasks_needs_no_more_words(mirror, tmp_path):
    """A run's manifest says which tasks it is about."""
    home = tmp_path / "home"
    words = ("--retriever", "bm25", "--source", mirror, "--out", tmp_path / "results")
    succeed("eval", "-c", AST, *words, "--limit", "3", home=home)
    (part,) = (tmp_path / "results").glob("*/metrics.json")
    succeed("export", "beir", part.parent, "-o", tmp_path / "beir", "--source", mirror, home=home)
    assert sum(len(read_rows(path)) for path in (tmp_path / "beir").rglob("queries.jsonl")) == 3


def test_what_a_query_may_not_see_is_left_out_of_its_candidates(benchmark, run, tmp_path):
    exported = run(exclusion="repocoder", protocol="context")
    done = export_beir(exported, benchmark, tmp_path / "set")
    assert done.restricted > 0
    for name in done.sets:
        corpus, queries, qrels = read(tmp_path / "set" / name)
        if not (tmp_path / "set" / name / "top_ranked.jsonl").exists():
            continue
        seen = visible(tmp_path / "set" / name)
        assert seen.keys() == queries.keys()
        assert any(len(ids) < len(corpus) for ids in seen.values())
        assert all(ids >= qrels.get(query_id, {}).keys() for query_id, ids in seen.items())


def test_documents_of_single_queries_are_refused_in_one_sentence(mirror, run, tmp_path):
    words = (run(AST, exclusion="body").folder, "-o", tmp_path / "x", "--source", mirror)
    done = bench("export", "beir", *words, home=tmp_path / "home")
    assert "gives queries documents of their own" in one_sentence(done, 2)
    assert not (tmp_path / "x").exists()


def test_a_run_that_searched_all_repositories_as_one_is_one_set(benchmark, run, tmp_path):
    """Scope pooled: every query sees every document, so there is nothing to say of candidates."""
    done = export_beir(run(scope="pooled"), benchmark, tmp_path / "set")
    corpus, queries, qrels = read(tmp_path / "set")
    assert (done.documents, done.queries, done.scored) == (len(corpus), len(queries), len(qrels))
    assert {corpu.partition("/")[0] for corpu in corpus} == set(benchmark.files)
    assert done.restricted == 0
    assert not (tmp_path / "set" / "top_ranked.jsonl").exists()


def test_questions_of_docstrings_are_exported_over_the_files_without_them(benchmark, run, tmp_path):
    done = export_beir(run(protocol="docstring"), benchmark, tmp_path / "set")
    for name in done.sets:
        corpus, queries, _ = read(tmp_path / "set" / name)
        texts = "\n".join(row["text"] for row in corpus.values())
        assert not any(query in texts for query in queries.values())
