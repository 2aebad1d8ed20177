"""Two rankings fused: by ranks and by scores, each against the formula."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.run import Query, Run
from repoeval_bench.retrieval import hybrid
from repoeval_bench.retrieval.hybrid import HybridRetriever, min_max_sum, reciprocal_ranks
from repoeval_bench.retrieval.ranking import rank

DENSE = (("a", 0.9), ("b", 0.5), ("c", 0.1))
LEXICAL = (("c", 8.0), ("b", 4.0), ("a", 0.0))


class Fixed:
    """Answers every query with one ranking."""

    def __init__(self, ranking):
        self.ranking = ranking

    def search(self, queries, k, excluded=None):
        kept = {
            q.query_id: tuple(p for p in self.ranking if p[0] not in (excluded or {}).get(q.query_id, ()))
            for q in queries
        }
        return Run(
            tag="fixed",
            rankings={name: ranking[:k] for name, ranking in kept.items()},
            latency_ms=dict.fromkeys(kept, 1.5),
        )


def test_reciprocal_ranks_by_hand():
    """1 / (60 + rank) of both, halved, in thousandths; what shares no term has no lexical rank."""
    scores = reciprocal_ranks(DENSE, LEXICAL)
    assert scores["a"] == pytest.approx(500 / 61)
    assert scores["b"] == pytest.approx(500 / 62 + 500 / 62)
    assert scores["c"] == pytest.approx(500 / 63 + 500 / 61)


def test_min_max_by_hand():
    """Each ranking scaled to 0..1, and their mean."""
    assert min_max_sum(DENSE, LEXICAL) == pytest.approx({"a": 0.5, "b": 0.5, "c": 0.5})
    assert min_max_sum((("a", 0.9), ("b", 0.3)), (("b", 2.0),)) == {"a": 0.5, "b": 0.0}
    assert min_max_sum((("a", 0.3), ("b", 0.3)), ()) == {"a": 0.0, "b": 0.0}


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_one_ranking_fused_with_nothing_keeps_its_order(scores):
    """By ranks as by scores, ties included."""
    ranking = rank(((f"c{i:02}", score) for i, score in enumerate(scores)), 99)
    order = [name for name, _ in ranking]
    fused = rank(reciprocal_ranks(ranking, ()).items(), 99)
    assert [name for name, _ in fused] == order
    summed = dict(min_max_sum(ranking, ()))
    values = [summed[name] for name in order]
    assert values == sorted(values, reverse=True)


def test_deep_neighbours_do_not_tie():
    """At rank 900 of 1000 reciprocal ranks still differ by more than scores are rounded to."""
    ranking = tuple((f"c{i:04}", 1.0 - i / 1000) for i in range(1000))
    fused = rank(reciprocal_ranks(ranking, ()).items(), 1000)
    assert [name for name, _ in fused] == [name for name, _ in ranking]


def test_the_k_best_are_cut_after_the_fusion(monkeypatch):
    """A chunk that is low in both rankings can be first in neither's top k and still be found; latencies add up."""
    monkeypatch.setattr(hybrid, "DenseRetriever", lambda *_: Fixed(DENSE))
    monkeypatch.setattr(hybrid, "Bm25Retriever", lambda *_: Fixed(LEXICAL))
    retriever = HybridRetriever({}, {}, None)
    queries = [Query(f"q{i}", "r", "x") for i in range(130)]
    run = retriever.search(queries, 1, {"q7": frozenset({"c"})})
    assert run.rankings["q0"][0][0] == "c"
    assert run.rankings["q7"][0][0] == "b"
    assert set(run.rankings) == {query.query_id for query in queries}
    assert all(ms >= 3 for ms in run.latency_ms.values())
