"""Long texts by policy, on a model whose tokens are words and whose vectors count letters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.errors import SpecError
from repoeval_bench.embedding.cache import CachedEmbedder
from repoeval_bench.embedding.choice import choose_embedder
from repoeval_bench.embedding.registry import Limit
from repoeval_bench.embedding.storage import VectorCache

LIMIT = 6  # two of them special


class Words:
    """Reads four words; a vector is the direction of the counts of a, b, c among them."""

    spec, identity = "toy", {"model": "toy"}

    def __init__(self):
        self.limit = Limit(LIMIT, self.token_starts)
        self.seen = []

    def prompt(self, role):
        return ""

    def count_tokens(self, texts, role):
        return [len(text.split()) + 2 for text in texts]

    def token_starts(self, text):
        return [i for i, char in enumerate(text) if not char.isspace() and (i == 0 or text[i - 1].isspace())]

    def encode_batches(self, texts, role, tokens):
        self.seen.extend(texts)
        rows = np.array([[text.split()[:4].count(c) + 1e-3 for c in "abc"] for text in texts], dtype=np.float64)
        yield list(range(len(texts))), (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def make(tmp_path):
    """(the encoder, an embedder with these policies); each starts with an empty cache."""
    caches = []

    def call(query="head", document="head"):
        caches.append(VectorCache(tmp_path / str(len(caches))))
        encoder = Words()
        return encoder, CachedEmbedder(encoder, caches[-1], {"query": query, "document": document})

    yield call
    for cache in caches:
        cache.close()


def test_the_mean_is_over_windows_that_cover_every_word(make):
    """Seven words are two windows, four and three; the vector is their mean, of unit length."""
    encoder, mean = make(document="mean")
    (vector,) = mean.encode(["a a a a c c c"], "document")
    assert encoder.seen == ["a a a a ", "c c c"]
    assert vector[0] == pytest.approx(vector[2], abs=1e-3)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)
    assert not mean.truncates("document")
    assert mean.truncates("query")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    cache = VectorCache(tmp_path_factory.mktemp("vectors"))
    yield cache
    cache.close()


@given(st.lists(st.sampled_from(["a", "bb", "ccc", "\n", "  "]), max_size=40), st.sampled_from(["tail", "mean"]))
def test_no_part_is_longer_than_the_model_reads_and_no_word_is_lost(cache, pieces, policy):
    """Windows put together are the text; a tail is its end; nothing exceeds the limit."""
    text = " ".join(pieces)
    long = CachedEmbedder(Words(), cache, {"query": policy, "document": "head"})
    (parts,) = long.parts([text], "query")
    assert all(count <= LIMIT for count in long.count_tokens(parts, "query"))
    if policy == "mean":
        assert [word for part in parts for word in part.split()] == text.split()
    else:
        assert text.endswith(parts[0])
        assert len(parts[0].split()) == min(4, len(text.split()))


def test_roles_have_policies_of_their_own_and_the_spec_names_them(make):
    """The head of a query, the tail of a chunk; what is not the default is in spec and identity."""
    encoder, both = make(document="tail")
    assert both.spec == "toy:long_chunks=tail"
    assert both.identity == {"model": "toy", "long_chunks": "tail"}
    both.encode(["a a a a b b"], "query")
    assert encoder.seen == ["a a a a b b"]
    assert both.pending({"document": ["a a a a b b"]}) == {"document": ["a a b b"]}


def test_specs_are_split():
    """The policies leave the spec; an unknown one is refused with the known."""
    spec, policies = choose_embedder("st:m,long_chunks=mean,device=cpu")
    assert (str(spec), policies) == ("st:m,device=cpu", {"query": "head", "document": "mean"})
    with pytest.raises(SpecError, match="did you mean 'tail'"):
        choose_embedder("minilm:long_queries=tial")
