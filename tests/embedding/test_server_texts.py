"""The requests to embedding servers: several requests at a time, prefixes, and long texts cut."""

import numpy as np
import pytest

from repoeval_bench.core.errors import CacheError, EmbeddingError, UsageError
from repoeval_bench.embedding.cache import CachedEmbedder
from repoeval_bench.embedding.choice import choose_embedder, find_encoder
from repoeval_bench.embedding.storage import VectorCache
from repoeval_bench.runs.parts import make_embedder

TEXTS = [f"def name_{i}(a, b):\n    return a + {i} * b\n" for i in range(24)]


pytestmark = pytest.mark.usefixtures("no_faults")


@pytest.fixture
def embedder(server, tmp_path):
    """Makes embedders that share a cache."""
    cache = VectorCache(tmp_path / "vectors")

    def make(options="", model="m", spec=None):
        text = spec or f"openai:{model},base_url={server.base_url},batch=2{options}"
        resolved, policies = choose_embedder(text)
        return CachedEmbedder(find_encoder(str(resolved)), cache, policies)

    yield make
    cache.close()


def sent(server):
    return [text for sent_text in server.seen() for text in sent_text["input"]]


def test_requests_are_under_way_at_a_time(server, embedder, tmp_path, monkeypatch):
    """Four at once, never more; answers that come in another order give the vectors of one request at a time."""
    server.fail(*[{"wait": 0.3 if i % 3 == 0 else 0.1} for i in range(12)])
    at_once = embedder().encode(TEXTS, "document")
    assert server.most_at_once == 4
    assert len(server.seen()) == 12
    other = VectorCache(tmp_path / "other")
    monkeypatch.setattr("repoeval_bench.embedding.openai.AT_ONCE", 1)
    alone = CachedEmbedder(embedder().encoder, other).encode(TEXTS, "document")
    assert server.most_at_once == 1
    assert np.array_equal(at_once, alone)
    other.close()


def test_a_request_that_fails_ends_the_others_when_they_are_answered(server, embedder):
    """Answers are kept; the same texts again are sent only where no vector is there."""
    server.fail({"wait": 0.2}, {"status": 400}, {"wait": 0.2}, {"wait": 0.1})
    encoder = embedder()
    with pytest.raises(EmbeddingError, match="HTTP 400"):
        encoder.encode(TEXTS, "document")
    first = server.seen()
    assert len(first) <= 5
    missing = encoder.pending({"document": TEXTS})["document"]
    assert 24 - 2 * len(first) < len(missing) < 24
    encoder.encode(TEXTS, "document")
    assert sorted(sent(server)) == sorted(missing)


def test_queries_and_chunks_have_prefixes_of_their_own(server, embedder):
    """The server gets them; a text has a vector for each role; the spec and the identity name them."""
    encoder = embedder(",query_prefix=find%2C please:%20")
    query, document = (encoder.encode(["a b"], role) for role in ("query", "document"))
    assert sent(server) == ["find, please: a b", "a b"]
    assert not np.array_equal(query, document)
    assert encoder.spec.endswith("query_prefix=find%2C please:%20")
    plain = embedder()
    assert encoder.identity.keys() - plain.identity.keys() == {"query_prefix"}


def test_a_changed_model_is_seen(server, embedder, tmp_path):
    """Its vectors are never mixed with those of the older one."""
    embedder().encode(TEXTS[:4], "document")
    server.fail(*[{"width": 8}] * 20)
    with pytest.raises(CacheError, match=r"gave vectors of 8 and 384 numbers; if .* older model, delete that folder"):
        embedder().encode(TEXTS, "document")


def test_a_vector_of_another_length_is_never_kept(server, embedder):
    """A server that answers once with other vectors spoils nothing: the same command goes on."""
    server.fail(*[{}] * 4, {"width": 8})
    with pytest.raises(CacheError, match="gave vectors of 8 and 384 numbers"):
        embedder().encode(TEXTS, "document")
    assert embedder().encode(TEXTS, "document").shape == (24, 384)


def test_there_is_no_policy_there(tmp_path):
    """A server is given every text whole."""
    with pytest.raises(UsageError, match="embedder openai: unknown option 'long_chunks'"):
        make_embedder("openai:m,long_chunks=tail", home=tmp_path)
