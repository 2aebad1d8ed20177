"""Unexpected texts and models, with the real model: a correct vector, or one clear error."""

import re

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from repoeval_bench.core.errors import EmbeddingError
from repoeval_bench.embedding.cache import CachedEmbedder
from repoeval_bench.embedding.encoder import SentenceTransformerEncoder
from repoeval_bench.embedding.hashing import HashEncoder
from repoeval_bench.embedding.models import locate
from repoeval_bench.embedding.registry import Limit
from repoeval_bench.embedding.storage import VectorCache
from support.models import tiny_encoder


@pytest.fixture(scope="module")
def embedder(tmp_path_factory):
    """The bundled model behind a cache of its own."""
    cache = VectorCache(tmp_path_factory.mktemp("vectors"))
    yield CachedEmbedder(SentenceTransformerEncoder(locate("minilm")), cache)
    cache.close()


class WordReader(HashEncoder):
    """Reads 256 words at a time, and hashes them: what a long text costs is then its cutting."""

    limit = Limit(256, lambda text: [word.start() for word in re.finditer(r"\S+", text)])

    def __init__(self):
        super().__init__("words", dim=64, seed=0)

    def count_tokens(self, texts, role):
        return [len(text.split()) for text in texts]


class CountingCache(VectorCache):
    """Counts its transactions."""

    written = 0

    def write(self, values):
        self.written += 1
        super().write(values)


@pytest.mark.parametrize("policy", ["tail", "mean"])
def test_a_megabyte_by_policy(tmp_path, policy):
    """A long text is cut in a pass over it and without a transaction for each window; its vector is its words'."""
    text = "lorem ipsum dolor sit " * 45_457
    assert len(text) > 1_000_000
    cache = CountingCache(tmp_path)
    reader = CachedEmbedder(WordReader(), cache, {"query": "head", "document": policy})
    assert reader.pending({"document": [text]})["document"]
    assert cache.written == 2  # the tokens of the text, and those that every text has
    assert reader.ensure({"document": [text]}) <= 2  # all windows but the last are one text
    rows = reader.encode([text], "document")
    assert np.allclose(reader.encode(["lorem ipsum dolor sit"], "document") @ rows.T, 1, atol=1e-6)
    cache.close()


def test_empty_blank_and_undecodable_texts(embedder):
    """Nothing, only spaces, lone surrogates and zero bytes all have a vector of unit length, each its own where it differs."""
    texts = ["", "   ", "\n\t\n", "\ud800", "def f(): return '\udcff'", "\0\0", " " * 100_000]
    vectors = embedder.encode(texts, "query")
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert np.array_equal(vectors[[0, 0]], vectors[[1, 6]])
    assert not np.array_equal(vectors[0], vectors[4])


def test_the_head_of_a_long_text_decides_its_vector(embedder):
    """Text behind the tokens that are read changes nothing, no matter where the text is cut before it is read."""
    head = "".join(f"value_{i} = compute({i}, '{'ab' * (i % 9)}')\n" for i in range(40))
    tails = ["", "y" * 20_000, " z" * 10, "\n" * 20_000]
    vectors = embedder.encode([head + tail for tail in tails], "document")
    assert embedder.count_tokens([head], "document")[0] > 500
    assert np.array_equal(vectors, np.broadcast_to(vectors[0], vectors.shape))


@pytest.mark.parametrize("weight", [np.nan, 0.0])
def test_a_model_that_gives_no_direction(tmp_path, weight):
    """Weights of NaN or zero give NaN and zero vectors: an EmbeddingError that shows the text, and nothing is cached."""
    folder = tiny_encoder(tmp_path / "model")
    (path,) = folder.rglob("model.safetensors")
    weights = load_file(path)
    for name in [name for name in weights if "layer.1.output.LayerNorm" in name]:
        weights[name] = np.full_like(weights[name], weight)
    save_file(weights, path, {"format": "pt"})
    cache = VectorCache(tmp_path / "vectors")
    broken = CachedEmbedder(SentenceTransformerEncoder(locate(f"st:{folder}")), cache)
    with pytest.raises(EmbeddingError, match="zero or non-finite vector for the text 'def f"):
        broken.encode(["def f(): pass"], "document")
    assert broken.pending({"document": ["def f(): pass"]}) == {"document": ["def f(): pass"]}
    cache.close()
