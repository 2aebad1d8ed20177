"""Published and promised figures, on the real data; BM25 only, so that nothing is embedded."""

import hashlib
import json

import pytest

from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.protocols.qrels import gold_of
from repoeval_bench.protocols.queries import make_queries
from repoeval_bench.runs.benchmark_file import read_benchmark, shipped
from repoeval_bench.runs.request import PACK
from support.command import bench_process

pytestmark = [pytest.mark.full_data, pytest.mark.slow]


def evaluate(source, out, *arguments):
    done = bench_process("eval", *arguments, "--source", source, "--out", out, "--json", home=out / "home", timeout=300)
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_coderags_bm25_row_is_reproduced(real_source, tmp_path):
    """NDCG@10 within 1.5 points of the published 93.2, over six repositories."""
    metrics = evaluate(real_source, tmp_path, "--protocol", "coderag", "--retriever", "bm25:tokenizer=words")
    assert metrics["macro"]["ndcg@10"] == pytest.approx(0.932, abs=0.015)
    assert len(metrics["per_repo"]) == 6
    assert metrics["counts"]["queries"] == 373


def test_the_packs_version_stands_for_its_queries_and_its_gold(real_source, tmp_path):
    """Whoever changes what repoeval@chunking-v1 asks, or what is gold to it, has to give it another version."""
    protocol = read_benchmark(shipped("repoeval"), {}).requests[0].resolved_protocol()
    benchmark = load_benchmark(real_source, home=tmp_path / "home")
    digest = hashlib.sha256()
    for task, query in zip(benchmark.tasks, make_queries(benchmark.tasks, protocol.query), strict=True):
        (gold,) = (place.lines for place in gold_of(task, protocol))
        text = hashlib.sha256(query.text.encode()).hexdigest()
        digest.update(f"{query.query_id} {text} {gold.start} {gold.end} {protocol.relevance}\n".encode())
    assert (PACK, benchmark.fingerprint, digest.hexdigest()[:16]) == (
        "repoeval@chunking-v1",
        "68916a8e8246",
        "536c96955e3bae6a",
    )
