"""Runs whose gold cannot be found: refused where that is all of them, told where it is most."""

import re

import pytest

from repoeval_bench.core.errors import ResultError
from repoeval_bench.embedding.cache import CachedEmbedder
from repoeval_bench.embedding.storage import VectorCache
from repoeval_bench.report.scores import footnotes
from repoeval_bench.runs.runner import evaluate
from support.cases import cases
from support.encoders import CountingEncoder
from support.runs import edit, make_together

CASES = cases(__file__)


@pytest.mark.parametrize(("protocol", "chunker", "says"), CASES["runs without gold"])
def test_a_run_without_any_relevant_chunk_is_refused(benchmark, tmp_path, protocol, chunker, says):
    """Whole files as chunks: the exclusion hides, or the rule refuses, every one; nothing is stored."""
    with pytest.raises(ResultError, match=rf"none of the {len(benchmark.tasks)} queries has a relevant chunk") as error:
        evaluate(benchmark, chunker, protocol=protocol, retriever="bm25", out=tmp_path / "results")
    assert protocol in str(error.value)
    assert says in str(error.value)
    assert not list(tmp_path.glob("results/*/manifest.json"))


def test_it_is_refused_before_anything_is_embedded(benchmark, tmp_path):
    """With two chunkers, one of them without a relevant chunk, neither's texts are embedded."""
    encoder, cache = CountingEncoder(), VectorCache(tmp_path / "vectors")
    chunkers = ["ast:max_nws=400", "fixed:max_nws=100000"]
    embedder = CachedEmbedder(encoder, cache)
    stored = make_together(benchmark, chunkers, tmp_path, protocol="body+exclusion=prompt", embedder=embedder)
    with pytest.raises(ResultError, match="has a relevant chunk"):
        next(stored)
    assert encoder.encoded == []
    cache.close()


def test_fewer_than_half_with_a_relevant_chunk_is_refused_unless_asked_for(benchmark, tmp_path):
    """The sentence has both counts and the option; asked for, the run has the name and the numbers of its choices."""
    options = {"protocol": "context+relevance=iou:0.8", "retriever": "bm25", "out": tmp_path / "results"}
    with pytest.raises(
        ResultError, match=r"(\d+) of (\d+) queries have a relevant chunk .* --set allow_sparse_qrels"
    ) as error:
        evaluate(benchmark, "ast:max_nws=400", **options)
    result, total = map(int, re.search(r"(\d+) of (\d+)", str(error.value)).groups())
    assert 0 < 2 * result < total == len(benchmark.tasks)
    run = evaluate(benchmark, "ast:max_nws=400", allow_sparse_qrels=True, **options)
    assert run.counts.queries_without_relevant == total - result
    assert "allow_sparse_qrels" not in (run.folder / "manifest.json").read_text()


def test_half_with_a_relevant_chunk_is_enough(benchmark, tmp_path):
    """Where more have one, the option changes no byte of the scores and not the run's name."""
    runs = [
        evaluate(benchmark, "ast:max_nws=400", retriever="bm25", out=tmp_path / str(few), allow_sparse_qrels=few)
        for few in (False, True)
    ]
    assert runs[0].run_id == runs[1].run_id
    assert runs[0].text("metrics.json") == runs[1].text("metrics.json")


@pytest.mark.parametrize(("without", "noted"), [(0, False), (1, False), (2, True)])
def test_more_than_half_without_a_relevant_chunk_is_told(benchmark, tmp_path, without, noted):
    """Above a half, a note of its own is printed under the table."""
    run = evaluate(benchmark, "ast:max_nws=400", retriever="bm25", out=tmp_path)
    counts = {"queries": 3, "queries_without_relevant": without}
    run = edit(run, "metrics.json", counts=run.counts.as_json() | counts)
    assert any(f"{without} of 3 queries have no relevant chunk" in line for line in footnotes(run)) == noted
