"""Each section of a retrieval team's page: numbers by hand, and one line where the log lacks its fields."""

import numpy as np
import pytest

from plugins.logs.made_logs import by_name, chunks, judged, row
from repoeval_bench.core.errors import ResultError
from repoeval_bench.plugins.logs.judgements import agreement, gold_plus_judge, judged_bounds, pool_rows, read_judgements
from repoeval_bench.plugins.logs.pipeline import (
    auroc,
    false_evidence,
    freshness,
    latency,
    negatives_section,
    reranker,
    router,
)
from repoeval_bench.runs.log import moment
from support.cases import cases

CASES = cases(__file__)

GOLD = {"a": "x", "b": "x"}
PLAIN = judged([row("a", "xy"), row("b", "yx")], GOLD)


@pytest.mark.parametrize(
    ("section", "word"),
    [
        (reranker(PLAIN, 3), "raw_topk"),
        (router(PLAIN, 3), "source"),
        (freshness(PLAIN, 3), "as_of"),
        (false_evidence(PLAIN), "no_answer"),
        (latency({}), "latency_ms"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_section_without_its_fields_names_them(section, word):
    assert word in section.missing
    assert section.figures == ()


def test_the_reranker_is_measured_on_the_queries_that_log_both():
    """Query a: x from rank 3 to 1; b: stays at 2. c has no raw ranking and is counted."""
    rows = [row("a", "xyz", raw_topk=chunks("yzx")), row("b", "yx", raw_topk=chunks("yx")), row("c", "x")]
    result = reranker(judged(rows, {**GOLD, "c": "x"}), 2)
    figures = by_name(result)
    assert figures["recall@50 raw"].value == 1.0
    change = figures["precision@2"]
    assert (change.before, change.after, change.value, change.n) == (0.25, 0.5, 0.25, 2)
    assert result.notes == (
        "queries without raw_topk, left out: 1 of 3",
        "the raw rankings hold at most 3 chunks: recall@50 is recall@3",
    )


def test_routes_are_judged_where_the_right_source_is_known():
    """Four queries: one not routed, one misrouted, one route that is not judged."""
    rows = [
        row("a", "x", source="wiki", expected_source="wiki"),
        row("b", "y", source="code", expected_source="wiki"),
        row("c", "x", source="code"),
        row("d", [], expected_source="code"),
    ]
    result = router(judged(rows, dict.fromkeys("abcd", "x")), 2)
    values = {name: (figure.value, figure.n) for name, figure in by_name(result).items()}
    assert values == {
        "coverage: queries routed to a source": (0.75, 4),
        "misroutes: routed to another source": (0.5, 2),
        "recall@2 of queries with their answer in code": (0.0, 1),
        "recall@2 of queries with their answer in wiki": (0.5, 2),
    }
    assert result.notes == ("routed queries without expected_source, whose route is not judged: 1",)


def test_without_expected_sources_recall_is_given_by_route():
    """And misroutes are said to be unknown."""
    result = router(judged([row("a", "x", source="wiki"), row("b", "y")], GOLD), 2)
    assert "recall@2 of queries routed to wiki" in by_name(result)
    assert result.notes == ("no row has both source and expected_source: misroutes are not known",)


@pytest.mark.parametrize(("written", "as_of", "newer"), CASES["newer"])
def test_newer_is_later_in_utc_and_by_day_where_no_time_is_known(written, as_of, newer):
    """The same moment, and the same day where that is all that is known, is not newer."""
    assert moment(written).is_after(moment(as_of)) is newer


@pytest.mark.parametrize("text", ["v1.2", "20240501", "2024", "2024-5-1", "2024-02-30", "2024-05-011", ""])
def test_a_version_is_not_a_date(text):
    """What is not a date in ISO 8601's extended form is not taken for one."""
    assert moment(text) is None


def test_freshness_by_hand():
    """a: the newer n hides x at rank 2; b: its gold y is newer itself; v has no date."""
    dates = {"x": "2024-01-01", "n": "2024-09-09", "y": "2024-08-08", "z": "2024-01-01"}
    rows = [
        row("a", chunks("nxv", doc_version={**dates, "v": "v7"}), as_of="2024-06-01"),
        row("b", chunks("yzx", doc_version=dates), as_of="2024-06-01"),
    ]
    log = judged(rows, {"a": "x", "b": "yx"}, measures=("mrr", "recall@2", "judged@5"))
    result = freshness(log, 2)
    figures = by_name(result)
    assert figures["chunks of the first 2 not newer than as_of"].value == 0.5
    assert figures["queries that were given a newer chunk"].value == 1.0
    assert [(figures[name].before, figures[name].after) for name in ("mrr", "recall@2")] == [(0.75, 0.75), (0.75, 1.0)]
    assert "judged@5" not in figures
    assert result.notes == (
        "retrieved chunks without a dated doc_version, taken for not newer in the measures: 1",
        "relevant chunks newer than their query, not counted as relevant: 1",
    )
    undated = judged([row("a", "x", as_of="2024-06-01")], {"a": "x"})
    assert "doc_version" in freshness(undated, 2).missing


def test_false_evidence_counts_what_was_given_for_queries_without_an_answer():
    """Two of three are given something; silence on answerable queries shows, and is the lowest score of all."""
    rows = [row("a", "x"), row("b", []), *(row(f"n{i}", ids, no_answer=True) for i, ids in enumerate(("y", [], "y")))]
    section = false_evidence(judged(rows, GOLD))
    assert [figure.value for figure in section.figures] == pytest.approx([2 / 3, 0.5, 2.5 / 6])
    (note,) = section.notes
    assert "rejects 33% of the no_answer queries and 50% of the others" in note


@pytest.mark.parametrize(
    ("answerable", "others", "value", "ends"),
    [
        ((3, 2), (1, 0), 1.0, (0.3856, 1)),
        ((1, 1), (1, 1), 0.5, (0.1122, 0.8878)),
        ((3, 1), (2, 0), 0.75, (0.0570, 1)),  # DeLong's components are 1, 0.5 and 0.5, 1
        ((9, 0) * 30, (5,) * 40, 0.5, (0.3724, 0.6276)),  # DeLong's error is sqrt(0.25 / 59)
        ((3, 2), (1,), 1.0, None),
    ],
)
def test_the_auroc_is_the_share_of_pairs_in_order(answerable, others, value, ends):
    figure = auroc(np.array(answerable), np.array(others))
    assert (figure.value, figure.n) == (value, len(answerable) * len(others))
    assert figure.ci == (None if ends is None else pytest.approx(ends, abs=0.0001))


@pytest.mark.parametrize(("sizes", "shift"), [((3, 2), 2.3), ((5, 5), 3.3), ((20, 5), 0.0), ((20, 20), 2.3)])
def test_the_interval_of_the_auroc_holds_the_true_one(sizes, shift):
    """Normal scores, of few queries or nearly apart, where DeLong's interval holds it in 15 to 90 %."""
    from scipy.special import ndtr

    rng, truth = np.random.default_rng(5), ndtr(shift / 2**0.5)
    ends = [auroc(rng.normal(shift, 1, sizes[0]), rng.normal(0, 1, sizes[1])).ci for _ in range(400)]
    assert np.mean([low <= truth <= high for low, high in ends]) >= 0.92


def test_latency_per_step_and_together():
    """A query that lacks a step takes no part in the sum."""
    times = {f"q{i}": {"retrieve": float(i), "rerank": 10.0 * i} for i in range(1, 51)}
    times["odd"] = {"retrieve": 25.5}
    figures = by_name(latency(times))
    assert (figures["retrieve, median"].value, figures["retrieve, median"].n) == (25.5, 51)
    assert figures["together, median"].value == pytest.approx(11 * 25.5)
    assert figures["together, p90"].n == 50
    assert latency(times).notes == ()
    assert latency(times, search_only=True).notes == ("retrieve is the search alone, without embedding the query",)


def test_the_loss_to_negatives_by_hand():
    """x at 1 and 2 moves to 2 and 3."""
    figures = by_name(negatives_section(PLAIN, 1))
    assert (figures["mrr"].before, figures["mrr"].after) == (0.75, pytest.approx((1 / 2 + 1 / 3) / 2))


def test_a_pool_holds_each_chunk_once_and_tells_the_judge_nothing():
    """The first two of both logs, by id; neither rank, system, score nor gold."""
    one = {"a": row("a", "xyz", query="why"), "b": row("b", "x")}
    other = {"a": row("a", "wxy")}
    rows = [*pool_rows([one, other], 2, ["a", "b"], texts={"w": "text of w"})]
    assert [(r["query_id"], r["chunk_id"]) for r in rows] == [("a", "w"), ("a", "x"), ("a", "y"), ("b", "x")]
    assert rows[0] == {"query_id": "a", "chunk_id": "w", "grade": None, "query": "why", "text": "text of w"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('\n{"query_id": "a", "grade": 1}\n', "a.jsonl:2: chunk_id: it is missing"),
        ('{"query_id": "a", "chunk_id": "x", "grade": 3}\n', "a.jsonl:1: grade"),
        ('{"query_id": "a", "chunk_id": "x", "grade": 1}\n' * 2, "a.jsonl:2: 'x' is judged twice"),
        ('{"query_id": "a", "chunk_id": "x", "grade": null}\n', "has no grade; write 2, 1 or 0"),
    ],
)
def test_broken_judgements_name_file_and_line(tmp_path, content, message):
    (tmp_path / "a.jsonl").write_text(content)
    with pytest.raises(ResultError) as error:
        read_judgements(tmp_path / "a.jsonl")
    assert message in str(error.value)


def test_bounds_by_hand():
    """Gold x at rank 2; the judge adds y (retrieved first) and w (not retrieved)."""
    log = judged([row("a", "yxz")], {"a": "x"}, measures=("precision@2", "recall@2", "mrr"))
    grades = {"a": {"y": 2, "w": 1, "z": 0, "x": 0}}
    results = {bound.measure: bound for bound in judged_bounds(log, grades, log.measures)}
    ends = {name: (b.gold.value, b.lower.value, b.upper.value, b.both.value) for name, b in results.items()}
    half = (0.5, 0.5, 1.0, 1.0)
    assert ends == {"precision@2": half, "mrr": half, "recall@2": (1.0, 0.5, 1.0, pytest.approx(2 / 3))}
    covered = agreement(log, grades, 3)
    assert (covered.judged, covered.gold_judged, covered.gold_refused, covered.added) == (4, 1, 1, 2)
    assert (covered.unjudged_top, covered.top) == (0, 3)
    assert gold_plus_judge(log, grades) == {"a": {"y": 1.0, "w": 1.0, "z": 0.0, "x": 1.0}}
