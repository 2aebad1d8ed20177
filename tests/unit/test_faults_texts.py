"""Texts and models that nobody expects, with the real model: a right vector, or one clear error."""

import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from repoeval_bench.embedding.cache import CachedEmbedder
from repoeval_bench.embedding.encoder import SentenceTransformerEncoder
from repoeval_bench.embedding.models import locate
from repoeval_bench.embedding.storage import VectorCache
from repoeval_bench.errors import EmbeddingError


@pytest.fixture(scope="module")
def embedder(tmp_path_factory):
    """The bundled model behind a cache of its own."""
    cache = VectorCache(tmp_path_factory.mktemp("vectors"))
    yield CachedEmbedder(SentenceTransformerEncoder(locate("minilm")), cache)
    cache.close()


@pytest.mark.slow
def test_ten_megabytes(embedder):
    """The head of a text of 10 MB is read, whatever follows, and all of its tokens are counted."""
    text = "lorem ipsum dolor " * 555_556
    assert len(text) > 10_000_000
    assert embedder.count_tokens([text], "document")[0] > 2_000_000
    vectors = embedder.encode([text, text[:9000]], "document")
    assert np.array_equal(vectors[0], vectors[1])


@pytest.mark.slow
def test_ten_megabytes_without_a_blank(embedder):
    """A text that is one endless word is read as the library reads it: as an unknown word."""
    assert np.array_equal(*embedder.encode(["x" * 10_000_000, "[UNK]"], "document"))


def test_empty_blank_and_undecodable_texts(embedder):
    """Nothing, only spaces, lone surrogates and zero bytes all have a vector of unit length, each its own where it differs."""
    texts = ["", "   ", "\n\t\n", "\ud800", "def f(): return '\udcff'", "\0\0", " " * 100_000]
    vectors = embedder.encode(texts, "query")
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert np.array_equal(vectors[[0, 0]], vectors[[1, 6]])
    assert not np.array_equal(vectors[0], vectors[4])


@pytest.mark.parametrize("length", [0, 10, 20_000])
def test_the_head_of_a_long_text_decides_its_vector(embedder, length):
    """What comes after the tokens that are read changes nothing, wherever the text is cut before it is read."""
    head = "".join(f"value_{i} = compute({i}, '{'ab' * (i % 9)}')\n" for i in range(120))
    tails = ["", "y" * length, " z" * length, "\n" * length]
    vectors = embedder.encode([head + tail for tail in tails], "document")
    assert embedder.count_tokens([head], "document")[0] > 1000
    assert np.array_equal(vectors, np.broadcast_to(vectors[0], vectors.shape))


@pytest.mark.parametrize("weight", [np.nan, 0.0])
def test_a_model_that_gives_no_direction(tmp_path, weight):
    """Weights of NaN or zero give NaN and zero vectors: an EmbeddingError that shows the text, and nothing is cached."""
    folder = tmp_path / "model"
    shutil.copytree(locate("minilm").folder, folder)
    weights = load_file(folder / "model.safetensors")
    for name in [name for name in weights if name.startswith("encoder.layer.5.output.LayerNorm")]:
        weights[name] = np.full_like(weights[name], weight)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    cache = VectorCache(tmp_path / "vectors")
    broken = CachedEmbedder(SentenceTransformerEncoder(locate(f"st:{folder}")), cache)
    with pytest.raises(EmbeddingError, match="zero or non-finite vector for the text 'def f"):
        broken.encode(["def f(): pass"], "document")
    assert broken.missing(["def f(): pass"], "document") == ["def f(): pass"]
    cache.close()
