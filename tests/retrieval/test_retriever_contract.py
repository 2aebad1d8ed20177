"""What holds for every retriever of the table: exclusion, ties, few chunks, empty queries, own chunks, one pool."""

import random

import numpy as np
import pytest

from repoeval_bench.core.run import Query
from repoeval_bench.retrieval.jaccard import JaccardRetriever
from repoeval_bench.retrieval.ranking import pooled
from repoeval_bench.retrieval.registry import RETRIEVERS, choose_retriever
from support.written import whole

SPECS = (
    *("dense", "bm25", "hybrid", "hybrid:fusion=sum", "jaccard", "rerank:overlap"),
    *("rerank:overlap,first=bm25,k_raw=3", "random", "oracle", "grep"),
)
MATCHES_ALONE = ("grep",)
"""Retrievers that list only the chunks that match, which may be none."""
SCORES_NO_TEXT = ("random", "rerank", "hybrid", "grep")
"""Retrievers whose score is not of a text alone, so that equal texts need not tie."""
WORDS = ["def", "return", "class", "self", "port", "line", "count", "total"]


class Letters:
    """An embedder whose vectors count letters."""

    spec, identity, max_tokens = "letters", {}, None

    def encode(self, texts, role):
        rows = np.array(
            [[text.count(c) for c in "abcdefghijklmnopqrstuvwxyz"] + [1] for text in texts], dtype=np.float64
        )
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def corpus(seed=0):
    rng = random.Random(seed)
    texts = {repo: [" ".join(rng.choices(WORDS, k=6)) for _ in range(8)] for repo in ("r", "s")}
    # Two files of the same text: every retriever that reads texts has to tie them.
    return {
        repo: tuple(whole(t, f"f{i}.py", repo) for i, t in enumerate([*held, held[0]])) for repo, held in texts.items()
    }


QUERIES = (Query("q", "r", "def total return"), Query("e", "r", ""), Query("s", "s", "count"), Query("n", "none", "x"))


def build(spec, chunks, own=None):
    ideal = {query.query_id: [] for query in QUERIES}
    return choose_retriever(spec).build(chunks, own, embedder=Letters(), ideal=lambda: ideal)


def test_every_retriever_is_tried_here():
    """A new row of the table belongs into this file's list; the cross-encoder has tests of its own."""
    named = {spec.partition(",")[0].replace(":fusion=sum", "") for spec in SPECS}
    assert named == {row.name for row in RETRIEVERS if not row.inner} | {"rerank:overlap"}


@pytest.mark.parametrize("spec", SPECS)
def test_rankings_are_complete_ordered_and_within_reach(spec):
    """Every query has a ranking: all it may see where k is larger, in the order of (score, id), nothing excluded."""
    chunks = corpus()
    excluded = {"q": frozenset({chunks["r"][0].chunk_id})}
    run = build(spec, chunks).search(QUERIES, 50, excluded)
    lengths = {name: len(ranking) for name, ranking in run.rankings.items()}
    assert lengths == {"q": 8, "e": 9, "s": 9, "n": 0} or (
        spec in MATCHES_ALONE and 0 == lengths["e"] < lengths["q"] <= 8
    )
    assert excluded["q"].isdisjoint(name for name, _ in run.rankings["q"])
    assert {name.partition("/")[0] for name, _ in run.rankings["s"]} == {"s"}
    for ranking in run.rankings.values():
        assert list(ranking) == sorted(ranking, key=lambda pair: (pair[1], pair[0]), reverse=True)
    top = build(spec, chunks).search(QUERIES, 3, excluded).rankings
    if not spec.startswith("rerank"):
        assert top["q"] == run.rankings["q"][:3]


@pytest.mark.parametrize("spec", [spec for spec in SPECS if not spec.startswith(SCORES_NO_TEXT)])
def test_equal_texts_tie_and_the_larger_id_comes_first(spec):
    """f0.py and f8.py hold one text: one score, and f8.py right in front."""
    ranking = build(spec, corpus()).search(QUERIES[:1], 50).rankings["q"]
    place = {name: i for i, (name, _) in enumerate(ranking)}
    first, second = (next(name for name in place if f"/f{i}.py" in name) for i in (8, 0))
    assert dict(ranking)[first] == dict(ranking)[second]
    assert place[first] < place[second]


@pytest.mark.parametrize("spec", SPECS)
def test_own_chunks_are_seen_by_their_query_alone(spec):
    own = {"q": (whole("def total return", "own.py", "r"),)}
    run = build(spec, corpus(), own).search(QUERIES, 50)
    assert own["q"][0].chunk_id in dict(run.rankings["q"])
    assert own["q"][0].chunk_id not in dict(run.rankings["e"])


@pytest.mark.parametrize("spec", SPECS)
def test_a_pool_answers_with_the_chunks_of_all_repositories(spec):
    chunks, queries = pooled(corpus(), QUERIES)
    gone = corpus()["s"][3].chunk_id
    run = build(spec, chunks).search(queries, 50, {"q": frozenset({gone})})
    assert gone not in dict(run.rankings["q"])
    if spec in MATCHES_ALONE:
        assert {name.partition("/")[0] for name, _ in run.rankings["q"]} == {"r", "s"}
        return
    assert len(dict(run.rankings["q"])) == len(run.rankings["q"]) == 17
    assert len(run.rankings["n"]) == 18


def test_bm25_weighs_terms_over_the_pool():
    chunks = {"r": (whole("port", "a.py", "r"), whole("line", "b.py", "r")), "s": (whole("port", "c.py", "s"),)}
    alone = dict(build("bm25", chunks).search([Query("q", "r", "port")], 9).rankings["q"])
    many, queries = pooled(chunks, [Query("q", "r", "port")])
    together = dict(build("bm25", many).search(queries, 9).rankings["q"])
    assert together[chunks["r"][0].chunk_id] < alone[chunks["r"][0].chunk_id]


@pytest.mark.parametrize("seed", range(5))
def test_jaccard_equals_the_sets_by_hand(seed):
    """Shared over united sets of tokens, for every chunk, tokens of the query that no chunk has counted too."""
    chunks = corpus(seed)
    words = "def def total unseen"
    scores = dict(JaccardRetriever(chunks, {}).search([Query("q", "r", words)], 99).rankings["q"])
    for chunk in chunks["r"]:
        q, c = set(words.split()), set(chunk.text.split())
        assert scores[chunk.chunk_id] == pytest.approx(len(q & c) / len(q | c), abs=1e-5)
