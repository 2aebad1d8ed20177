"""Reranking: by shared tokens, and by a tiny cross-encoder whose weights are random."""

import numpy as np
import pytest

from repoeval_bench.core.errors import EmbeddingError
from repoeval_bench.core.run import Query
from repoeval_bench.embedding.cross_encoder import CachedScorer, find_cross_encoder
from repoeval_bench.embedding.models import locate
from repoeval_bench.embedding.storage import VectorCache
from repoeval_bench.retrieval.bm25 import Bm25Retriever
from repoeval_bench.retrieval.rerank import OverlapScorer, RerankRetriever
from support.models import tiny_cross_encoder
from support.written import corpus

TEXTS = ("def x(line): return line", "class x: port = x", "return line", "x = (port) " * 40, "self", "port")
QUERY = "def x ( line ) : return port"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_cross_encoder(tmp_path_factory.mktemp("cross-encoder"))


def bm25(chunks):
    return Bm25Retriever(chunks, {})


def reranked(chunks, scorer, k_raw):
    return RerankRetriever(chunks, {}, None, dict, None, scorer, k_raw=k_raw, first="bm25")


def test_overlap_is_dices_coefficient_with_repeats():
    """Twice the shared tokens over all tokens; a repeat is shared as often as both have it."""
    assert OverlapScorer().score("a a b", ["a a a", "b", "", "c"]) == pytest.approx([4 / 6, 2 / 4, 0, 0])
    assert OverlapScorer().score("", ["", "a"]) == [0, 0]


def test_what_is_not_ranked_again_stays_behind_in_its_order():
    """The two best of the first stage change places; the others follow as they were, and no score ties."""
    chunks = corpus(TEXTS)
    raw = bm25(chunks).search([Query("q", "r", QUERY)], 9).rankings["q"]

    class Reverse:
        pairs = (0, 0)
        n_cached = 0

        def score(self, query, texts):
            return [float(i) for i in range(len(texts))]

    run = reranked(chunks, Reverse(), 2).search([Query("q", "r", QUERY)], 9)
    ids = [name for name, _ in raw]
    assert [name for name, _ in run.rankings["q"]] == [ids[1], ids[0], *ids[2:]]
    scores = [score for _, score in run.rankings["q"]]
    assert scores == sorted(set(scores), reverse=True)
    assert run.rerank_ms.keys() == run.latency_ms.keys() == {"q"}


def test_candidates_are_taken_from_the_first_stage_whatever_k_is():
    chunks = corpus(TEXTS)
    scorer = OverlapScorer()
    run = reranked(chunks, scorer, 4).search([Query("q", "r", QUERY)], 1)
    raw = [name for name, _ in bm25(chunks).search([Query("q", "r", QUERY)], 4).rankings["q"]]
    text = {chunk.chunk_id: chunk.text for chunk in chunks["r"]}
    scores = dict(zip(raw, scorer.score(QUERY, [text[name] for name in raw]), strict=True))
    assert run.rankings["q"][0][0] == max(scores, key=scores.get)


@pytest.mark.slow
def test_scores_are_the_librarys_logits(folder):
    """Our batches give what CrossEncoder.predict gives before its sigmoid, to 1e-5; cut pairs are counted."""
    scorer = find_cross_encoder(f"st:{folder}")
    import torch
    from sentence_transformers import CrossEncoder

    library = CrossEncoder(str(folder), device="cpu", activation_fn=torch.nn.Identity())
    expected = library.predict([(QUERY, text) for text in TEXTS])
    assert np.ptp(expected) > 0.1
    scores, tokens = zip(*scorer.score(QUERY, TEXTS), strict=True)
    assert scores == pytest.approx(expected.tolist(), abs=1e-5)
    assert [count > scorer.max_tokens for count in tokens] == [False, False, False, True, False, False]


def test_a_pairs_score_depends_on_the_pair_alone(folder):
    """Alone, among others or in another order a pair has the same score, bit for bit."""
    scorer = find_cross_encoder(f"st:{folder}")
    together = scorer.score(QUERY, TEXTS)
    assert scorer.score(QUERY, TEXTS[::-1]) == together[::-1]
    assert [scorer.score(QUERY, [text])[0] for text in TEXTS] == together
    assert scorer.score(QUERY, []) == []


class Counting:
    """A scorer that tells what it is asked for: a real function of the pair, for tests of what is around one."""

    max_tokens = 4

    def __init__(self, **identity):
        self.identity = {"model": "fake", **identity}
        self.scored = []

    def score(self, query, texts):
        self.scored += [(query, text) for text in texts]
        return [(np.float32(len(query) / (1 + len(text))).item(), len((query + text).split())) for text in texts]


@pytest.fixture
def cache(tmp_path):
    opened = VectorCache(tmp_path / "vectors")
    yield opened
    opened.close()


def test_each_distinct_pair_is_scored_once(cache):
    """Scores are read back bit for bit, in the order of the texts; pairs and cut ones are counted as if all were read."""
    texts = ["a", "a b c d e", "a", ""]
    inner = Counting()
    first = CachedScorer(inner, cache)
    scores = first.score("q", texts)
    assert inner.scored == [("q", "a"), ("q", "a b c d e"), ("q", "")]
    assert scores == [score for score, _ in Counting().score("q", texts)]
    again = CachedScorer(inner, cache)
    assert again.score("q", texts[::-1]) == scores[::-1]
    assert again.pairs == first.pairs == (4, 1)
    assert (len(inner.scored), first.n_cached, again.n_cached) == (3, 0, 4)


def test_query_text_and_identity_are_in_the_key(cache):
    """A pair the other way round, texts that join to the same, or another precision never reads this one's score."""
    for inner in (Counting(precision="fp32"), Counting(precision="bf16")):
        scorer = CachedScorer(inner, cache)
        for query, text in (("ab", "c"), ("a", "bc"), ("c", "ab"), ("\ud800", "\udfff")):
            scorer.score(query, [text])
        assert len(inner.scored) == 4


def test_a_query_whose_scores_were_at_hand_has_no_time(cache):
    """What reading the pairs takes is not known then, of that query alone."""
    chunks = corpus(TEXTS)
    for queries, timed in ((["q"], {"q"}), (["q", "p"], {"p"}), (["q", "p"], set())):
        given_queries = [Query(name, "r", f"{QUERY} {name}") for name in queries]
        retriever = reranked(chunks, CachedScorer(Counting(), cache), 3)
        run = retriever.search(given_queries, 9)
        assert run.rerank_ms.keys() == timed
        assert run.latency_ms.keys() == set(queries)
        assert run.pairs[0] == 3 * len(queries)


def test_identity_names_weights_and_length(folder, tmp_path):
    mine = find_cross_encoder(f"st:{folder}").identity
    assert mine["precision"] == "fp32"
    assert mine["max_length"] == 64
    assert find_cross_encoder(f"st:{folder},max_length=32").identity != mine
    other = find_cross_encoder(f"st:{tiny_cross_encoder(tmp_path, seed=1)}").identity
    assert other["weights_sha256"] != mine["weights_sha256"]


def test_what_scores_no_pairs_is_refused(tmp_path):
    """An embedding model has no head for pairs, and a classifier of three classes no one score."""
    with pytest.raises(EmbeddingError, match="is not a cross-encoder"):
        find_cross_encoder(f"st:{locate('minilm').folder}")
    three = find_cross_encoder(f"st:{tiny_cross_encoder(tmp_path, outputs=3)}")
    with pytest.raises(EmbeddingError, match="gives 3 values"):
        three.score("a", ["b"])
