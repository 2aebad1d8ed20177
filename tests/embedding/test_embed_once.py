"""A command's distinct texts are embedded once, whatever number of chunkers and settings it compares."""

from unittest.mock import Mock

import pytest

from repoeval_bench.core.errors import EmbeddingError
from repoeval_bench.core.files import HASHES
from repoeval_bench.embedding.cache import CachedEmbedder
from repoeval_bench.embedding.long_text import HEADS
from repoeval_bench.embedding.storage import VectorCache
from repoeval_bench.retrieval.registry import choose_retriever
from repoeval_bench.runs.parts import Parts, make_embedder
from repoeval_bench.runs.runner import evaluate, plan_run
from support.encoders import CountingEncoder
from support.runs import make_together

CHUNKERS = ("fixed:max_nws=400", "ast:max_nws=400", "fixed:max_nws=800")


def embedder(folder, policies=HEADS, **prompts):
    encoder = CountingEncoder(reads=40, prompts=prompts)
    return encoder, CachedEmbedder(encoder, VectorCache(folder / "vectors"), policies)


def test_each_distinct_text_of_several_chunkers_is_embedded_once(benchmark, tmp_path):
    """Each chunker's texts are one pass, without those that an earlier one had; a second run has none."""
    encoder, model = embedder(tmp_path)
    list(make_together(benchmark, CHUNKERS, tmp_path / "out", embedder=model))
    texts = [text for of_pass in encoder.passes for text in of_pass]
    assert len(encoder.passes) == len(CHUNKERS)
    assert len(texts) == len(set(texts))
    expected = [plan_run(benchmark, spec).texts() for spec in CHUNKERS]
    assert set(texts) == {text for item in expected for role in item.values() for text in role}
    list(make_together(benchmark, CHUNKERS, tmp_path / "again", embedder=model))
    assert len(encoder.passes) == len(CHUNKERS)


def test_runs_made_together_are_those_made_alone(benchmark, tmp_path):
    """Embedding together changes no byte of a run's ranking and scores, and reused runs keep their places."""
    _, model = embedder(tmp_path)
    alone = [evaluate(benchmark, spec, embedder=model, out=tmp_path / "alone") for spec in CHUNKERS]
    _, fresh = embedder(tmp_path / "fresh")
    together = list(make_together(benchmark, CHUNKERS, tmp_path / "together", embedder=fresh))
    for one, other in zip(alone, together, strict=True):
        assert one.run_id == other.run_id
        for name in ("metrics.json", "per_query.jsonl.gz", "retrieved.jsonl.gz"):
            assert one.text(name) == other.text(name)


def test_a_prompt_of_its_own_is_a_pass_of_its_own(benchmark, tmp_path):
    """If queries carry another prompt, one text has two vectors; where they do not, it has one."""
    text = {"query": ["x = 1", "y = 2"], "document": ["x = 1"]}
    encoder, model = embedder(tmp_path, query="ask: ")
    model.ensure(text)
    assert sorted(item for once in encoder.passes for item in once) == ["ask: x = 1", "ask: y = 2", "x = 1"]
    encoder, model = embedder(tmp_path / "same")
    assert model.ensure(text) == 2
    assert encoder.passes == [["x = 1", "y = 2"]]
    assert model.ensure(text) == 0


def test_windows_of_long_texts_are_embedded_in_the_same_pass(tmp_path):
    """Under a policy that cuts long texts, it is their parts that are gathered."""
    encoder, model = embedder(tmp_path, {"query": "tail", "document": "mean"})
    long = " ".join(f"word{i}" for i in range(100))
    model.ensure({"query": [long], "document": [long, "short"]})
    (texts,) = encoder.passes
    assert len(texts) == 5  # the tail, three windows, and the short one
    assert max(len(text.split()) for text in texts) == 40


def test_an_embedder_that_is_given_is_the_only_one_made(benchmark, tmp_path, monkeypatch):
    """`evaluate` with an object needs no model of the default's name."""

    def no_model(*_, **__):
        raise AssertionError("the default model was made")

    monkeypatch.setattr("repoeval_bench.runs.planning.make_embedder", no_model)
    _, model = embedder(tmp_path, {"query": "head", "document": "head"})
    assert evaluate(benchmark, CHUNKERS[0], embedder=model, out=tmp_path / "out").metrics.embedder == model.spec


def test_a_worker_hashes_no_model_that_its_caller_has_hashed(tmp_path, monkeypatch):
    """The hash travels with the state of the file; a file in another state is read, and refused if it changed."""
    for known in [*HASHES]:  # as in a process that has just started
        monkeypatch.delitem(HASHES, known)
    parts = Parts(make_embedder("minilm", home=tmp_path), choose_retriever("dense"), tmp_path)
    rebuild, (*named, hashed) = parts.__reduce__()
    HASHES.clear()
    monkeypatch.setattr("repoeval_bench.core.files.sha256_file", Mock(return_value="0" * 64))
    assert rebuild(*named, hashed).embedder.identity == parts.embedder.identity
    HASHES.clear()
    (path, state), digest = hashed
    with pytest.raises(EmbeddingError, match="weights .* have SHA-256 000"):
        rebuild(*named[:2], tmp_path / "other", ((path, (*state[:-1], -1)), digest))
    HASHES.clear()
