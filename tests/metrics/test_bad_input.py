"""What cannot be scored is refused in one sentence that names the thing, the value and the way out."""

import math

import numpy as np
import pytest

from repoeval_bench.core.errors import MetricError, UsageError
from repoeval_bench.core.spans import LineSpan, Place
from repoeval_bench.metrics import (
    ChunkPlace,
    Context,
    Item,
    Measure,
    Passage,
    TokenF1Relevance,
    score_items,
    score_query,
    score_run,
)
from repoeval_bench.metrics.reading import read_lines
from support.cases import cases

CASES = cases(__file__)

NAN = math.nan


def sentence(error, call, *args, **kwargs):
    with pytest.raises(error) as caught:
        call(*args, **kwargs)
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(("text", "pieces"), CASES["measures"].items())
def test_a_measure_that_does_not_exist_is_refused(text, pieces):
    said = sentence(UsageError, Measure.parse, text)
    for piece in pieces:
        assert piece in said


@pytest.mark.parametrize(
    ("ranking", "fault"),
    [
        ([("a", 2.0), ("b", 1.0), ("a", 0.5)], "ranked twice"),
        ((("x", 1.0), ("x", 1.0)), "ranked twice"),
        *((ranking, "NaN") for ranking in ([("a", 2.0), ("b", NAN)], {"a": NAN, "b": 1.0}, {"a": 1.0, "b": NAN})),
    ],
)
def test_what_is_wrong_with_a_ranking_is_named_with_its_query(ranking, fault):
    """An id ranked twice would raise recall above 1; NaN, in pairs and in mappings, would leave the order to chance."""
    said = sentence(MetricError, score_run, {"q7": ranking}, {"q7": {"a": 1}})
    assert "'q7'" in said
    assert fault in said


def test_infinite_scores_are_ranked():
    ranking = {"a": -math.inf, "b": math.inf, "c": 0.0}
    assert score_query(ranking, {"b": 1}, ["mrr"])["mrr"] == 1.0
    assert score_query(ranking, {"a": 1}, ["mrr"])["mrr"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("gain", [-1, NAN, math.inf])
def test_gains_below_0_or_without_a_value_are_an_error(gain):
    said = sentence(MetricError, score_query, [("a", 1.0)], {"a": gain})
    assert f"{gain}" in said.lower()
    assert "'a'" in said


def test_qrels_without_a_query_are_an_error():
    """Nothing to score is not a score of 0."""
    assert "no query" in sentence(MetricError, score_run, {"q": []}, {})


def test_a_run_of_other_queries_is_an_error():
    """Each score would be 0; a run without a query is a system that retrieved nothing."""
    said = sentence(MetricError, score_run, {"1": {"a": 1.0}}, {"q1": {"a": 1}})
    assert "share no query: the run has '1', the qrels have 'q1'; name queries alike" in said
    assert score_run({}, {"q": {"a": 1}}, ["mrr"]).missing == 1


def test_queries_that_only_one_side_knows_are_counted():
    """A query the run lacks scores 0 and stays in the mean; one the qrels lack is not scored; both are counted."""
    scores = score_run({"a": [("x", 1.0)], "extra": [("x", 1.0)]}, {"a": {"x": 1}, "b": {"x": 1}, "c": {}}, ["mrr"])
    assert scores.values["mrr"].tolist() == [1.0, 0.0, 0.0]
    assert (scores.missing, scores.unjudged, scores.without_relevant) == (2, 1, 1)
    assert scores.mean() == {"mrr": pytest.approx(1 / 3)}


def test_a_measure_says_which_inputs_it_lacks():
    said = sentence(MetricError, score_run, {"q": []}, {"q": {}}, ["line_recall@1500"])
    assert "line_recall@1500 needs gold and line_nws and places" in said


@pytest.mark.parametrize(("measure", "piece"), CASES["inputs"].items())
def test_an_input_without_an_entry_is_named(measure, piece):
    context = Context(places={}, gold={}, line_nws={}, texts={}, vectors={}, subtopics={}, written={})
    if piece == "gold":
        context = Context(places={"a": ChunkPlace("f", LineSpan(0, 1))}, gold={}, line_nws={"f": [1]})
    said = sentence(MetricError, score_run, {"q": [("a", 1.0)]}, {"q": {"a": 1}}, [measure], context)
    assert f"{piece} has no entry for" in said


def test_lines_outside_a_file_are_an_error():
    gold, nws = (Place("f", LineSpan(0, 1)),), {"f": [1, 1]}
    beyond, other_file = ChunkPlace("f", LineSpan(1, 3)), ChunkPlace("g", LineSpan(0, 1))
    assert "pass the file's 2 lines" in sentence(MetricError, read_lines, [[beyond]], [gold], nws)
    assert "no file 'g'" in sentence(MetricError, read_lines, [[other_file]], [gold], nws)
    assert "no file 'g'" in sentence(MetricError, read_lines, [[]], [(*gold, Place("g", LineSpan(0, 1)))], nws)


def test_a_reading_has_no_budget_beyond_its_end():
    gold = (Place("f", LineSpan(0, 1)),)
    reading = read_lines([[ChunkPlace("f", LineSpan(0, 2))]], [gold], {"f": [5, 5]}, limit=5)
    with pytest.raises(ValueError, match="ended at 5"):
        reading.recall(6)


def test_vectors_with_nan_are_an_error():
    """A NaN in a vector would pass for a cosine of nothing."""
    context = Context(vectors={"a": np.array([NAN, 1.0]), "b": np.array([1.0, 1.0])})
    run = {"q": [("a", 2.0), ("b", 1.0)]}
    assert "not finite" in sentence(MetricError, score_run, run, {"q": {"a": 1}}, ["ild@2"], context)


def test_items_that_nothing_judges_are_an_error():
    """No ids, no rule, no expected text: the item is named. Two items of one id are refused as well."""
    assert "'q'" in sentence(MetricError, score_items, [Item("q")], {})
    assert "unique" in sentence(MetricError, score_items, [Item("q", "x"), Item("q", "x")], {})
    bad = Item("q", metadata={"relevantIds": "a"})
    assert "give a list of ids" in sentence(MetricError, score_items, [bad], {"q": [Passage("a")]})
    assert "threshold is 0" in sentence(MetricError, TokenF1Relevance, 0)
