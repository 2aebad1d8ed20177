"""Runs and judgements in the shapes that people have are read; any other shape is refused in one sentence."""

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repoeval_bench.core.errors import BenchError, MetricError, UsageError
from repoeval_bench.metrics import Context, Item, numbered, score_items, score_query, score_run
from repoeval_bench.runs.trec import read_qrels, read_run

RUN = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"b": 3.0}}
QRELS = {"q1": {"b": 1, "c": 0}, "q2": {"b": 2}}
ROWS = [(q, d, s) for q, scores in RUN.items() for d, s in scores.items()]
GRADES = [(q, d, g) for q, gains in QRELS.items() for d, g in gains.items()]
EXPECTED = {"mrr": 0.75, "ndcg@10": pytest.approx((1 / math.log2(3) + 1) / 2)}


class Scored(NamedTuple):
    query_id: Any
    doc_id: Any
    score: Any


def frame(library, rows, *columns):
    module = pytest.importorskip(library)
    return module.DataFrame(dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True)))


def files(folder):
    run, qrels = folder / "a.run", folder / "a.qrels"
    run.write_text("".join(f"{q} Q0 {d} 1 {s} t\n" for q, d, s in ROWS))
    qrels.write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in GRADES))
    return run, qrels


SHAPES = {
    "mappings": lambda _: (RUN, QRELS),
    "pairs": lambda _: ({q: list(scores.items()) for q, scores in RUN.items()}, QRELS),
    "items": lambda _: ({q: scores.items() for q, scores in RUN.items()}, QRELS),
    "iterators": lambda _: ({q: zip(scores, scores.values(), strict=True) for q, scores in RUN.items()}, QRELS),
    "lists of two": lambda _: ({q: [[d, s] for d, s in scores.items()] for q, scores in RUN.items()}, QRELS),
    "numpy numbers": lambda _: (
        {q: {d: np.float32(s) for d, s in scores.items()} for q, scores in RUN.items()},
        {q: {d: np.int64(g) for d, g in gains.items()} for q, gains in QRELS.items()},
    ),
    "paths": files,
    "texts of paths": lambda folder: tuple(map(str, files(folder))),
    "pandas": lambda _: (
        frame("pandas", ROWS, "query_id", "doc_id", "score"),
        frame("pandas", GRADES, "query_id", "doc_id", "relevance"),
    ),
    "polars": lambda _: (
        frame("polars", ROWS, "query_id", "chunk_id", "score"),
        frame("polars", GRADES, "query_id", "chunk_id", "gain"),
    ),
    "ir_measures": lambda _: (
        (ir_measures.ScoredDoc(*row) for row in ROWS),
        [ir_measures.Qrel(*row) for row in GRADES],
    ),
    "files of ir_measures": lambda folder: (
        ir_measures.read_trec_run(str(files(folder)[0])),
        ir_measures.read_trec_qrels(str(files(folder)[1])),
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_natural_shape_gives_the_same_scores(shape, tmp_path):
    run, qrels = SHAPES[shape](tmp_path)
    scores = score_run(run, qrels, ["mrr", "ndcg@10"])
    assert scores.mean() == EXPECTED
    assert scores.query_ids == ("q1", "q2")


def test_a_grade_below_0_of_a_frame_or_a_record_is_not_relevant():
    """Collections of TREC have such grades; in a mapping they are refused as a mistake."""
    rows = [("q", "a", -2), ("q", "b", 1)]
    for qrels in (frame("pandas", rows, "query_id", "doc_id", "relevance"), [ir_measures.Qrel(*row) for row in rows]):
        assert score_run({"q": {"a": 2.0, "b": 1.0}}, qrels, "mrr").mean() == {"mrr": 0.5}


@pytest.mark.parametrize("measures", ["mrr", ir_measures.RR, [ir_measures.RR], ("mrr", ir_measures.RR)])
def test_measures_may_be_one_text_or_objects_of_ir_measures(measures):
    assert score_run(RUN, QRELS, measures).mean() == {"mrr": 0.75}


Q = {"q": {"a": 1}}
REFUSED = {
    "a list of ids": ({"q": ["a", "b"]}, Q, "query 'q': a ranking is pairs (chunk_id, score)"),
    "ids of two letters": ({"q": ["ab", "cd"]}, Q, "got a list with 'ab' (str)"),
    "a tuple of three": ({"q": [("a", 1.0, 2)]}, Q, "query 'q': a ranking is pairs"),
    "a set of pairs": ({"q": {("a", 1.0)}}, Q, "got a set"),
    "one score": ({"q": 1.0}, Q, "got a float"),
    "no ranking": ({"q": None}, Q, "query 'q': a ranking is pairs (chunk_id, score)"),
    "text": ({"q": "abc"}, Q, "got a str"),
    "text scores": ({"q": {"a": "10.0", "b": "9.0"}}, Q, "query 'q': the score of 'a' is '10.0' (str)"),
    "text scores of pairs": ({"q": [("a", "10.0")]}, Q, "query 'q': the score of 'a' is '10.0' (str)"),
    "no score": ({"q": {"a": None}}, Q, "the score of 'a' is None"),
    "a list of scores": ({"q": {"a": [1.0]}}, Q, "the score of 'a' is a list"),
    "a huge score": ({"q": {"a": 10**400}}, Q, "the score of 'a' is beyond 1e308"),
    "ids that are numbers": ({"q": {10: 2.0}}, {"q": {"10": 1}}, "query 'q': ids are text; got 10 (int)"),
    "ids of both kinds": ({"q": {2: 1.0, "2": 1.0}}, {"q": {"2": 1}}, "query 'q': ids are text; got 2 (int)"),
    "judged ids that are numbers": (Q, {"q": {10: 1}}, "query 'q': ids are text; got 10 (int)"),
    "a query id that is a number": ({1: {"a": 1.0}}, {"1": {"a": 1}}, "query ids are text; the run has 1 (int)"),
    "a judged query id": ({"1": {"a": 1.0}}, {1: {"a": 1}}, "query ids are text; the qrels has 1 (int)"),
    "a text gain": ({"q": {"a": 1.0}}, {"q": {"a": "1"}}, "query 'q': the gain of 'a' is '1' (str)"),
    "a set of relevant ids": ({"q": {"a": 1.0}}, {"q": {"a"}}, "query 'q': its judgements are a set"),
    "a list of relevant ids": ({"q": {"a": 1.0}}, {"q": ["a"]}, "query 'q': its judgements are a list"),
    "a huge gain": ({"q": {"a": 1.0}}, {"q": {"a": 10**400}}, "the gain of 'a' is beyond 1e308"),
    "a number": (5, Q, "the run is an int; give query_id -> ranking"),
    "nothing": (None, Q, "the run is a NoneType; give query_id -> ranking"),
    "no judgements": (Q, None, "the qrels is a NoneType; give query_id -> chunk_id -> gain"),
    "rows without names": ([("q", "a", 1.0)], Q, "the run is a list with a tuple; give query_id -> ranking"),
    "no row": ([], Q, "the run has no row"),
    "rows twice": ([Scored("q", "a", 1.0)] * 2, Q, "query 'q': the run has 'a' twice"),
    "rows of numbers": ([Scored("q", 7, 1.0)], Q, "ids are text; the run has 7 (int)"),
    "a missing file": ("absent.run", Q, "absent.run cannot be read"),
    "a path with a null": ("a\0b", Q, "is not a path"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_any_other_shape_is_refused_in_one_sentence(case):
    """It names the query, what was given, and what can be read."""
    run, qrels, part = REFUSED[case]
    with pytest.raises(MetricError) as caught:
        score_run(run, qrels, ["mrr"])
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_frame_without_the_columns_is_refused():
    with pytest.raises(MetricError, match="the run has the columns q; give query_id -> ranking"):
        score_run(frame("pandas", [("q",)], "q"), Q)
    with pytest.raises(MetricError, match="the qrels has the columns query_id, doc_id, score"):
        score_run(Q, frame("polars", ROWS, "query_id", "doc_id", "score"))
    with pytest.raises(MetricError, match=r"ids are text; the run has 1 \(int\)"):
        score_run(frame("pandas", [(1, "a", 1.0)], "query_id", "doc_id", "score"), Q)


@pytest.mark.parametrize("measures", [5, None, [3], [None], [[]], {"mrr": 1}.items()])
def test_what_is_no_measure_is_a_usage_error(measures):
    with pytest.raises(UsageError, match="write one as ndcg@10"):
        score_run(RUN, QRELS, measures)


def test_a_context_is_a_context():
    with pytest.raises(MetricError, match="the context is of type dict; give a Context"):
        score_run(RUN, QRELS, ["mrr"], {"places": {}})
    assert score_run(RUN, QRELS, "mrr", Context()).mean() == {"mrr": 0.75}


def test_files_may_be_named_by_texts(tmp_path):
    run, qrels = files(tmp_path)
    assert read_run(str(run)) == read_run(run)
    assert read_qrels(str(qrels)) == read_qrels(qrels)
    with pytest.raises(MetricError, match=r"x\.run cannot be read"):
        read_run("x.run")


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=2),
    st.sampled_from(
        [Decimal(1), Fraction(1, 3), 1j, np.float32(1), np.array([1.0]), np.array([[1, 2]]), object(), int]
    ),
    st.sampled_from([Path("absent"), ir_measures.nDCG @ 10, ir_measures.ScoredDoc("q", "a", 1.0), range(2)]),
)
HASHABLE = st.one_of(st.none(), st.integers(), st.text(max_size=2), st.sampled_from(["q", "a", ("a", 1.0)]))
NESTED = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=2).map(tuple),
        st.lists(inner, max_size=2).map(iter),
        st.dictionaries(HASHABLE, inner, max_size=3),
        st.sets(HASHABLE, max_size=2),
        st.builds(ir_measures.ScoredDoc, inner, inner, inner),
        st.dictionaries(st.just("q"), inner, min_size=1),
    ),
    max_leaves=12,
)
NEARLY = st.dictionaries(st.sampled_from(["q", "r"]), st.dictionaries(st.sampled_from("ab"), LEAVES), min_size=1)
PAIRED = st.dictionaries(st.just("q"), st.lists(st.tuples(HASHABLE, LEAVES), max_size=3), min_size=1)
SHAPE = st.one_of(NESTED, NEARLY, PAIRED, st.just(RUN), st.just(QRELS))


@settings(deadline=None, max_examples=300)
@given(SHAPE, SHAPE, st.one_of(st.just(["mrr"]), NESTED))
def test_no_shape_ends_in_an_error_of_the_interpreter(run, qrels, measures):
    """Scores that are numbers, or a BenchError of one sentence; `numbered` and `score_query` too."""
    calls = (
        lambda: score_run(run, qrels, measures),
        lambda: score_run(run, QRELS, "mrr"),
        lambda: score_run(RUN, qrels, "mrr"),
        lambda: score_query(run, qrels, "mrr"),
        lambda: numbered(run, 2),
        lambda: score_items(run, qrels),
        lambda: score_items([Item("q", metadata={"relevantIds": run})], {"q": []}),
    )
    for call in calls:
        try:
            result = call()
        except BenchError:
            continue
        values = getattr(result, "values", None)
        assert callable(values) or all(np.isfinite(column).all() for column in values.values())
