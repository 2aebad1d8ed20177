"""Who says what is relevant, and that the result tells it."""

from collections import Counter

import pytest

from repoeval_bench.core.terms import dice, jaccard
from repoeval_bench.metrics import (
    ExplicitRelevance,
    Item,
    Passage,
    RuleRelevance,
    TokenF1Relevance,
    score_items,
    score_run,
)
from repoeval_bench.metrics.relevance import judge_item

FOUND = [Passage("c1", "alpha beta gamma", "doc1"), Passage("c2", "delta", "doc2"), Passage("c3", "alpha", "doc1")]
ALL = (ExplicitRelevance({"given": {"c2": 2}}), RuleRelevance(lambda item, passage: "alpha" in passage.text))


DOCUMENTS = {"relevantIds": ["doc1", "c2", "gone"]}
JUDGED = {
    "qrels before an item's metadata": (Item("given", metadata={"relevantChunkIds": ["c1"]}), {"c2": 2}, "qrels"),
    "metadata before a rule": (Item("other", metadata={"relevantChunkIds": ["c1"]}), {"c1": 1.0}, "qrels"),
    "a rule": (Item("third"), {"c1": 1.0, "c3": 1.0}, "rule"),
    "gains, also of what was not retrieved": (
        *(Item("q", metadata={"relevantChunkIds": {"c1": 2, "gone": 1}}), {"c1": 2.0, "gone": 1.0}, "qrels"),
    ),
    "each chunk of a document": (
        *(Item("q", metadata=DOCUMENTS), {"c1": 1.0, "c2": 1.0, "c3": 1.0, "gone": 1.0}, "qrels", False),
    ),
    "an empty list says that nothing is": (Item("q", "alpha", {"relevantIds": []}), {}, "qrels"),
    "no list says nothing": (Item("q", "alpha", {"relevantIds": None}), {"c1": 1.0, "c3": 1.0}, "rule"),
}


@pytest.mark.parametrize("case", JUDGED)
def test_what_is_relevant(case):
    """Whether these are all is known where ids of chunks are named, and where the corpus is given."""
    item, gains, strategy, *complete = JUDGED[case]
    verdict = judge_item(item, FOUND, ALL)
    assert (verdict.gains, verdict.strategy) == (gains, strategy)
    assert verdict.complete == (complete == [] and strategy == "qrels")


def test_with_the_corpus_a_document_means_its_chunks_that_were_not_retrieved_too():
    verdict = judge_item(Item("q", metadata=DOCUMENTS), FOUND, ALL, [*FOUND, Passage("c4", "", "doc1")])
    assert (set(verdict.gains), verdict.complete) == ({"c1", "c2", "c3", "c4", "gone"}, True)


def test_a_rule_judges_the_corpus_where_it_is_given():
    rule = (RuleRelevance(lambda item, passage: passage.text.startswith(item.query_id)),)
    corpus = [Passage("x", "q one"), Passage("y", "q two"), Passage("z", "other")]
    assert judge_item(Item("q"), corpus[:1], rule).gains == {"x": 1.0}
    assert not judge_item(Item("q"), corpus[:1], rule).complete
    whole = judge_item(Item("q"), corpus[:1], rule, corpus)
    assert (whole.gains, whole.complete) == ({"x": 1.0, "y": 1.0}, True)


def test_token_f1_is_over_multisets_of_lower_cased_words():
    """Repeated words count as often as both texts have them; nothing shared is 0."""
    verdict = judge_item(Item("q", "a b b"), [Passage("c", "a A b"), Passage("d", "A")], (TokenF1Relevance(0.66),))
    assert verdict.gains == {"c": 1.0}
    assert dice(Counter("aab"), Counter("abb")) == pytest.approx(2 / 3)
    assert dice(Counter("x"), Counter("xxx")) == pytest.approx(0.5)
    assert dice(Counter("x"), Counter("y")) == dice(Counter(), Counter()) == 0.0
    assert jaccard(frozenset(), frozenset()) == 0.0


def test_token_f1_takes_the_threshold():
    item = Item("q", "alpha")
    assert judge_item(item, FOUND, (TokenF1Relevance(0.5),)).gains == {"c1": 1.0, "c3": 1.0}
    assert judge_item(item, FOUND, (TokenF1Relevance(0.51),)).gains == {"c3": 1.0}


def test_token_f1_says_that_recall_and_idcg_are_under_estimated():
    """The result warns that only what was retrieved was judged, with the number of such queries and the threshold."""
    scores = score_items([Item("q", "alpha"), Item("r", metadata={"relevantIds": ["c9"]})], {"q": FOUND, "r": FOUND})
    assert scores.values["recall@10"].tolist() == [1.0, 0.0]
    summary = scores.summary()
    assert summary["strategy_used"] == "mixed"
    assert summary["strategy_counts"] == {"token-f1": 1, "qrels": 1}
    assert summary["threshold"] == 0.3
    assert "1 of 2 queries" in summary["caution"]
    assert "under-estimated" in summary["caution"]


def test_every_aggregate_reports_how_it_was_judged():
    """Scores from qrels name them too, with queries with a relevant chunk, total and k, and no caution."""
    summary = score_run({"q": [("a", 1.0)]}, {"q": {"a": 1}, "r": {}}, ["ndcg@5", "recall@20"]).summary()
    assert summary["strategy_used"] == "qrels"
    assert summary["strategy_counts"] == {"qrels": 2}
    assert (summary["queries"], summary["queries_with_relevant"], summary["k"]) == (2, 1, 20)
    assert summary["threshold"] is None
    assert summary["caution"] == ""


def test_one_strategy_is_named_by_itself():
    scores = score_items(
        [Item("q"), Item("r")], {"q": FOUND}, ["mrr"], strategies=(*ALL, TokenF1Relevance()), corpus=FOUND
    )
    assert (scores.strategy_used, scores.threshold, scores.partly_judged) == ("rule", None, 0)
    assert scores.values["mrr"].tolist() == [1.0, 0.0]
    assert scores.missing == 1
