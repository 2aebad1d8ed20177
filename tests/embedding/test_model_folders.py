"""Folders of models, built on the spot: each is read as its library reads it, or refused in one sentence."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from repoeval_bench.core.errors import EmbeddingError, SpecError
from repoeval_bench.embedding import models
from repoeval_bench.embedding.cache import CachedEmbedder
from repoeval_bench.embedding.cross_encoder import find_cross_encoder
from repoeval_bench.embedding.encoder import SentenceTransformerEncoder
from repoeval_bench.embedding.models import locate
from repoeval_bench.embedding.storage import VectorCache
from support.damage import planted
from support.models import tiny_cross_encoder, tiny_encoder, tiny_tokenizer

TEXTS = ["def x(line): return line", "class x: port = x", "x = (port) " * 10, "self"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return tiny_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture
def folder(built, tmp_path):
    """A copy of the model, to be spoilt."""
    return Path(shutil.copytree(built, tmp_path / "model"))


@pytest.fixture
def cache(tmp_path):
    opened = VectorCache(tmp_path / "vectors")
    yield opened
    opened.close()


def embedder(folder, cache):
    return CachedEmbedder(SentenceTransformerEncoder(locate(f"st:{folder},precision=fp32")), cache)


def edit(path, **values):
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def drop(path, *beginnings):
    """Take the tensors with these beginnings out of the weights; how many there were."""
    weights = load_file(path)
    remaining = {name: value for name, value in weights.items() if not name.startswith(beginnings)}
    save_file(remaining, path, {"format": "pt"})
    return len(weights) - len(remaining)


def library(folder, texts=TEXTS):
    from sentence_transformers import SentenceTransformer

    rows = SentenceTransformer(str(folder), device="cpu").encode(texts)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("file", "values"),
    [
        ("config.json", {"num_attention_heads": 4}),
        ("1_Pooling/config.json", {"include_prompt": False}),
        ("config_sentence_transformers.json", {"truncate_dim": 4}),
        ("tokenizer_config.json", {"model_input_names": ["input_ids", "attention_mask"]}),
    ],
)
def test_a_models_configuration_is_part_of_what_a_vector_is(folder, cache, file, values):
    """With any of its configuration files changed, nothing that is cached counts as the model's."""
    before = embedder(folder, cache)
    first = before.encode(TEXTS, "document")
    edit(folder / file, **values)
    after = embedder(folder, cache)
    assert after.identity != before.identity
    assert after.pending({"document": TEXTS}) == {"document": TEXTS}
    rows = after.encode(TEXTS, "document")
    assert np.abs(rows - library(folder)).max() < 1e-6
    if file == "config.json":
        assert np.abs(rows - first).max() > 1e-3


def test_a_cross_encoders_configuration_is_part_of_what_a_score_is(tmp_path):
    folder = tiny_cross_encoder(tmp_path)
    before = find_cross_encoder(f"st:{folder}").identity
    edit(folder / "config.json", num_attention_heads=4)
    assert find_cross_encoder(f"st:{folder}").identity != before


def test_the_bundled_models_configuration_is_the_published_one(tmp_path, monkeypatch):
    """It is checked and not part of the identity; one that was changed is refused, before anything is computed."""
    assert "config_sha256" not in locate("minilm").identity
    folder = shutil.copytree(locate("minilm").folder, tmp_path / "model")
    edit(folder / "config.json", num_attention_heads=6)
    monkeypatch.setattr(models, "_bundled_folder", lambda: folder)
    with pytest.raises(EmbeddingError, match="configuration files in .* not the published"):
        locate("minilm")


def test_weights_that_are_missing_are_never_random_numbers(folder, cache):
    """A tensor that the file lacks is named and the model refused; nothing is cached."""
    assert drop(folder / "model.safetensors", "encoder.layer.1.") > 10
    with pytest.raises(EmbeddingError, match=r"lack \d\d of the model's tensors, encoder\.layer\.1\..* random numbers"):
        embedder(folder, cache).encode(TEXTS, "document")
    assert embedder(folder, cache).pending({"document": TEXTS}) == {"document": TEXTS}


def test_a_pooler_that_is_not_used_may_be_missing(folder, cache):
    """Many models are saved without one, and no vector depends on it."""
    expected = library(folder)
    assert drop(folder / "model.safetensors", "pooler.") == 2
    assert np.abs(embedder(folder, cache).encode(TEXTS, "document") - expected).max() < 1e-6


@pytest.mark.parametrize("part", ["classifier.", "bert.pooler."])
def test_a_cross_encoder_without_its_head_is_refused(tmp_path, part):
    """Here the pooler is used, and what comes behind it."""
    folder = tiny_cross_encoder(tmp_path)
    assert drop(folder / "model.safetensors", part) == 2
    with pytest.raises(EmbeddingError, match="lack 2 of the model's tensors"):
        find_cross_encoder(f"st:{folder}").score("x", ["self"])


@pytest.mark.parametrize("length", [0, 1000])
def test_a_file_of_weights_that_ends_early(folder, cache, length):
    """An interrupted download is one sentence."""
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:length])
    with pytest.raises(EmbeddingError, match="cannot be loaded .* restore the model's folder"):
        embedder(folder, cache).encode(TEXTS, "document")


@pytest.mark.parametrize(
    ("file", "content"), [("modules.json", '["x"]'), ("sentence_bert_config.json", "[]"), ("modules.json", "{")]
)
def test_configuration_in_another_form(folder, file, content):
    """A file that is not JSON, or holds something else, is reported with its folder."""
    (folder / file).write_text(content)
    with pytest.raises(EmbeddingError, match="restore the model's folder"):
        locate(f"st:{folder}")


@pytest.mark.parametrize("location", [".", "2_Dense"])
def test_a_pickle_is_refused_unread(folder, tmp_path, location):
    """Weights in a pickle are refused by their name, the whole model's or a module's; what was planted does not run."""
    if location == ".":
        (folder / "model.safetensors").unlink()
    (folder / location).mkdir(exist_ok=True)
    proof = tmp_path / "ran"
    (folder / location / "pytorch_model.bin").write_bytes(planted(proof))
    with pytest.raises(EmbeddingError, match="may be a pickle, which is never read"):
        locate(f"st:{folder}")
    assert not proof.exists()


def test_a_pickle_beside_the_weights_is_not_read(folder, cache, tmp_path):
    """Folders on the hub often hold both; the file that is not a pickle is taken."""
    expected = library(folder)
    proof = tmp_path / "ran"
    (folder / "pytorch_model.bin").write_bytes(planted(proof))
    assert np.abs(embedder(folder, cache).encode(TEXTS, "document") - expected).max() < 1e-6
    assert not proof.exists()


def test_static_embeddings_are_read_whole(tmp_path, cache):
    """A folder of StaticEmbedding gives the library's vectors, alone or among others; no text is too long for it."""
    folder = tmp_path / "static"
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    static = StaticEmbedding(tiny_tokenizer().backend_tokenizer, embedding_dim=8)
    SentenceTransformer(modules=[static], device="cpu").save_pretrained(str(folder))
    texts = [*TEXTS, "x = port " * 500]
    mine = embedder(folder, cache)
    assert mine.max_tokens is None
    rows = mine.encode(texts, "document")
    assert np.abs(rows - library(folder, texts)).max() < 1e-6
    for i, text in enumerate(texts):
        alone = VectorCache(tmp_path / str(i))
        assert np.array_equal(embedder(folder, alone).encode([text], "document")[0], rows[i])
        alone.close()
    with pytest.raises(SpecError, match="reads texts whole"):
        locate(f"st:{folder},max_length=64")


def test_a_model_with_two_ways_is_refused(built, tmp_path):
    """A Router embeds queries by other modules than documents: refused, before a query is embedded as a document."""
    folder = tmp_path / "router"
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Router, Transformer

    ways = Router.for_query_document(
        query_modules=[Transformer(str(built)), Pooling(16), Dense(16, 16)],
        document_modules=[Transformer(str(built)), Pooling(16)],
    )
    SentenceTransformer(modules=[ways], device="cpu").save_pretrained(str(folder))
    with pytest.raises(EmbeddingError, match="is a Router model"):
        locate(f"st:{folder}")
