"""The client of embedding servers against a real server on this machine, faults included."""

import json
import time
from datetime import UTC, datetime

import numpy as np
import pytest

from repoeval_bench.core.api_server import server_address
from repoeval_bench.core.errors import EmbeddingError, SpecError
from repoeval_bench.embedding.cache import CachedEmbedder
from repoeval_bench.embedding.choice import find_encoder, parse_embedder
from repoeval_bench.embedding.server import EmbeddingServer
from repoeval_bench.embedding.storage import VectorCache
from support.embedding_server import KEY

pytestmark = pytest.mark.usefixtures("no_faults")


@pytest.fixture
def client(server):
    """A client that notes how long it would have slept."""
    slept = []
    waiting = {"sleep": slept.append, "now": lambda: datetime(2026, 1, 1, tzinfo=UTC)}
    client = EmbeddingServer(server.base_url, "m", dimensions=None, timeout=5, **waiting)
    client.slept = slept
    return client


def data(index, vector):
    """An answer whose first vector is this one."""
    return json.dumps({"data": [{"index": index, "embedding": vector}, {"index": 1, "embedding": [1]}]})


def refused(client, texts=("a", "b")):
    with pytest.raises(EmbeddingError) as error:
        client.embed(texts)
    assert KEY not in str(error.value)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_tokens_are_those_that_the_server_counts(server, client):
    """Over all answers; "def add" is four tokens with the special ones, "a" three. A failed request counts nothing."""
    server.fail({}, {"status": 500})
    client.embed(["def add", "a"])
    client.embed(["a"])
    assert client.usage == {"prompt_tokens": 10, "total_tokens": 10}


@pytest.mark.parametrize(
    ("given", "left"),
    [
        (None, []),
        ({}, []),
        ({"prompt_tokens": True, "total_tokens": "7"}, []),
        ({"total_tokens": -1}, []),
        ({"prompt_tokens": 2, "total_tokens": 2.5}, ["prompt_tokens"]),
    ],
)
def test_a_count_that_an_answer_lacks_is_left_out(server, client, given, left):
    """A sum over some of the requests would pass for all of them."""
    client.embed(["a"])
    server.fail({"usage": given})
    client.embed(["a"])
    client.embed(["a"])
    assert list(client.usage) == left


def test_the_order_is_that_of_the_index(server, client):
    """A server may answer in any order; `index` says which vector belongs to which text."""
    straight = client.embed(["a", "b", "c"]).vectors
    server.fail({"shuffle": True})
    assert np.array_equal(client.embed(["a", "b", "c"]).vectors, straight)


def test_a_busy_server_is_waited_for_as_long_as_it_asks(server, client):
    """429 and 503 with Retry-After, in seconds and as a date; without it half a second, then twice as long."""
    date = "Thu, 01 Jan 2026 00:00:07 GMT"
    server.fail(
        {"status": 429, "headers": {"Retry-After": "3"}},
        {"status": 503, "headers": {"Retry-After": date}},
        {"status": 500},
        {"status": 429, "headers": {"Retry-After": "soon"}},
    )
    assert client.embed(["a"]).vectors.shape == (1, 384)
    assert client.slept == [3, 7, 2, 4]


def test_waiting_really_passes_time(server):
    """With the real clock, the time asked for passes between two requests."""
    server.fail({"status": 429, "headers": {"Retry-After": "0.2"}})
    EmbeddingServer(server.base_url, "m", dimensions=None, timeout=5).embed(["a"])
    first, second = server.seen()
    assert second["at"] - first["at"] >= 0.2


def test_a_silent_server_is_a_timeout(server):
    """A request that is not answered in time is tried again, and ends in a sentence."""
    client = EmbeddingServer(server.base_url, "m", dimensions=None, timeout=0.1, sleep=lambda _: None)
    server.fail(*[{"silent": 5}] * 6)
    assert "failed 6 times, at last with: no whole answer within 0.1 seconds" in refused(client)


@pytest.mark.parametrize("begin", ["HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 200 OK\r\n\r\n"])
def test_a_server_that_never_ends_is_a_timeout(server, begin):
    """The time is that of the whole answer, its head included: a byte now and then is not enough."""
    client = EmbeddingServer(server.base_url, "m", dimensions=None, timeout=0.5, sleep=lambda _: None)
    server.fail({"trickle": begin})
    started = time.monotonic()
    assert client.embed(["a"]).vectors.shape == (1, 384)
    assert 0.5 <= time.monotonic() - started < 15  # the server goes on for 20
    assert len(server.seen()) == 2


@pytest.mark.parametrize("status", [400, 429])
def test_a_key_that_is_quoted_otherwise_is_not_shown(server, client, status):
    """In capitals, as part of an address, or in JSON: a server's words are shown without it."""
    server.fail(*[{"status": status, "quoting": True}] * 6)
    said = refused(client)
    assert said.count("[OPENAI_API_KEY]") == 3
    assert "quite" not in said.lower()


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"status": 500}, "failed 6 times, at last with: HTTP 500: 'told to fail, you sent Bearer [OPENAI_API_KEY]'"),
        ({"drop": True}, "failed 6 times"),
        ({"raw": "<html>"}, "not a JSON object: '<html>'"),
        ({"raw": "[" * 200_000}, "not a JSON object: '[[["),
    ],
)
def test_what_may_pass_is_tried_again_six_times(server, client, fault, message):
    """The next good answer counts; after six failures the last reason is given, without the key."""
    server.fail(fault, fault)
    assert client.embed(["a"]).vectors.shape == (1, 384)
    assert client.slept == [0.5, 1]
    client.slept.clear()
    server.seen()
    server.fail(*[fault] * 9)
    assert message in refused(client)
    assert len(server.seen()) == 6
    assert client.slept == [0.5, 1, 2, 4, 8]


def test_one_text_that_is_too_long_is_not_a_matter_of_batches(server, client):
    server.fail({"status": 413})
    assert "or shorten the texts" in refused(client, ["a"])


BATCHES = [
    (413, "batch size 2 > maximum allowed batch size 1", "refuses 2 texts in one request"),
    (413, "batch size 2 > maximum allowed batch size 1", "give the embedder batch=1"),
    (400, "batch size is invalid, it should not be larger than 1.: input", "give the embedder batch=1"),
    (413, "Request Entity Too Large", "give the embedder batch=N with N below 2"),
    (422, "input array too long", "give the embedder batch=N with N below 2"),
    (413, "", "give the embedder batch=N"),
    (400, "input has 9000 tokens, the model reads 1", "or shorten the texts"),
]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"status": 400}, "refuses model 'm' or a text (HTTP 400: 'told to fail, you sent Bearer [OPENAI_API_KEY]')"),
        ({"raw": " " * (4 * 2**20)}, "answers with more than 3,145,728 bytes"),
        ({"status": 429, "headers": {"Retry-After": "3600"}}, "asks to wait 3600 seconds"),
        ({"lose_one": True}, "gave 1 vectors for 2 texts"),
        ({"same_index": True}, "do not have an index each"),
        ({"short_row": True}, "383 dimensions where 384"),
        ({"raw": '{"data": "x"}'}, "its data"),
        *(({"raw": data(0, vector)}, "its data.0.embedding") for vector in ("AAAA", ["1"], [[1]])),
        ({"raw": data([1], [1])}, "its data.0.index"),
        ({"raw": '{"error": {"message": "quota exceeded"}}'}, "answers with an error (HTTP 200: 'quota exceeded')"),
        ({"status": 418, "bare": "no tea"}, "(HTTP 418: 'no tea')"),
        ({"raw": '{"error": "no money", "data": null}'}, "answers with an error (HTTP 200: 'no money')"),
        *(({"status": status, "words": words}, way) for status, words, way in BATCHES),
        ({"status": 307, "headers": {"Location": "http://127.0.0.1:9/"}}, "sends requests elsewhere (HTTP 307)"),
    ],
)
def test_what_is_wrong_is_reported_at_once(server, client, fault, message):
    """No retry where the next answer would be the same, or is an hour away."""
    server.fail(fault)
    assert message in refused(client)
    assert client.slept == []


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf"), 1e39])
def test_a_vector_without_direction_is_never_kept(server, tmp_path, value):
    """Zero, NaN and infinite vectors are an error that names the text; nothing of the batch is cached."""
    encoder = find_encoder(f"openai:m,base_url={server.base_url}", tmp_path)
    cache = VectorCache(tmp_path / "vectors")
    server.fail({"value": value})
    with pytest.raises(EmbeddingError, match="zero or non-finite vector for the text 'bad one'"):
        CachedEmbedder(encoder, cache).encode(["bad one", "b"], "document")
    assert CachedEmbedder(encoder, cache).pending({"document": ["bad one", "b"]}) == {"document": ["bad one", "b"]}
    cache.close()


def test_another_width_than_asked_for_is_refused(server):
    """`dimensions` is sent and checked; a model that changes its width in the middle is refused."""
    short = EmbeddingServer(server.base_url, "m", dimensions=8, timeout=5)
    assert short.embed(["a"]).vectors.shape == (1, 8)
    assert server.seen()[0]["dimensions"] == 8
    plain = EmbeddingServer(server.base_url, "m", dimensions=None, timeout=5)
    plain.embed(["a"])
    server.fail({"width": 16})
    assert "16 dimensions where 384" in refused(plain)


def test_a_refused_key_is_not_repeated(server, monkeypatch):
    """401 names the variable, not its value, whatever the server says."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-key-1")
    with pytest.raises(EmbeddingError) as error:
        EmbeddingServer(server.base_url, "m", dimensions=None, timeout=5).embed(["a"])
    assert "refuses the key in OPENAI_API_KEY (HTTP 401)" in str(error.value)
    assert "sk-wrong" not in str(error.value)
    monkeypatch.delenv("OPENAI_API_KEY")
    client = EmbeddingServer(server.base_url, "m", dimensions=None, timeout=5)
    assert "without a key; set OPENAI_API_KEY" in refused(client)


@pytest.mark.parametrize("key", ["two\nlines", "schlüssel", "a\x00b"])
def test_a_key_that_no_header_carries_is_not_repeated(server, monkeypatch, key):
    """The library would quote it in its complaint; here it never gets it."""
    # No process can have a zero byte in its environment, but a caller can.
    monkeypatch.setattr("os.environ", {"OPENAI_API_KEY": key})
    with pytest.raises(EmbeddingError) as error:
        EmbeddingServer(server.base_url, "m", dimensions=None, timeout=5).embed(["a"])
    assert "a header cannot carry" in str(error.value)
    assert key not in str(error.value)


def test_a_closed_port():
    """A refused connection is tried again and then reported."""
    client = EmbeddingServer("http://127.0.0.1:9/v1", "m", dimensions=None, timeout=1, sleep=lambda _: None)
    assert "ConnectError" in refused(client)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("openai", "names no model"),
        ("openai:m,api_key=sk-abc", "from OPENAI_API_KEY in the environment only"),
        ("openai:m,base_url=http://me:sk-abc@host/v1", "more than an address"),
        ("openai:m,base_url=http://host/v1?key", "more than an address"),
        ("openai:m,base_url=host/v1", "not an http or https"),
        ("openai:m,base_url=http://[::1/v1", "not an http or https"),
        ("openai:m,batch=0", "whole number from 1"),
        ("openai:m,dimension=8", "did you mean 'dimensions'"),
        ("hash:x", "is not key=value"),
        ("hsh", "did you mean 'hash'"),
        ("hash:dim=x", "whole number from 1"),
        (f"hash:seed={2**53 + 1}", r"whole number from 0 to 2\^53"),
    ],
)
def test_wrong_specs_are_refused_without_repeating_a_key(spec, message):
    """One sentence with the way out; what could be a key is not in it."""
    with pytest.raises(SpecError, match=message) as error:
        parse_embedder(spec)
    assert "sk-abc" not in str(error.value)


def test_the_address_is_part_of_what_a_vector_is(monkeypatch, tmp_path):
    """Two servers never share vectors; the environment's address counts as one that was written; how texts are sent does not."""
    assert server_address("") == "https://api.openai.com/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://a:1/v1/")
    named = find_encoder("openai:m", tmp_path)
    written = find_encoder("openai:m,base_url=http://a:1/v1,batch=7,timeout=9", tmp_path)
    other = find_encoder("openai:m,base_url=http://b:1/v1", tmp_path)
    assert named.spec == written.spec == "openai:m,base_url=http://a:1/v1"
    assert named.identity == written.identity != other.identity
    assert find_encoder("openai:m,dimensions=8", tmp_path).identity != named.identity
