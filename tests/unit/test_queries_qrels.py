"""Queries by policy, judgements by shared lines."""

import pytest

from repoeval_bench.config import PROTOCOLS, Protocol
from repoeval_bench.errors import UsageError
from repoeval_bench.qrels import build_qrels, relevance_rule
from repoeval_bench.queries import make_queries
from repoeval_bench.types import Chunk, LineSpan, SourceFile, Task

FILE = SourceFile("r", "p.py", "".join(f"line{i} = {i}\n" for i in range(20)))
TASK = Task("r/0", "r", "p.py", "a\nb\nc", "x\ny\n", LineSpan(10, 12), 4, "function")


def chunks(*bounds):
    return {"r": tuple(Chunk.cut(FILE, FILE.chars_of(LineSpan(*pair))) for pair in bounds)}


def relevant(gold, rule, *bounds):
    qrels = build_qrels([TASK], chunks(*bounds), gold, rule)
    by_id = {chunk.chunk_id: chunk.lines for chunk in chunks(*bounds)["r"]}
    return {(by_id[i].start, by_id[i].end): gain for i, gain in qrels["r/0"].items()}


@pytest.mark.parametrize(("gold", "expected"), [
    ("prompt", {(0, 5): 1.0, (5, 11): 1.0}),
    ("context", {(0, 5): 1.0, (5, 11): 1.0, (11, 12): 1.0}),
    ("body", {(5, 11): 1.0, (11, 12): 1.0}),
])  # fmt: skip
def test_one_shared_line_makes_a_chunk_relevant(gold, expected):
    """overlap: gold prompt ends with the body's first line, context with its last, and the end is exact."""
    assert relevant(gold, "overlap", (0, 5), (5, 11), (11, 12), (12, 20)) == expected


def test_lines_rule_wants_that_many():
    """lines:N needs N shared lines."""
    assert relevant("context", "lines:2", (0, 5), (5, 11), (11, 20)) == {(5, 11): 1.0}


def test_iou_rule_and_graded_iou():
    """iou:T is a threshold on shared/union lines; graded:iou gives it as the gain."""
    assert relevant("body", "iou:0.5", (10, 14), (9, 20)) == {(10, 14): 1.0}
    assert relevant("body", "graded:iou", (10, 14), (8, 11)) == {(8, 11): 0.25, (10, 14): 0.5}


def test_a_task_without_a_relevant_chunk_keeps_its_entry():
    """A query that nothing answers stays in the qrels, empty, so that it counts as 0."""
    assert build_qrels([TASK], chunks((0, 2)), "body", "overlap") == {"r/0": {}}


def test_same_lines_of_another_file_are_not_relevant():
    """Only chunks of the task's own file can hold its lines."""
    other = SourceFile("r", "q.py", FILE.text)
    corpus = {"r": (Chunk.cut(other, other.chars_of(LineSpan(0, 20))),)}
    assert build_qrels([TASK], corpus, "body", "overlap") == {"r/0": {}}


@pytest.mark.parametrize("rule", ["", "overlaps", "lines:0", "lines:x", "iou:0", "iou:1.1", "iou:nan", "graded:x"])
def test_unknown_relevance_is_refused(rule):
    """A rule that does not exist, or an impossible threshold, lists those that do."""
    with pytest.raises(UsageError, match="choose from overlap"):
        relevance_rule(rule)


def test_query_policies():
    """full asks with the whole prompt, tail:N with its last N lines; the id is the task's."""
    assert make_queries([TASK], "full")[0].text == "a\nb\nc"
    assert make_queries([TASK], "tail:2")[0].text == "b\nc"
    assert make_queries([TASK], "tail:20")[0].text == "a\nb\nc"
    assert make_queries([TASK], "full")[0].query_id == "r/0"
    for policy in ("tail:0", "tail:-1", "tail", "head"):
        with pytest.raises(UsageError, match="query policy"):
            make_queries([TASK], policy)


def test_overriding_a_choice_renames_the_protocol():
    """A protocol with another choice has another name, which parses back to the same."""
    changed = PROTOCOLS["context"].override(query="tail:20", relevance="iou:0.3")
    assert changed.name == "context+query=tail:20+relevance=iou:0.3"
    assert Protocol.parse(changed.name) == changed
    assert PROTOCOLS["context"].override(query="full") is PROTOCOLS["context"]


@pytest.mark.parametrize("name", ["contex", "context+qeury=full", "context+gold=boddy"])
def test_unknown_protocols_are_refused(name):
    """An unknown protocol, choice or value is told with what exists."""
    with pytest.raises(UsageError):
        Protocol.parse(name)
