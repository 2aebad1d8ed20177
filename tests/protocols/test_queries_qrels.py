"""Queries by policy, judgements by shared lines."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.protocols.protocol import PROTOCOLS, Protocol
from repoeval_bench.protocols.qrels import RULES, Shared, build_qrels, credit_copies, hide, merge_copies, relevance_rule
from repoeval_bench.protocols.queries import make_queries

FILE = SourceFile("r", "p.py", "".join(f"line{i} = {i}\n" for i in range(20)))
TASK = Task("r/0", "r", "p.py", "a\nb\nc", "x\ny\n", LineSpan(10, 12), 4, "function")


def chunks(*bounds):
    return {"r": tuple(Chunk.cut(FILE, FILE.chars_of(LineSpan(*pair))) for pair in bounds)}


def protocol(gold, rule="overlap"):
    return replace(PROTOCOLS["context"], gold=gold, relevance=rule)


def relevant(gold, rule, *bounds, file=FILE):
    qrels = build_qrels([TASK], chunks(*bounds), protocol(gold, rule), {"r/p.py": file.line_nws()})
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


def test_shares_are_of_non_blank_lines():
    """chunk-share and gold-share count non-blank lines: of the chunk's two, one is gold; of the gold's one, all."""
    # Lines 11 and 13 are blank: the gold [10, 12) has one line of text, the chunk [10, 14) two of them.
    text = "".join("\n" if i in (11, 13) else f"line{i} = {i}\n" for i in range(20))
    file = SourceFile("r", "p.py", text)
    for rule, expected in {
        "chunk-share:0.5": {(10, 14): 1.0}, "chunk-share:0.51": {}, "gold-share:1": {(10, 14): 1.0},
    }.items():  # fmt: skip
        nws = {"r/p.py": file.line_nws()}
        cut = {"r": (Chunk.cut(file, file.chars_of(LineSpan(10, 14))),)}
        gains = build_qrels([TASK], cut, protocol("body", rule), nws)["r/0"]
        assert gains == ({cut["r"][0].chunk_id: 1.0} if expected else {}), rule


def test_graded_levels():
    """2 where half of the chunk or of the gold is shared, 1 where a line is, 0 without."""
    # The gold is [4, 12): [0, 5) shares 1 of 5 and 1 of 8; [0, 8) 4 of 8; [3, 12) all of the gold; [11, 13) 1 of 2.
    assert relevant("context", "graded:levels", (0, 5), (0, 8), (3, 12), (11, 13), (12, 20)) == {
        (0, 5): 1.0, (0, 8): 2.0, (3, 12): 2.0, (11, 13): 2.0,
    }  # fmt: skip


@given(
    spans=st.lists(st.tuples(st.integers(0, 19), st.integers(1, 8)), min_size=1, max_size=12, unique=True),
    blank=st.sets(st.integers(0, 19)),
    gold=st.sampled_from(["prompt", "context", "body"]),
    rule=st.sampled_from(
        ["overlap", "lines:2", "iou:0.3", "chunk-share:0.4", "gold-share:0.4", "graded:iou", "graded:levels"]
    ),
)
def test_sorted_intervals_judge_as_every_chunk_by_every_line(spans, blank, gold, rule):
    """The interval search finds what sets of lines find, for chunks that overlap and lines that are blank."""
    file = SourceFile("r", "p.py", "".join("\n" if i in blank else f"x{i}\n" for i in range(20)))
    bounds = sorted({(start, min(20, start + length)) for start, length in spans})
    cut = [Chunk.cut(file, file.chars_of(LineSpan(*pair))) for pair in bounds]
    wanted = set({"prompt": range(4, 11), "context": range(4, 12), "body": range(10, 12)}[gold])
    expected = {}
    for chunk in cut:
        lines = set(chunk.lines)
        shared, text = lines & wanted, {i for i in range(20) if i not in blank}
        of_chunk = len(shared & text) / len(lines & text) if lines & text else 0
        of_gold = len(shared & text) / len(wanted & text) if wanted & text else 0
        iou = len(shared) / len(lines | wanted)
        gain = {
            "overlap": len(shared) > 0, "lines:2": len(shared) >= 2, "iou:0.3": iou >= 0.3,
            "chunk-share:0.4": of_chunk >= 0.4, "gold-share:0.4": of_gold >= 0.4, "graded:iou": iou,
            "graded:levels": 0 if not shared else 2 if of_chunk >= 0.5 or of_gold >= 0.5 else 1,
        }[rule]  # fmt: skip
        if gain:
            expected[chunk.chunk_id] = float(gain)
    nws = {"r/p.py": file.line_nws()}
    assert build_qrels([TASK], {"r": cut}, protocol(gold, rule), nws)["r/0"] == pytest.approx(expected)


def test_every_rule_that_is_listed_can_be_parsed():
    """RULES names what relevance_rule reads; none gives a gain where no line is shared."""
    nothing = Shared(lines=0, union=9, nonblank=0, chunk_nonblank=4, gold_nonblank=5)
    for name in RULES:
        assert relevance_rule(name.replace(":N", ":3").replace(":T", ":0.5"))(nothing) == 0


def test_copies_are_credited_merged_and_hidden():
    """A copy gets the largest gain of its group; a merged chunk hands its gain on; a hidden one has none."""
    qrels = {"q": {"a": 0.5, "b": 1.0}, "r": {"c": 1.0}}
    assert credit_copies(qrels, [("a", "b", "d")]) == {"q": {"a": 1.0, "b": 1.0, "d": 1.0}, "r": {"c": 1.0}}
    assert merge_copies(qrels, {"b": "a", "c": "z"}) == {"q": {"a": 1.0}, "r": {"z": 1.0}}
    assert hide(qrels, {"q": frozenset({"a"})}) == {"q": {"b": 1.0}, "r": {"c": 1.0}}


def test_a_task_without_a_relevant_chunk_keeps_its_entry():
    """A query that nothing answers stays in the qrels, empty, so that it counts as 0."""
    nws = {"r/p.py": FILE.line_nws()}
    assert build_qrels([TASK], chunks((0, 2)), protocol("body"), nws) == {"r/0": {}}


def test_same_lines_of_another_file_are_not_relevant():
    """Only chunks of the task's own file can hold its lines."""
    other = SourceFile("r", "q.py", FILE.text)
    corpus = {"r": (Chunk.cut(other, other.chars_of(LineSpan(0, 20))),)}
    assert build_qrels([TASK], corpus, protocol("body"), {"r/p.py": FILE.line_nws()}) == {"r/0": {}}


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


def test_a_choice_that_is_replaced_twice_stands_in_the_name_once():
    """The name tells what differs from the protocol it is named after, not what was done to it."""
    once = PROTOCOLS["context"].override(query="tail:5", copies="credited")
    assert once.override(query="tail:20").name == "context+query=tail:20+copies=credited"
    assert once.override(query="full", copies="distinct") == PROTOCOLS["context"]


@pytest.mark.parametrize("name", [
    "context+exclude=prompt+gold=prompt", "body+exclude=repocoder", "body+exclude=body", "coderag+exclude=body",
])  # fmt: skip
def test_combinations_that_leave_no_gold_are_refused(name):
    """What is excluded must not be all that is gold; fixed documents cannot be chunked again."""
    with pytest.raises(UsageError, match="choose"):
        Protocol.parse(name)


@pytest.mark.parametrize("name", ["contex", "context+qeury=full", "context+gold=boddy"])
def test_unknown_protocols_are_refused(name):
    """An unknown protocol, choice or value is told with what exists."""
    with pytest.raises(UsageError):
        Protocol.parse(name)
