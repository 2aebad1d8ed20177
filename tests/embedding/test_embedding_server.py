"""The client of embedding servers against a real server on this machine, faults included."""

import json

import numpy as np
import pytest

from repoeval_bench.core.api_server import server_address
from repoeval_bench.core.errors import EmbeddingError, SpecError
from repoeval_bench.embedding.cache import CachedEmbedder
from repoeval_bench.embedding.choice import find_encoder, parse_embedder
from repoeval_bench.embedding.storage import VectorCache
from support.cases import cases
from support.embedding_server import KEY

CASES = cases(__file__)

pytestmark = pytest.mark.usefixtures("no_faults")


QUICK = {"Retry-After": "0.01"}


@pytest.fixture
def client(server, tmp_path):
    return find_encoder(f"openai:m,base_url={server.base_url}")


def embed(client, texts=("a", "b")):
    ((_, vectors),) = client.encode_batches(texts, "document", [1] * len(texts))
    return vectors


def data(index, vector):
    """An answer whose first vector is this one."""
    return json.dumps({"data": [{"index": index, "embedding": vector}, {"index": 1, "embedding": [1]}]})


def refused(client, texts=("a", "b")):
    with pytest.raises(EmbeddingError) as error:
        embed(client, texts)
    assert KEY not in str(error.value)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_order_is_that_of_the_index(server, client):
    """A server may answer in any order; `index` says which vector belongs to which text."""
    straight = embed(client, ["a", "b", "c"])
    server.fail({"shuffle": True})
    assert np.array_equal(embed(client, ["a", "b", "c"]), straight)


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again(server, client, status):
    server.fail({"status": status, "headers": QUICK})
    assert embed(client).shape == (2, 384)
    server.seen()
    server.fail(*[{"status": status, "headers": QUICK}] * 9)
    said = refused(client)
    assert f"fails (HTTP {status}: " in said
    assert "[OPENAI_API_KEY]" in said
    assert len(server.seen()) == 6


@pytest.mark.parametrize(("fault", "reason"), [({"silent": 5}, "no answer in time"), ({"drop": True}, "Error: ")])
def test_a_server_without_an_answer_is_asked_again(server, tmp_path, monkeypatch, fault, reason):
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setattr("repoeval_bench.embedding.openai.TIMEOUT", 0.2)
    client = find_encoder(f"openai:m,base_url={server.base_url}")
    server.fail(*[fault] * 9)
    server.seen()
    assert reason in refused(client)
    assert len(server.seen()) == 6


@pytest.mark.parametrize(("fault", "message"), CASES["faults"])
def test_what_is_wrong_is_reported_at_once(server, client, fault, message):
    """The next answer would be the same."""
    server.fail(fault)
    assert message in refused(client)
    assert len(server.seen()) == 1


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf"), 1e39])
def test_a_vector_without_direction_is_never_kept(server, tmp_path, value):
    """Zero, NaN and infinite vectors are an error that names the text; nothing of the batch is cached."""
    encoder = find_encoder(f"openai:m,base_url={server.base_url}")
    cache = VectorCache(tmp_path / "vectors")
    server.fail({"value": value})
    with pytest.raises(EmbeddingError, match="zero or non-finite vector for the text 'bad one'"):
        CachedEmbedder(encoder, cache).encode(["bad one", "b"], "document")
    assert CachedEmbedder(encoder, cache).pending({"document": ["bad one", "b"]}) == {"document": ["bad one", "b"]}
    cache.close()


def test_a_width_is_asked_for(server, tmp_path):
    short = find_encoder(f"openai:m,base_url={server.base_url},dimensions=8")
    assert embed(short).shape == (2, 8)
    assert server.seen()[0]["dimensions"] == 8


def test_a_refused_key_is_not_repeated(server, tmp_path, monkeypatch):
    """401 names the variable, not its value, whatever the server says."""
    spec = f"openai:m,base_url={server.base_url}"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-key-1")
    said = refused(find_encoder(spec))
    assert "refuses the key in OPENAI_API_KEY (HTTP 401)" in said
    assert "sk-wrong" not in said
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "refuses a request without a key (HTTP 401); set OPENAI_API_KEY" in refused(find_encoder(spec))
    monkeypatch.setenv("OPENAI_API_KEY", "schlüssel")
    with pytest.raises(EmbeddingError, match="OPENAI_API_KEY has characters that a header cannot carry"):
        find_encoder(spec)


@pytest.mark.parametrize(("spec", "message"), CASES["specs"].items())
def test_wrong_specs_are_refused_without_repeating_a_key(spec, message):
    """One sentence with the way out; what could be a key is not in it."""
    with pytest.raises(SpecError, match=message) as error:
        parse_embedder(spec)
    assert "sk-abc" not in str(error.value)


def test_the_address_is_part_of_what_a_vector_is(monkeypatch, tmp_path):
    """Two servers never share vectors; the environment's address counts as one that was written; how texts are sent does not."""
    assert server_address("") == "https://api.openai.com/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://a:1/v1/")
    named = find_encoder("openai:m")
    written = find_encoder("openai:m,base_url=http://a:1/v1,batch=7")
    other = find_encoder("openai:m,base_url=http://b:1/v1")
    assert named.spec == written.spec == "openai:m,base_url=http://a:1/v1"
    assert named.identity == written.identity != other.identity
    assert find_encoder("openai:m,dimensions=8").identity != named.identity
