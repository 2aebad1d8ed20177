"""The requests to embedding servers: several requests at a time, prefixes, and long texts cut."""

import numpy as np
import pytest

from repoeval_bench.core.errors import CacheError, EmbeddingError, SpecError, UsageError
from repoeval_bench.embedding.cache import CachedEmbedder
from repoeval_bench.embedding.choice import choose_embedder, find_encoder
from repoeval_bench.embedding.housekeeping import verify
from repoeval_bench.embedding.models import locate
from repoeval_bench.embedding.storage import VectorCache
from repoeval_bench.embedding.tokens import Tokens
from repoeval_bench.runs.parts import make_embedder
from support.embedding_server import MINILM

TEXTS = [f"def name_{i}(a, b):\n    return a + {i} * b\n" for i in range(24)]
LONG = "def long(first, second):\n" + "".join(f"    first += second[{i}]\n" for i in range(16))


pytestmark = pytest.mark.usefixtures("no_faults")


@pytest.fixture
def embedder(server, tmp_path):
    """Makes embedders that share a cache."""
    cache = VectorCache(tmp_path / "vectors")

    def make(options="", model="m", spec=None):
        text = spec or f"openai:{model},base_url={server.base_url},batch=2{options}"
        resolved, policies = choose_embedder(text)
        return CachedEmbedder(find_encoder(str(resolved), tmp_path), cache, policies)

    yield make
    cache.close()


@pytest.fixture(scope="module")
def tokenizer():
    return str(locate("minilm").tokenizer)


def sent(server):
    return [text for sent_text in server.seen() for text in sent_text["input"]]


def test_requests_are_under_way_at_a_time_as_many_as_are_allowed(server, embedder, tmp_path):
    """Three at once, never more; answers that come in another order give the vectors of one request at a time."""
    server.fail(*[{"wait": 0.3 if i % 3 == 0 else 0.1} for i in range(12)])
    at_once = embedder(",concurrency=3").encode(TEXTS, "document")
    assert server.most_at_once == 3
    assert len(server.seen()) == 12
    other = VectorCache(tmp_path / "other")
    alone = CachedEmbedder(embedder(",concurrency=1").encoder, other).encode(TEXTS, "document")
    assert server.most_at_once == 1
    assert np.array_equal(at_once, alone)
    other.close()


def test_a_request_that_fails_ends_the_others_when_they_are_answered(server, embedder):
    """Answers are kept; the same texts again are sent only where no vector is there."""
    server.fail({"wait": 0.2}, {"status": 400}, {"wait": 0.2}, {"wait": 0.1})
    encoder = embedder(",concurrency=4")
    with pytest.raises(EmbeddingError, match="HTTP 400"):
        encoder.encode(TEXTS, "document")
    first = server.seen()
    assert len(first) <= 5
    missing = encoder.pending({"document": TEXTS})["document"]
    assert 24 - 2 * len(first) < len(missing) < 24
    encoder.encode(TEXTS, "document")
    assert sorted(sent(server)) == sorted(missing)


def test_faults_are_tried_again_side_by_side(server, embedder):
    """Dropped connections and busy answers of one request do not hold the others."""
    server.fail({"drop": True}, {"status": 429, "headers": {"Retry-After": "0.1"}})
    assert embedder(",concurrency=4").encode(TEXTS, "document").shape == (24, 384)


def test_queries_and_chunks_have_prefixes_and_types_of_their_own(server, embedder):
    """The server gets them; a text has a vector for each role; the spec and the identity name them."""
    options = ",query_prefix=find%2C please:%20,query_input_type=query,document_input_type=passage"
    encoder = embedder(options)
    query, document = (encoder.encode(["a b"], role) for role in ("query", "document"))
    first, second = server.seen()
    assert (first["input"], first["input_type"]) == (["find, please: a b"], "query")
    assert (second["input"], second["input_type"]) == (["a b"], "passage")
    assert not np.array_equal(query, document)
    assert encoder.spec.endswith("query_prefix=find%2C please:%20,query_input_type=query,document_input_type=passage")
    assert encoder.identity["query_input_type"] == "query"
    plain = embedder()
    assert plain.identity.keys().isdisjoint(encoder.identity.keys() - plain.identity.keys())
    plain.encode(["a b"], "document")
    assert server.seen()[0].keys().isdisjoint({"input_type"})


def test_a_server_that_is_told_types_alone_has_a_vector_for_each_role(server, embedder):
    """The same text with another type is another text."""
    encoder = embedder(",query_input_type=query,document_input_type=document")
    encoder.ensure({"query": ["a"], "document": ["a"]})
    assert sorted(text["input_type"] for text in server.seen()) == ["document", "query"]


@pytest.mark.parametrize("policy", ["tail", "mean"])
def test_long_texts_are_cut_by_the_servers_tokenizer_as_local_ones_are(server, embedder, tokenizer, policy):
    """Nothing longer than 32 tokens is sent; the vectors are those of the local model with that limit."""
    policies = f",long_queries={policy},long_chunks={policy}"
    encoder = embedder(f",tokenizer={tokenizer},max_tokens=32{policies}", MINILM)
    local = embedder(spec=f"minilm:max_length=32,precision=fp32{policies}")
    texts = [LONG, "def short(): pass", "", "class \u03a9: pass", LONG.replace("first", "zeroth")]
    there = encoder.encode(texts, "document")
    pieces = sent(server)
    assert max(Tokens.of(tokenizer).count(pieces)) <= 32
    assert all(any(piece in text for text in texts) for piece in pieces)
    here = local.encode(texts, "document")
    assert np.einsum("ij,ij->i", there, here) == pytest.approx(np.ones(len(here)), abs=1e-4)
    assert encoder.read_chars(texts, "document") == local.read_chars(texts, "document")
    assert encoder.count_tokens(texts, "query") == local.count_tokens(texts, "query")


def test_a_lone_surrogate_is_sent_as_replacement_characters(server, embedder):
    embedder().encode(["lone \ud800"], "document")
    assert {*sent(server)[0].removeprefix("lone ")} == {"\ufffd"}


def test_a_prefix_counts_among_the_tokens_that_are_read(server, embedder, tokenizer):
    """With it a text is within the limit, or cut so that it is."""
    encoder = embedder(f",tokenizer={tokenizer},max_tokens=16,document_prefix=represent this code:%20", MINILM)
    encoder.encode([LONG], "document")
    (text,) = sent(server)
    assert text.startswith("represent this code: def long")
    assert Tokens.of(tokenizer).count([text]) == [16]


def test_texts_that_may_be_too_long_are_refused_before_the_first_request(server, embedder):
    """Without a tokenizer nothing can be cut: the sentence counts them in both roles and says what to give."""
    encoder = embedder(",max_tokens=200")
    says = r"1 of 25 texts may be longer than the 200 tokens that m reads.*tokenizer="
    with pytest.raises(EmbeddingError, match=says):
        encoder.ensure({"query": TEXTS, "document": [LONG]})
    assert server.seen() == []
    encoder.ensure({"query": TEXTS, "document": []})
    assert len(sent(server)) == 24


def test_texts_that_are_cached_are_refused_as_others_are(embedder):
    """The answer does not depend on what was embedded before."""
    embedder().ensure({"query": TEXTS, "document": [LONG]})
    with pytest.raises(EmbeddingError, match="1 of 25 texts may be longer than the 200 tokens"):
        embedder(",max_tokens=200").pending({"query": TEXTS, "document": [LONG]})


def test_a_changed_model_is_seen(server, embedder, tmp_path):
    """Its vectors are never mixed with those of the older one, which `cache verify --delete` removes."""
    embedder().encode(TEXTS[:4], "document")
    server.fail(*[{"width": 8}] * 20)
    with pytest.raises(CacheError, match="vectors of different lengths for one model; run repoeval-bench cache verify"):
        embedder().encode(TEXTS, "document")
    assert verify(tmp_path / "vectors", delete=True).removed == 4


def test_a_policy_needs_a_tokenizer(tmp_path):
    """Without one, a server is given every text whole."""
    with pytest.raises(UsageError, match="policy for long texts changes nothing"):
        make_embedder("openai:m,long_chunks=tail", home=tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("tokenizer=/nowhere", "tokenizer /nowhere is neither a tokenizer.json nor a folder with one"),
        ("concurrency=0", "concurrency=0 is not possible; a number of 1 or more"),
        ("query_prefx=x", "did you mean 'query_prefix'"),
    ],
)
def test_options_that_make_no_sense_are_refused(tmp_path, options, message):
    with pytest.raises(SpecError, match=message):
        find_encoder(f"openai:m,{options}", tmp_path)


def test_a_broken_tokenizer_is_one_sentence(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(SpecError, match=r"tokenizer\.json is not a tokenizer \("):
        find_encoder(f"openai:m,tokenizer={tmp_path}", tmp_path)
