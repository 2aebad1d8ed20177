"""Runs and judgements in the shapes that people have are read."""

import math

import numpy as np
import pytest

from repoeval_bench.core.errors import MetricError
from repoeval_bench.metrics import Measure, score_run
from support.cases import cases

RUN = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"b": 3.0}}
QRELS = {"q1": {"b": 1, "c": 0}, "q2": {"b": 2}}
ROWS = [(q, d, s) for q, scores in RUN.items() for d, s in scores.items()]
GRADES = [(q, d, g) for q, gains in QRELS.items() for d, g in gains.items()]
EXPECTED = {"mrr": 0.75, "ndcg@10": pytest.approx((1 / math.log2(3) + 1) / 2)}


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
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_natural_shape_gives_the_same_scores(shape, tmp_path):
    run, qrels = SHAPES[shape](tmp_path)
    scores = score_run(run, qrels, ["mrr", "ndcg@10"])
    assert scores.mean() == EXPECTED
    assert scores.query_ids == ("q1", "q2")


def test_a_grade_below_0_of_a_frame_is_not_relevant():
    """Collections of TREC have such grades; in a mapping they are refused as a mistake."""
    rows = [("q", "a", -2), ("q", "b", 1)]
    qrels = frame("pandas", rows, "query_id", "doc_id", "relevance")
    assert score_run({"q": {"a": 2.0, "b": 1.0}}, qrels, "mrr").mean() == {"mrr": 0.5}


@pytest.mark.parametrize("measures", ["mrr", Measure.parse("mrr"), ["mrr", "rr"]])
def test_measures_may_be_one_text(measures):
    assert score_run(RUN, QRELS, measures).mean() == {"mrr": 0.75}


Q = {"q": {"a": 1}}
REFUSED = cases(__file__)


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_scored_is_refused_in_one_sentence(case):
    """It names the query, and what was given."""
    run, qrels, part = REFUSED[case]
    with pytest.raises(MetricError) as caught:
        score_run(run, qrels, ["mrr"])
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("error")
def test_a_frame_without_the_columns_is_refused():
    with pytest.raises(MetricError, match="the run has the columns q; give query_id -> ranking"):
        score_run(frame("pandas", [("q",)], "q"), Q)
    with pytest.raises(MetricError, match="the qrels has the columns query_id, doc_id, score"):
        score_run(Q, frame("polars", ROWS, "query_id", "doc_id", "score"))
    with pytest.raises(MetricError, match="the run is a LazyFrame; collect it, or give query_id -> ranking"):
        score_run(frame("polars", ROWS, "query_id", "doc_id", "score").lazy(), Q)
    with pytest.raises(MetricError, match="ids are text; the run has 1"):
        score_run(frame("pandas", [(1, "a", 1.0)], "query_id", "doc_id", "score"), Q)
