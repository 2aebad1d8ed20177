"""What a run keeps to be looked into: read back, it is what was chunked, asked and judged."""

import gzip
import json
import shutil
from unittest.mock import Mock

import pytest

from repoeval_bench.core.errors import ResultError
from repoeval_bench.core.spans import CharSpan
from repoeval_bench.embedding.cache import CachedEmbedder
from repoeval_bench.embedding.registry import Limit
from repoeval_bench.embedding.storage import VectorCache
from repoeval_bench.runs.inspection import CHUNKS, QUERIES, SOURCES
from repoeval_bench.runs.runner import evaluate
from repoeval_bench.runs.view import RunView
from support.encoders import CountingEncoder


def evaluated(benchmark, out, protocol="context"):
    return evaluate(benchmark, "ast:max_nws=400", protocol=protocol, retriever="bm25", out=out)


@pytest.fixture(scope="module")
def stored(benchmark, tmp_path_factory):
    """A run that no test changes."""
    return evaluated(benchmark, tmp_path_factory.mktemp("stored"))


@pytest.fixture
def run(stored, tmp_path):
    """A copy of it, to be damaged."""
    return RunView(shutil.copytree(stored.folder, tmp_path / stored.run_id))


def test_sources_chunks_and_queries_are_read_back(benchmark, stored):
    """Texts are the files', spans cut them, the gold is the protocol's, and every ranked chunk is there."""
    run = stored
    kept = run.inspection
    texts = {file.text for files in benchmark.files.values() for file in files}
    assert {file.text for file in kept.sources.values()} == texts
    ids = {chunk.chunk_id: chunk for chunks in kept.chunks.values() for chunk in chunks}
    assert {chunk_id for ranked in run.ranked_ids().values() for chunk_id in ranked} == set(ids)
    for chunk in ids.values():
        file = kept.sources[chunk.file]
        assert file.lines_of(chunk.chars) == chunk.lines
        assert chunk.nws == len("".join(file.slice(chunk.chars).split()))
    for task in benchmark.tasks:
        query = kept.queries[task.task_id]
        assert query.gold == [(task.file, task.context_span.start, task.context_span.end)]
        assert query.body == (task.body.start, task.body.end)
        assert query.read == (0, len(task.prompt))


def test_queries_with_chunks_of_their_own_find_them(benchmark, tmp_path):
    """Where the body is blanked, a query's own chunks have the ids that were ranked."""
    run = evaluated(benchmark, tmp_path, "context+exclusion=body")
    for query_id, ranked in run.ranked_ids().items():
        own = {chunk.chunk_id for chunk in run.inspection.own[query_id]}
        assert own
        assert own == {chunk_id for chunk_id in ranked if chunk_id.endswith(f"#{query_id}".replace(" ", "%20"))}


@pytest.mark.parametrize(
    "wrong",
    [{"body": [3, 1]}, {"definitions": [{"name": "f", "kind": "function", "tier": "static", "gold": []}]}],
)
def test_an_edited_row_that_cannot_be_shown_is_refused(run, wrong):
    """Lines that end before they start, a definition without a place."""
    path = run.folder / QUERIES
    first, *rest = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    path.write_bytes(gzip.compress(json.dumps(json.loads(first) | wrong).encode() + b"\n" + b"".join(rest)))
    with pytest.raises(ResultError, match=f"{QUERIES}.*run the evaluation again"):
        _ = run.inspection.sources, run.inspection.chunks, run.inspection.queries


@pytest.mark.parametrize("name", [SOURCES, CHUNKS, QUERIES])
def test_a_run_without_them_has_none_and_a_broken_file_is_named(run, name):
    """An older run is not an error; a truncated file is one, in one sentence."""
    (run.folder / name).write_bytes((run.folder / name).read_bytes()[:-20])
    with pytest.raises(ResultError, match=rf"{name} is broken .*; run the evaluation again"):
        _ = run.inspection.sources, run.inspection.chunks, run.inspection.queries
    (run.folder / name).unlink()
    assert RunView(run.folder).inspection is None


@pytest.mark.parametrize(
    ("policy", "kept"), [("head", "one two three four "), ("tail", "three four five six"), ("mean", None)]
)
def test_what_the_model_reads_of_a_long_text(tmp_path, policy, kept):
    """The head ends where the first dropped token begins, the tail is the end, the mean reads it all."""
    text = "one two three four five six"
    embedder = CachedEmbedder(CountingEncoder(), VectorCache(tmp_path), {"query": "head", "document": policy})
    short, long = embedder.read_chars(["one two", text], "document")
    assert short == CharSpan(0, 7)
    assert text[long.start : long.end] == (kept or text)


def test_what_is_read_is_worked_out_once(tmp_path):
    """A second run reads the cut from the cache."""
    words = CountingEncoder()
    starts = Mock(side_effect=words.limit.starts)
    words.limit = Limit(words.limit.max_tokens, starts)
    embedder = CachedEmbedder(words, VectorCache(tmp_path))
    assert embedder.read_chars(["a b c d e"], "query") == embedder.read_chars(["a b c d e"], "query")
    starts.assert_called_once()
