"""Reranking: by shared tokens, and by a tiny cross-encoder whose weights are random."""

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder

from repoeval_bench.embedding.cross_encoder import find_cross_encoder
from repoeval_bench.embedding.models import locate
from repoeval_bench.errors import EmbeddingError
from repoeval_bench.retrieval.bm25 import Bm25Retriever
from repoeval_bench.retrieval.rerank import OverlapScorer, RerankRetriever
from repoeval_bench.types import CharSpan, Chunk, Query, SourceFile
from support.models import tiny_cross_encoder

TEXTS = ("def x(line): return line", "class x: port = x", "return line", "x = (port) " * 40, "self", "port")
QUERY = "def x ( line ) : return port"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_cross_encoder(tmp_path_factory.mktemp("cross-encoder"))


def chunks(texts=TEXTS):
    files = [SourceFile("r", f"f{i}.py", text) for i, text in enumerate(texts)]
    return {"r": tuple(Chunk.cut(file, CharSpan(0, len(file.text))) for file in files)}


def bm25(corpus):
    return Bm25Retriever(corpus, {}, k1=1.2, b=0.75, tokenizer="words")


def test_overlap_is_dices_coefficient_with_repeats():
    """Twice the shared tokens over all tokens; a repeat is shared as often as both have it."""
    assert OverlapScorer("words").score("a a b", ["a a a", "b", "", "c"]) == pytest.approx([4 / 6, 2 / 4, 0, 0])
    assert OverlapScorer("words").score("", ["", "a"]) == [0, 0]


def test_what_is_not_ranked_again_stays_behind_in_its_order():
    """The two best of the first stage change places; the others follow as they were, and no score ties."""
    corpus = chunks()
    raw = bm25(corpus).search([Query("q", "r", QUERY)], 9).rankings["q"]

    class Reverse:
        pairs = (0, 0)

        def score(self, query, texts):
            return [float(i) for i in range(len(texts))]

    run = RerankRetriever(bm25(corpus), Reverse(), corpus, {}, 2).search([Query("q", "r", QUERY)], 9)
    ids = [name for name, _ in raw]
    assert [name for name, _ in run.rankings["q"]] == [ids[1], ids[0], *ids[2:]]
    scores = [score for _, score in run.rankings["q"]]
    assert scores == sorted(set(scores), reverse=True)
    assert run.rerank_ms.keys() == run.latency_ms.keys() == {"q"}


def test_candidates_are_taken_from_the_first_stage_whatever_k_is():
    """With k = 1 the best of k_raw candidates is returned, not the first stage's best."""
    corpus = chunks()
    scorer = OverlapScorer("words")
    run = RerankRetriever(bm25(corpus), scorer, corpus, {}, 4).search([Query("q", "r", QUERY)], 1)
    raw = [name for name, _ in bm25(corpus).search([Query("q", "r", QUERY)], 4).rankings["q"]]
    text = {chunk.chunk_id: chunk.text for chunk in corpus["r"]}
    scores = dict(zip(raw, scorer.score(QUERY, [text[name] for name in raw]), strict=True))
    assert run.rankings["q"][0][0] == max(scores, key=scores.get)


def test_scores_are_the_librarys_logits(folder):
    """Our batches give what CrossEncoder.predict gives before its sigmoid, to 1e-5; cut pairs are counted."""
    scorer = find_cross_encoder(f"st:{folder}")
    library = CrossEncoder(str(folder), device="cpu", activation_fn=torch.nn.Identity())
    expected = library.predict([(QUERY, text) for text in TEXTS])
    assert np.ptp(expected) > 0.1
    assert scorer.score(QUERY, TEXTS) == pytest.approx(expected.tolist(), abs=1e-5)
    assert scorer.pairs == (len(TEXTS), 1)


def test_a_pairs_score_depends_on_the_pair_alone(folder):
    """Alone, among others or in another order a pair has the same score, bit for bit; surrogates are read."""
    scorer = find_cross_encoder(f"st:{folder}")
    together = scorer.score(QUERY, TEXTS)
    assert scorer.score(QUERY, TEXTS[::-1]) == together[::-1]
    assert [scorer.score(QUERY, [text])[0] for text in TEXTS] == together
    assert scorer.score("\ud800", ["\udfff"]) == scorer.score("\ufffd", ["\ufffd"])
    assert scorer.score(QUERY, []) == []


def test_identity_names_weights_and_length(folder, tmp_path):
    """Other weights or another length are another identity; the precision is stated."""
    mine = find_cross_encoder(f"st:{folder}").identity
    assert mine["precision"] == "fp32"
    assert mine["max_length"] == 64
    assert find_cross_encoder(f"st:{folder},max_length=32").identity != mine
    other = find_cross_encoder(f"st:{tiny_cross_encoder(tmp_path, seed=1)}").identity
    assert other["weights_sha256"] != mine["weights_sha256"]


def test_what_scores_no_pairs_is_refused(tmp_path):
    """An embedding model has no head for pairs, and a classifier of three classes no one score."""
    with pytest.raises(EmbeddingError, match="is no cross-encoder"):
        find_cross_encoder(f"st:{locate('minilm').folder}")
    three = find_cross_encoder(f"st:{tiny_cross_encoder(tmp_path, outputs=3)}")
    with pytest.raises(EmbeddingError, match="gives 3 values"):
        three.score("a", ["b"])
